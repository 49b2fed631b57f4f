//! An under level that records what is asked of it.

use std::sync::{Arc, Mutex};

use cuesta_runtime::parallel::lock;

use super::watch::{UnderRequest, Watch, WatchedUnder};

/// What was asked, in order.
#[derive(Debug, Default)]
pub struct UnderTrace(Mutex<Vec<UnderRequest>>);

impl UnderTrace {
    /// What was asked since the last call.
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

/// A trace that nothing is in.
pub fn trace() -> Arc<UnderTrace> {
    Arc::default()
}
