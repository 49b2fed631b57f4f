//! An under level with the latency and bandwidth of a network file system, for tests and
//! experiments.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cuesta_runtime::parallel::lock;

use super::watch::{UnderRequest, Watch, WatchedUnder};

/// Latency of each request, and bandwidth of each server that a file is striped over. A server
/// handles one request at a time; different servers work in parallel.
#[derive(Debug)]
pub struct Throttle {
    latency: Duration,
    bytes_per_s: u64,
    stripe_bytes: u64,
    servers: Vec<Mutex<()>>,
}

impl Throttle {
    /// A file begins on the first of `servers`, and continues on the next after `stripe_bytes`.
    pub fn new(
        latency: Duration,
        bytes_per_s: u64,
        stripe_bytes: u64,
        servers: usize,
    ) -> Arc<Self> {
        let servers = (0..servers.max(1)).map(|_| Mutex::default()).collect();
        let (bytes_per_s, stripe_bytes) = (bytes_per_s.max(1), stripe_bytes.max(1));
        Arc::new(Self { latency, bytes_per_s, stripe_bytes, servers })
    }
}

impl Watch for Throttle {
    fn before(&self, request: UnderRequest) {
        thread::sleep(self.latency);
        let (mut place, end) = (request.offset, request.offset.saturating_add(request.count));
        while place < end {
            let stripe = place / self.stripe_bytes;
            let count = ((stripe + 1) * self.stripe_bytes).min(end) - place;
            let server = lock(&self.servers[(stripe % self.servers.len() as u64) as usize]);
            thread::sleep(Duration::from_secs_f64(count as f64 / self.bytes_per_s as f64));
            drop(server);
            place += count;
        }
    }
}

/// An under level that is throttled.
pub type ThrottledUnder<U> = WatchedUnder<U, Throttle>;
