//! What fits in memory: everything at once, or how many records a run has.

use cuesta_core::budget::human;
use cuesta_core::{Error, Result};
use cuesta_input::records::RECORD_BYTES;

use crate::kernel::Entry;

/// Records of a stripe: its entries fit in the cache of one core.
pub const STRIPE_RECORDS: usize = 1 << 16;
/// Records that a bucket has about: they fit in the cache of one core, twice.
const BUCKET_RECORDS: u64 = 1 << 13;
/// Most buckets: where each begins is kept for every stripe.
const BUCKETS_MAX: u64 = 1 << 12;
/// Bytes written at once.
pub const WRITE_BYTES: usize = 1 << 20;
/// What a thread needs beside the shared arrays.
const THREAD_BYTES: u64 = WRITE_BYTES as u64 + 2 * STRIPE_RECORDS as u64 + (256 << 10);
/// Fewest records of a run.
const RUN_RECORDS_MIN: u64 = STRIPE_RECORDS as u64;
/// Most records of a merge task.
const TASK_RECORDS_MAX: u64 = 1 << 18;
/// Records between two samples of a run, at most.
const STRIDE_MAX: u64 = 1 << 10;
/// Memory that is nobody's: page tables, fragments between arrays.
const SLACK_BYTES: u64 = 4 << 20;

/// How a sort is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Records of each run but the last.
    pub run_records: u64,
    /// Runs; 1 when everything fits in memory.
    pub runs: u64,
    /// Most records of a merge task.
    pub task_records: u64,
    /// Records between two samples of a run.
    pub stride: u64,
}

/// Bytes that may be used, of a limit for the whole process that has `resident_bytes` already.
pub fn usable_bytes(memory_bytes: u64, resident_bytes: u64) -> u64 {
    memory_bytes.saturating_sub(resident_bytes + SLACK_BYTES)
}

/// Divides `records` for `threads` threads and `free_bytes` of memory.
///
/// # Errors
/// `Input` when the memory is too little to sort anything.
pub fn plan(records: u64, threads: usize, free_bytes: u64) -> Result<Plan> {
    let threads = threads as u64;
    let fixed_bytes = threads * THREAD_BYTES;
    let room = free_bytes.saturating_sub(fixed_bytes);
    if run_bytes(records) <= room {
        return Ok(Plan {
            run_records: records.max(1),
            runs: 1,
            task_records: 0,
            stride: STRIDE_MAX,
        });
    }
    let stripe = STRIPE_RECORDS as u64;
    let run_records = room / (record_bytes() + 1) / stripe * stripe;
    let runs = records.div_ceil(run_records.max(1));
    // The samples of all runs are sorted, and used up to twice at a time.
    let task_bytes = room.saturating_sub(records / STRIDE_MAX * 64) / threads;
    let task_records = (task_bytes / record_bytes()).min(TASK_RECORDS_MAX);
    let stride = (task_records / (4 * runs)).min(STRIDE_MAX);
    if run_records < RUN_RECORDS_MIN || stride < 16 {
        let text = format!(
            "sorting {} takes more than the {} that --memory leaves beside the program itself; \
             raise it",
            human(records * RECORD_BYTES as u64),
            human(free_bytes)
        );
        return Err(Error::input("sort", text));
    }
    Ok(Plan { run_records, runs, task_records, stride })
}

/// Buckets of a run.
pub fn buckets(records: u64) -> usize {
    (records / BUCKET_RECORDS).clamp(1, BUCKETS_MAX) as usize
}

fn record_bytes() -> u64 {
    RECORD_BYTES as u64 + 2 * size_of::<Entry>() as u64
}

/// Memory that sorting `records` at once takes.
fn run_bytes(records: u64) -> u64 {
    let stripes = records.div_ceil(STRIPE_RECORDS as u64);
    records * record_bytes() + stripes * 4 * (buckets(records) as u64 + 8)
}
