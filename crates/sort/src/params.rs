//! Parameters of `sort`: there are none, for the answer follows from the input alone.

use cuesta_core::Result;
use serde::{Deserialize, Serialize};

/// Parameters as they come from the command line.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SortParams {}

impl SortParams {
    /// Checks nothing.
    ///
    /// # Errors
    /// None.
    pub fn check(&self) -> Result<()> {
        Ok(())
    }
}
