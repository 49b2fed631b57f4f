//! The two-level store: a tier of memory in front of a parallel file system. It knows no workload.
//!
//! A file of the under level is cut into blocks, and a policy of the [`cache`] chooses those in
//! memory. A [`trace`] records the blocks that were read, and [`simulate`] computes the hits that
//! any policy would have had on them in a memory of any size.
//!
//! Safe to change: a policy (one file of `cache/policy`), an `under` (one file, `Under`, which runs
//! `conformance`, a module behind the crate feature of that name). What breaks:
//! whatever is acknowledged must survive a kill at any step (`tests/crash.rs`), histories of
//! several stores stay linearizable (`tests/partitions.rs`), and clients of the same protocol
//! version read old folders.

pub mod allocate;
mod block_set;
pub mod cache;
pub mod client;
pub mod conflict;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod daemon;
mod errno;
pub mod folder;
pub mod mapping;
pub mod memory;
pub mod mount;
pub mod name_text;
mod open_files;
pub mod path;
pub mod peers;
pub mod permissions;
pub mod places;
pub mod prepared;
pub mod pressure;
pub mod sharing;
pub mod simulate;
pub mod steps;
pub mod store;
pub mod trace;
pub mod under;
mod wire;
pub mod writeback;

use std::path::PathBuf;
use std::time::Duration;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use cache::FolderRule;
use cache::policy::PolicyName;
use daemon::ServeOptions;
use mount::MountOptions;
use peers::PeerOptions;
use simulate::Hits;
use store::{Freshness, StoreOptions};
use trace::Trace;
pub use wire::question_again;

/// Request of a simulation: policies to run on a trace, with sizes of the memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SimulateRequest {
    trace: PathBuf,
    /// Names of policies; all if empty.
    policies: Vec<String>,
    /// Sizes of the memory in bytes.
    memories: Vec<u64>,
    /// Number of further memories, in equal steps up to the size of all blocks.
    steps: u64,
    /// Whether to admit selectively: false, true, or both.
    admissions: Vec<bool>,
}

/// Response of a simulation: the contents of a trace, and the hits of each policy.
#[derive(Debug, Serialize)]
struct SimulateResponse {
    reads: u64,
    read_bytes: u64,
    blocks: u64,
    blocks_bytes: u64,
    outcomes: Vec<SimulatedMemory>,
}

#[derive(Debug, Serialize)]
struct SimulatedMemory {
    policy: &'static str,
    admission: bool,
    memory_bytes: u64,
    hits: Hits,
}

/// Replays a trace; JSON in, JSON out. Cost: O(reads) for each policy and memory.
///
/// # Errors
/// `Input` naming the line of the trace or the policy; `System`; `Defect` for invalid JSON.
pub fn simulate(request_json: &str) -> Result<String> {
    let request: SimulateRequest =
        serde_json::from_str(request_json).map_err(|error| Error::defect("store", error))?;
    let mut policies = Vec::new();
    for name in &request.policies {
        policies.push(name.parse::<PolicyName>()?);
    }
    if policies.is_empty() {
        policies.extend(PolicyName::ALL);
    }
    let trace = Trace::open(&request.trace)?;
    let mut memories = request.memories;
    let (all, steps) = (trace.blocks_bytes, request.steps);
    memories.extend((1..=steps).map(|step| all / steps * step + all % steps * step / steps));
    memories.sort_unstable();
    memories.dedup();
    let mut outcomes = Vec::new();
    for &memory_bytes in &memories {
        for &policy in &policies {
            outcomes.extend(request.admissions.iter().map(|&admission| SimulatedMemory {
                policy: policy.name(),
                admission,
                memory_bytes,
                hits: simulate::hits_gated(policy, admission, memory_bytes, &trace),
            }));
        }
    }
    let response = SimulateResponse {
        reads: trace.reads.len() as u64,
        read_bytes: trace.reads.iter().map(|read| read.size_bytes).sum(),
        blocks: trace.blocks,
        blocks_bytes: trace.blocks_bytes,
        outcomes,
    };
    serde_json::to_string(&response).map_err(|error| Error::defect("store", error))
}

/// Request to start a daemon.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeRequest {
    folder: PathBuf,
    under: PathBuf,
    memory_bytes: u64,
    block_bytes: u64,
    policy: String,
    /// Age in seconds up to which a version is taken for the current one; null for ever.
    max_age_seconds: Option<f64>,
    write: String,
    grace_seconds: f64,
    admission: bool,
    rules: Vec<FolderRule>,
    stripes: Option<usize>,
    stripe_bytes: u64,
    preallocate: bool,
    #[serde(default)]
    peers: Option<PeerOptions>,
}

/// Request to start a mount.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MountRequest {
    store: PathBuf,
    place: PathBuf,
    /// Write mode; null for the store's default.
    write: Option<String>,
}

/// Request to start a service.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ServiceRequest {
    Store(Box<ServeRequest>),
    Mount(MountRequest),
}

/// Serves a store as [`daemon::serve`] does, or a mount as [`mount::serve`]; JSON in.
///
/// # Errors
/// Errors of [`daemon::serve`] or [`mount::serve`]; `Defect` for invalid JSON.
pub fn serve(request_json: &str, progress: &Progress, ready: impl FnOnce()) -> Result<()> {
    let request =
        serde_json::from_str(request_json).map_err(|error| Error::defect("store", error))?;
    let request: ServeRequest = match request {
        ServiceRequest::Store(request) => *request,
        ServiceRequest::Mount(MountRequest { store, place, write }) => {
            let write = write.map(|mode| mode.parse()).transpose()?;
            return mount::serve(&MountOptions { store, place, write }, progress, ready);
        }
    };
    let freshness = match request.max_age_seconds {
        None => Freshness::Immutable,
        Some(0.0) => Freshness::OnOpen,
        Some(seconds) => Freshness::MaxAge(
            Duration::try_from_secs_f64(seconds).map_err(|error| Error::input("store", error))?,
        ),
    };
    let grace = Duration::try_from_secs_f64(request.grace_seconds)
        .map_err(|error| Error::input("store", error))?;
    let store = StoreOptions {
        memory_bytes: request.memory_bytes,
        block_bytes: request.block_bytes,
        policy: request.policy.parse()?,
        freshness,
        has_admission: request.admission,
        rules: request.rules,
        stripes: request.stripes,
        stripe_bytes: request.stripe_bytes,
    };
    let write = request.write.parse()?;
    let (preallocates, peers) = (request.preallocate, request.peers);
    let options = ServeOptions { store, write, grace, preallocates, peers };
    daemon::serve(&request.folder, &request.under, options, progress, ready)
}
