//! TeraSort: records of 100 bytes in the order of their 10-byte keys, equal keys in the order of
//! the input (`spec/workloads/sort`).
//!
//! A record is sorted as one 128-bit number, its key above its position: no two are equal, so any
//! sorting algorithm is stable and no input is skewed. Data that fit in memory are divided by
//! sampled splitters into buckets that fit in a cache, which are sorted one by one while they are
//! written (samplesort: W. D. Frazer, A. C. McKellar, J. ACM 17, 1970). Larger data are first
//! sorted in runs; then each range of keys is read from all runs and merged. Cost: O(n log n), two
//! passes over the data in memory, four beyond it; bound by the copies to and from the page cache,
//! or by the disk.
//!
//! Safe to change: sizes of buckets and runs. What breaks: equal keys keep the order of the input,
//! on every engine.

mod advice;
mod disk;
pub mod kernel;
pub mod params;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod verify;

pub use disk::Disk;
pub use run::{run, run_on};
pub use verify::{verify, verify_on};
