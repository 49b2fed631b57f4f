//! Parameters of `sort`: there are none, for the answer follows from the input alone.

use serde::Deserialize;

/// Parameters as they come from the command line.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortParams {}
