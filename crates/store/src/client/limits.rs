//! Every bound of a client, in one place.

use std::time::Duration;

/// How long a client waits for a store. All but `fill` together are how late a reader is where the
/// store hangs.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// An answer that takes longer has its reason in the store or in the under level.
    pub answer: Duration,
    /// A store that has not answered a ping by then hangs.
    pub ping: Duration,
    /// An answer that takes longer than this, though the store lives, is given up.
    pub fill: Duration,
    /// A store that was lost is looked for again after so long, when a file is opened.
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

/// How long somebody waits who writes, removes or renames: as long as the store lives, for what was
/// asked may take as long as there are bytes.
pub fn unhurried() -> Patience {
    Patience { fill: Duration::from_secs(1 << 30), ..Patience::default() }
}

/// Connections that are kept for the next question, at most.
pub const IDLE_CONNECTIONS: usize = 8;
/// Connections of a process to a store; files are spread over them by their paths.
pub const CONNECTIONS: usize = 4;
/// Most blocks that a process has leased at once; and never more than half of the memory's.
pub const LEASES_MAX: u64 = 64;
/// Files that stay open for a moment after their last use, at most.
pub const RECENT_FILES: usize = 8;
/// How long they do, about.
pub const RECENT_TIME: Duration = Duration::from_secs(1);
