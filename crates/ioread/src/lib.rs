//! `ioread`: reads files in requests of one size with gaps of one size between them
//! (`spec/workloads/ioread`), to find what a storage gives.
//!
//! Every request is a call of its own for a place in the file, as a program makes them that reads
//! through a buffer; of what comes the CRC-32C is taken, at a rate above that of a copy. Checksums
//! of neighbours are joined (`crc32_combine` of zlib), so the answer does not depend on who reads
//! what. Cost: one pass over what is asked for; bound by the storage.

pub mod files;
pub mod params;
pub mod part;
pub mod rounds;
pub mod run;
pub mod table;
pub mod verify;

pub use run::run;
pub use verify::verify;
