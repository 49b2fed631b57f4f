//! Every bound of the readers, in one place.

/// Scores in one row's list.
pub const SCORES_MAX: usize = 8;
/// Samples of a mask.
pub const SAMPLES_MAX: usize = 1 << 20;
/// Bytes of one line of text.
pub const LINE_BYTES_MAX: usize = 4 << 20;
/// Bytes read from a file at once: small enough to stay in the cache of one core.
pub const READ_BYTES: usize = 256 << 10;
/// Bytes of text one worker takes at a time.
pub const SPLIT_BYTES: u64 = 8 << 20;
/// Bytes of the name of a gene.
pub const NAME_BYTES_MAX: usize = 1 << 10;
/// Bytes of one line of a file that names genes, which may be a line of an expression matrix.
pub const NAMED_LINE_BYTES_MAX: u64 = 256 << 20;
/// Largest gene number: two of them and a cluster make a 64-bit key.
pub const GENES_MAX: u32 = (1 << 24) - 1;
/// Largest cluster number.
pub const CLUSTERS_MAX: u32 = 1 << 16;
