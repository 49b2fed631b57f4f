//! Rules of a profile for errors, written down independently for the verification.

use crate::params::Profile;

/// Bounds below which paths may be errors: lengths in bases, 0 for none.
#[derive(Clone, Copy, Debug)]
pub struct ErrorLengths {
    /// Length of dead ends with a stronger rival.
    pub(super) tip: u64,
    /// Length of dead ends with a rival of more than twice the coverage.
    pub(super) weak_tip: u64,
    /// Length of paths without links.
    pub(super) island: u64,
    /// Length of both sides of a bubble.
    pub(super) bubble: u64,
    /// Length of connections.
    pub(super) connection: u64,
    /// Ratio by which islands and connections are weaker.
    pub(super) times: f64,
    /// Whether sides of bubbles are compared with the mean of all paths, not with each other.
    pub(super) is_even: bool,
}

impl ErrorLengths {
    /// Returns the bounds of a profile; `None` if it removes nothing by rules.
    pub fn of(profile: Profile, k: usize) -> Option<Self> {
        let k = k as u64;
        match profile {
            Profile::Default => Some(Self {
                tip: 3 * k,
                weak_tip: 10 * k,
                island: 3 * k,
                bubble: 3 * k + 100,
                connection: 9 * k,
                times: 4.0,
                is_even: true,
            }),
            Profile::Metagenome => Some(Self {
                tip: 2 * k,
                weak_tip: 0,
                island: 0,
                bubble: 3 * k + 100,
                connection: 9 * k,
                times: 10.0,
                is_even: false,
            }),
            Profile::None => None,
        }
    }
}
