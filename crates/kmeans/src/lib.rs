//! `kmeans`: partition of points into k clusters around their means, by Lloyd's iterations (Lloyd
//! 1982).
//!
//! The answer is defined exactly (`spec/workloads/kmeans`): distances are sums of double-precision
//! squares in the order of the dimensions, and the coordinates of a mean are summed as integers, so
//! no number of threads, chunks or vector width can change it. The kernel is fast because it takes
//! blocked products in the precision of the points with an error bound: only the few points whose
//! two best centres are closer to each other than the bound are decided by the definition. The sums
//! of a cluster are updated by the points that moved, which integers allow.
//!
//! Cost: 2 n k d floating-point operations in each iteration, and one pass over the points.
//!
//! Safe to change: blocking, precision of products, vector width, if the error bound still covers
//! them (`kernel`). What breaks: a sum that is not an integer sum depends on the order of points.

pub mod kernel;
pub mod leader;
pub mod params;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod seeding;
pub mod share;
pub mod verify;

mod amounts;
mod answer;
mod store;

pub use amounts::Pass;
pub use leader::recognised;
pub use run::run;
pub use store::StoreSettings;
pub use verify::verify;
