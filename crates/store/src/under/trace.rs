//! An under level that records its requests.

use std::sync::{Arc, Mutex};

use cuesta_runtime::parallel::lock;

use super::watch::{UnderRequest, Watch, WatchedUnder};

/// Requests in order.
#[derive(Debug, Default)]
pub struct UnderTrace(Mutex<Vec<UnderRequest>>);

impl UnderTrace {
    /// Returns the requests since the last call.
    pub fn take(&self) -> Vec<UnderRequest> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl Watch for UnderTrace {
    fn before(&self, request: UnderRequest) {
        lock(&self.0).push(request);
    }
}

/// An under level whose requests are recorded.
pub type TracedUnder<U> = WatchedUnder<U, UnderTrace>;

/// Creates an empty trace.
pub fn trace() -> Arc<UnderTrace> {
    Arc::default()
}
