//! What the rules of a profile take for an error, told once more for the verification.

use crate::params::Profile;

/// What is taken for an error; lengths in bases, 0 for none.
#[derive(Clone, Copy, Debug)]
pub struct ErrorLengths {
    /// Of dead ends, where a rival is stronger.
    pub(super) tip: u64,
    /// Of dead ends, where a rival has more than twice the coverage.
    pub(super) weak_tip: u64,
    /// Of paths without links.
    pub(super) island: u64,
    /// Of both sides of a bubble.
    pub(super) bubble: u64,
    /// Of connections.
    pub(super) connection: u64,
    /// How much weaker islands and connections are.
    pub(super) times: f64,
    /// Whether sides of bubbles are held against the mean of all paths, not against each other.
    pub(super) is_even: bool,
}

impl ErrorLengths {
    /// Those of a profile, if it takes something out.
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
            // The programs of the paper are run again.
            Profile::Paper | Profile::None => None,
        }
    }
}
