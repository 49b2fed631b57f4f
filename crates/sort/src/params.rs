//! Parameters of `sort`: there are none, because the answer follows from the input alone.

use cuesta_core::Result;
use serde::{Deserialize, Serialize};

/// Parameters as the command line gives them.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SortParams {}

impl SortParams {
    /// Accepts the parameters, which have nothing to check.
    ///
    /// # Errors
    /// None.
    pub fn check(&self) -> Result<()> {
        Ok(())
    }
}
