//! Readers of Cuesta's inputs and their seeded generators: KINC gene-pair text, the pair matrix,
//! expression matrices, names of genes, 100-byte records, points, images, reads of DNA. Reads
//! through sources, never computes. Whatever text is read, [`unpack`] is its front.
//!
//! A new reader goes next to its kind (`table`, `reads`, `images`, `edges`), opens files by
//! `storage::Input` so that their fingerprints cover all bytes, and gets a fuzz target. What
//! breaks: a reader that accepts two readings of a file gives a verified wrong answer; refuse with
//! both readings.

pub mod block_buffer;
pub mod distinct;
pub mod edges;
pub mod files;
pub mod filter;
pub mod generate;
pub mod images;
pub mod kinc;
pub mod limits;
pub mod matrix;
pub mod names;
pub mod npy;
pub mod pair_matrix;
pub mod points;
pub mod reader;
pub mod reads;
pub mod records;
pub mod row;
pub mod source;
pub mod storage;
pub mod table;
pub mod unpack;
pub mod watch;

pub use filter::{Filter, FilterParams};
pub use names::GeneNames;
