//! `images`: the image dataflow of the papers on Spark and MPI on supercomputers. Each image of a
//! stack is converted to intensities, a threshold separates the bright (or the dark) pixels, their
//! connected objects are counted, and the counts are reduced (`spec/workloads/images`).
//!
//! All decisions are exact: intensities are the samples themselves or rounded once, the threshold
//! by Otsu (1979) compares fractions of integers, and objects are connected runs of pixels. So the
//! answer does not depend on threads, engine or the order of the images. Cost: O(pixels), about two
//! passes over an image that is in the cache or in memory; bound by decoding and by reading.
//!
//! Safe to change: decoding and the order of pixels. What breaks: a rounding or a comparison of
//! thresholds that is not exact changes counts between machines.

pub mod kernel;
pub mod params;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod table;
pub mod verify;

pub use run::run;
pub use verify::verify;
