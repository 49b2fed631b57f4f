//! Every bound of a mount, in one place.

use std::time::Duration;

/// A written file that is not larger is kept whole in the mount until it is closed.
pub const SMALL_BYTES: u64 = 1 << 20;
/// Most bytes of a read or write of the kernel.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// What the kernel reads ahead, where this process may say so.
pub const AHEAD_KIBIBYTES: u32 = 4096;
/// Threads that answer the kernel.
pub const THREADS: usize = 8;
/// How long the kernel may take a folder for what it was.
pub const FOLDER_TIME: Duration = Duration::from_secs(1);
/// How long the kernel may take a size for what it was: as long as it takes to ask twice.
pub const FACTS_TIME: Duration = Duration::from_millis(10);
/// A store that was lost is looked for again after so long.
pub const RETRY: Duration = Duration::from_millis(200);
/// A file that is removed waits so often, so long, for handles of it that are gone.
pub const RELEASE_WAITS: usize = 10;
/// See [`RELEASE_WAITS`].
pub const RELEASE_WAIT: Duration = Duration::from_millis(2);
/// How often the mount looks whether it is to end.
pub const TICK: Duration = Duration::from_millis(50);
/// Bytes of a name, as on other file systems.
pub const NAME_BYTES_MAX: usize = 255;
