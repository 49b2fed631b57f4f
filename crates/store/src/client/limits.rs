//! Limits of a client, in one place.

use std::time::Duration;

/// Timeouts of a client. All but `fill` add up to the delay of a reader where the store hangs.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Time after which the client checks why an answer is late: the store or the under level.
    pub answer: Duration,
    /// Time for the reply to a ping, after which the store is taken to hang.
    pub ping: Duration,
    /// Longest time for an answer while the store lives.
    pub fill: Duration,
    /// Time before another attempt to connect to a lost store, when a file is opened.
    pub retry: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            answer: Duration::from_millis(600),
            ping: Duration::from_millis(300),
            fill: Duration::from_secs(30),
            retry: Duration::from_secs(5),
        }
    }
}

/// Returns the timeouts for writes, removals and renames: practically unlimited while the store
/// lives, as they may move many bytes.
pub fn unhurried() -> Patience {
    Patience { fill: Duration::from_secs(1 << 30), ..Patience::default() }
}

/// Most idle connections.
pub const IDLE_CONNECTIONS: usize = 8;
/// Connections of a process to a store; files are distributed over them by their paths.
pub const CONNECTIONS: usize = 4;
/// Most blocks that a process leases at once; also at most half of the blocks that fit in memory.
pub const LEASES_MAX: u64 = 64;
/// Most files that remain open for a moment after their last use.
pub const RECENT_FILES: usize = 8;
/// Approximate time that they remain open.
pub const RECENT_TIME: Duration = Duration::from_secs(1);
