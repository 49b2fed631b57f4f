//! Parameters of `skeleton`, with their ranges.

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Largest number that may be asked for as the least one.
pub const LEAST_MAX: u64 = 1_000_000_000_000;

/// Parameters as they come from the command line.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct SkeletonParams {
    /// Numbers below this are left out, 0 to [`LEAST_MAX`].
    pub least: u64,
}

impl SkeletonParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        if self.least > LEAST_MAX {
            let text = format!("--least is {}, give 0 to {LEAST_MAX}", self.least);
            return Err(Error::input("skeleton", text));
        }
        Ok(())
    }
}
