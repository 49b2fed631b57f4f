//! `kmeans`: points into k groups around their means, by Lloyd's iterations (Lloyd 1982).
//!
//! The answer is defined exactly (`spec/workloads/kmeans`): distances are sums of double-precision
//! squares in the order of the dimensions, and the coordinates of a mean are summed as whole
//! numbers, so no number of threads, chunks or vector width can change it. The kernel gets there
//! fast by blocked products in the precision of the points with a bound of their error: only the
//! few points whose two best centres are nearer to each other than the bound are decided by the
//! definition. A cluster's sums are changed by the points that moved, which whole numbers allow.
//!
//! Cost: 2 n k d floating-point operations an iteration, and one pass over the points.

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
