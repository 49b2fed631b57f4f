//! Limits of a mount, in one place.

use std::time::Duration;

/// Largest written file that the mount buffers completely until it is closed.
pub const SMALL_BYTES: u64 = 1 << 20;
/// Most bytes of a read or write of the kernel.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Read-ahead of the kernel, where this process may set it.
pub const AHEAD_KIBIBYTES: u32 = 4096;
/// Threads that serve the kernel's requests.
pub const THREADS: usize = 8;
/// Time that the kernel may cache a folder's entry.
pub const FOLDER_TIME: Duration = Duration::from_secs(1);
/// Time that the kernel may cache attributes: about that between two queries in a row.
pub const FACTS_TIME: Duration = Duration::from_millis(10);
/// Time before the client looks again for a store that has ended.
pub const RETRY: Duration = Duration::from_millis(200);
/// Number of times that a removal waits for handles whose release has not arrived yet.
pub const RELEASE_WAITS: usize = 10;
/// Duration of each wait; see [`RELEASE_WAITS`].
pub const RELEASE_WAIT: Duration = Duration::from_millis(2);
/// Interval at which the mount checks whether it is to end.
pub const TICK: Duration = Duration::from_millis(50);
/// Most bytes of a name, as on other file systems.
pub const NAME_BYTES_MAX: usize = 255;
