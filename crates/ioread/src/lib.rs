//! `ioread`: reads files in requests of a fixed size with gaps of a fixed size between them
//! (`spec/workloads/ioread`), to measure a storage system.
//!
//! Each request is a separate call at an offset, as in a program that reads through a buffer. The
//! bytes are summarised by their CRC-32C, which is faster than a copy. Checksums of neighbouring
//! requests are combined (`crc32_combine` of zlib), so the answer does not depend on which thread
//! reads which request. Cost: one pass over the requested bytes; bound by the storage.
//!
//! Safe to change: how requests are issued. What breaks: a request that is merged with its
//! neighbour no longer measures the storage.

pub mod files;
pub mod params;
pub mod part;
pub mod rounds;
pub mod run;
pub mod table;
pub mod verify;

pub use run::run;
pub use verify::verify;
