//! Memory plan of a sort: everything at once, or the number of records of a run.

use cuesta_core::budget::human;
use cuesta_core::{Error, Result};
use cuesta_input::records::RECORD_BYTES;

use crate::kernel::Entry;

/// Records of a stripe: its entries fit in the cache of one core.
pub const STRIPE_RECORDS: usize = 1 << 16;
/// Approximate number of records of a bucket: they fit in the cache of one core, twice.
const BUCKET_RECORDS: u64 = 1 << 13;
/// Maximum number of buckets: the start of each is stored for each stripe.
const BUCKETS_MAX: u64 = 1 << 12;
/// Bytes written at once.
pub const WRITE_BYTES: usize = 1 << 20;
/// Memory of a thread in addition to the shared arrays.
const THREAD_BYTES: u64 = WRITE_BYTES as u64 + 2 * STRIPE_RECORDS as u64 + (256 << 10);
/// Minimum number of records of a run.
const RUN_RECORDS_MIN: u64 = STRIPE_RECORDS as u64;
/// Maximum number of records of a merge task.
const TASK_RECORDS_MAX: u64 = 1 << 18;
/// Maximum number of records between two samples of a run.
const STRIDE_MAX: u64 = 1 << 10;
/// Steps of the search for a sufficient limit.
const LIMIT_STEP_BYTES: u64 = 4 << 20;
/// Memory outside all accounts: page tables, fragments between arrays.
const SLACK_BYTES: u64 = 4 << 20;

/// Division of a sort into runs and merge tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortPlan {
    /// Records of each run except the last.
    pub run_records: u64,
    /// Number of runs; 1 if everything fits in memory.
    pub runs: u64,
    /// Maximum number of records of a merge task.
    pub task_records: u64,
    /// Records between two samples of a run.
    pub stride: u64,
}

/// Memory of a process.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Limit for the complete process.
    pub limit_bytes: u64,
    /// Memory in use before the sort.
    pub resident_bytes: u64,
}

impl Memory {
    /// Returns the bytes that the sort may use.
    pub fn usable_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.resident_bytes + SLACK_BYTES)
    }

    fn refuse(&self, records: u64, threads: usize) -> Error {
        let enough = |&bytes: &u64| divide(records, threads, bytes).is_some();
        // The search ends soon, because more memory is always enough.
        let least = (1..).map(|step| step * LIMIT_STEP_BYTES).find(enough).unwrap_or(u64::MAX);
        let limit_bytes = least.saturating_add(self.resident_bytes + SLACK_BYTES);
        let text = format!(
            "sorting {} takes at least {} with the program itself, the limit is {}; raise \
             --memory, or use fewer --threads",
            human(records * RECORD_BYTES as u64),
            human(limit_bytes.next_multiple_of(LIMIT_STEP_BYTES)),
            human(self.limit_bytes)
        );
        Error::input("sort", text)
    }
}

/// Divides `records` for `threads` threads.
///
/// # Errors
/// `Input` if the memory is too little to sort anything, with the sufficient limit.
pub fn plan(records: u64, threads: usize, memory: Memory) -> Result<SortPlan> {
    divide(records, threads, memory.usable_bytes()).ok_or_else(|| memory.refuse(records, threads))
}

fn divide(records: u64, threads: usize, free_bytes: u64) -> Option<SortPlan> {
    let threads = threads as u64;
    let fixed_bytes = threads * THREAD_BYTES;
    let available_bytes = free_bytes.saturating_sub(fixed_bytes);
    if run_bytes(records) <= available_bytes {
        return Some(SortPlan {
            run_records: records.max(1),
            runs: 1,
            task_records: 0,
            stride: STRIDE_MAX,
        });
    }
    let stripe = STRIPE_RECORDS as u64;
    let run_records = available_bytes / (record_bytes() + 1) / stripe * stripe;
    let runs = records.div_ceil(run_records.max(1));
    // The samples of all runs are sorted, and up to two copies exist at a time.
    let task_bytes = available_bytes.saturating_sub(records / STRIDE_MAX * 64) / threads;
    let task_records = (task_bytes / record_bytes()).min(TASK_RECORDS_MAX);
    let stride = (task_records / (4 * runs)).min(STRIDE_MAX);
    if run_records < RUN_RECORDS_MIN || stride < 16 {
        return None;
    }
    Some(SortPlan { run_records, runs, task_records, stride })
}

/// Returns the number of buckets of a run.
pub fn buckets(records: u64) -> usize {
    (records / BUCKET_RECORDS).clamp(1, BUCKETS_MAX) as usize
}

fn record_bytes() -> u64 {
    RECORD_BYTES as u64 + 2 * size_of::<Entry>() as u64
}

/// Returns the memory for sorting `records` at once.
fn run_bytes(records: u64) -> u64 {
    let stripes = records.div_ceil(STRIPE_RECORDS as u64);
    records * record_bytes() + stripes * 4 * (buckets(records) as u64 + 8)
}
