//! Every bound and fixed size of the pair matrix, in one place. Those of the file are part of the
//! format `cuesta.pairs/1`; see `spec/formats/pair-matrix.md`.

/// Pairs of one chunk: a zstd block (128 KiB) holds exactly one byte plane of the scores.
pub const CHUNK_PAIRS: usize = 1 << 17;
/// Chunks of one shard, i.e. of one file: so many that 50,000 genes need a few hundred files.
pub const SHARD_CHUNKS: u64 = 128;
/// Rows of one pair.
pub const SLOTS_MAX: usize = 64;
/// Bytes of masks read together, at most, unless one row is larger: a few rows, because the rows
/// that a scan keeps are far apart.
pub const MASK_CHUNK_BYTES: u64 = 1 << 10;
/// Bytes of masks in one shard before compression, at most, unless one row is larger.
pub const MASK_SHARD_BYTES: u64 = 32 << 20;
/// Rows of masks in one chunk and in one shard, at most.
pub const MASK_CHUNK_ROWS_MAX: u64 = 256;
/// See [`MASK_CHUNK_ROWS_MAX`].
pub const MASK_SHARD_ROWS_MAX: u64 = 1 << 17;
/// Level of compression.
pub const ZSTD_LEVEL: i32 = 1;
/// The level at which zstd only frames what it is given.
pub const ZSTD_LEVEL_NONE: i32 = -131_072;

/// Bytes of mask rows that a thread takes at a time.
pub const MASK_JOB_BYTES: u64 = 256 << 10;
/// Rows that a thread holds, in bytes, before it hands them over: about what a split of text makes,
/// so that a thread need not wait for the turn of its split; less when memory is short.
pub const BATCH_BYTES_MAX: u64 = 4 << 20;
/// See [`BATCH_BYTES_MAX`].
pub const BATCH_BYTES_MIN: u64 = 64 << 10;
/// Rows in memory, in bytes, before the writer starts to encode the lower half of them.
pub const STREAM_BYTES: u64 = 64 << 20;
/// Buffer of one sorted run while runs are merged.
pub const RUN_BUFFER_BYTES: u64 = 256 << 10;
/// Runs merged at once.
pub const MERGE_RUNS_MAX: u64 = 256;
/// Rows between two looks at the user's wish to stop.
pub const CANCEL_ROWS: u64 = 1 << 14;
/// Slots whose files a reading thread keeps open.
pub const SLOTS_OPEN_MAX: usize = 4;
