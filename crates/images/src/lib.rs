//! `images`: the image dataflow of the papers on Spark and MPI on supercomputers. Each image of a
//! stack is turned into intensities, a threshold takes out what is brighter (or what is not), the
//! objects of that are counted, and the counts are reduced (`spec/workloads/images`).
//!
//! Everything that decides is exact: intensities are the image's own numbers or rounded once, the
//! threshold by Otsu (1979) compares fractions of whole numbers, and objects are connected runs of
//! pixels. So the answer does not depend on threads, engine or the order of the images. Cost:
//! O(pixels), about two passes over an image that is in the cache or in memory; bound by decoding
//! and by reading.

pub mod kernel;
pub mod params;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod table;
pub mod verify;

pub use run::run;
pub use verify::verify;
