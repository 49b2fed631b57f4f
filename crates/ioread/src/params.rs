//! Parameters of `ioread`, with their ranges.

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most bytes of a request.
pub const REQUEST_BYTES_MAX: u64 = 1 << 30;
/// Most bytes between two requests.
pub const SKIP_BYTES_MAX: u64 = 1 << 40;

/// Parameters from the command line.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct IoreadParams {
    /// Bytes of a request, 1 to [`REQUEST_BYTES_MAX`].
    pub request_bytes: u64,
    /// Bytes between the end of a request and the start of the next, 0 to [`SKIP_BYTES_MAX`].
    pub skip_bytes: u64,
}

impl Default for IoreadParams {
    fn default() -> Self {
        Self { request_bytes: 1 << 20, skip_bytes: 0 }
    }
}

impl IoreadParams {
    /// Checks that the parameters are in range.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        let (request, skip) = (self.request_bytes, self.skip_bytes);
        if !(1..=REQUEST_BYTES_MAX).contains(&request) {
            let text = format!("--request-bytes is {request}, give 1 to {REQUEST_BYTES_MAX}");
            return Err(Error::input("ioread", text));
        }
        if skip > SKIP_BYTES_MAX {
            let text = format!("--skip-bytes is {skip}, give 0 to {SKIP_BYTES_MAX}");
            return Err(Error::input("ioread", text));
        }
        Ok(())
    }

    /// Returns the bytes from the start of a request to the start of the next.
    pub fn stride_bytes(&self) -> u64 {
        self.request_bytes + self.skip_bytes
    }
}
