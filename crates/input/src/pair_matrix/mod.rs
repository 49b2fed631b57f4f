//! The pair matrix: the rows of gene-pair text as a Zarr v3 group, format `cuesta.pairs/1`
//! (`spec/formats/pair-matrix.md`).
//!
//! Coordinates are implicit: a score stands at the triangular rank of its pair. The first row of
//! each pair is slot 0, the second is slot 1, and so on; every slot has the same arrays. Scores
//! come in chunks with their smallest and largest value at the side, so that a scan skips chunks;
//! counts and masks are only read for rows that pass. Readable with zarr-python and xarray.
//!
//! The library `zarrs` writes and reads the metadata and the side arrays, and reads all arrays in
//! the tests. The shards themselves are written and read here: chunk by chunk, which respects the
//! memory limit, and with reused buffers, which is several times faster.

mod assemble;
mod audit;
mod codec;
mod header;
mod intake;
mod limits;
mod mask;
mod matches;
mod pieces;
mod planes;
mod pool;
mod publish;
mod rank;
mod reader;
mod record;
mod runs;
mod schema;
mod select;
mod shard;
mod texts;
mod visit;
mod window;
mod writer;
mod zone;

#[cfg(test)]
mod tests;

use std::path::Path;

use cuesta_core::Error;
use cuesta_core::fixed::Micro;

pub use audit::AuditResources;
pub use header::{FORMAT, MaskKind, MatrixHeader};
pub use limits::CHUNK_PAIRS;
pub use mask::pack_flags;
pub use pieces::{MatrixPiece, PieceMaker, PieceOfBands, PiecedMatrix, ShardNumber};
pub use rank::{Walker, pairs_of, rank_of};
pub use reader::{Chunk, PairMatrix};
pub use record::{BatchSummary, RowBatch};
pub use visit::{Need, Query, Scratch};
pub use writer::{Masks, WriteSummary, Writer, WriterOptions};
pub use zone::Range;

/// Marker of a pair without a row; not a score, and passes no filter.
pub const ABSENT: Micro = Micro::MIN + 1;

/// The error of a damaged pair matrix.
fn damaged(path: &Path, what: &str) -> Error {
    let text = format!("{} is damaged: {what}; load the text again", path.display());
    Error::input("input.pairs", text)
}
