//! Steps of a sort distributed over processes. Each process reads a range of the records and
//! divides it at common cuts; the process that receives a part sorts it and writes it to its place.
//!
//! Cuts are entries, positions included, so that records with equal keys are divided too, and the
//! concatenated parts are in stable order if each part is.

use std::path::Path;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::records::{RECORD_BYTES, Record, RecordFiles};
use cuesta_runtime::blocks::Blocks;

use super::inmemory::{INPUT, write_records};
use super::plan::STRIPE_RECORDS;
use super::{ANSWER, SORTED_FILE};
use crate::disk::{Disk, DiskFile};
use crate::kernel::{self, Entry, Splitters};

/// Maximum number of parts.
pub const PARTS_MAX: usize = 1 << 15;

/// Range of records: the first, and the number of records.
pub type Share = (u64, u64);

/// Returns `count` entries at even distances in a share, or all entries if it has fewer.
///
/// # Errors
/// `System`; `Cancelled`.
pub fn sample(
    files: &RecordFiles,
    (first, records): Share,
    count: u64,
    progress: &Progress,
) -> Result<Vec<Entry>> {
    let (disk, count) = (Disk::default(), count.min(records));
    let sampled_entry = |index: u64| {
        // The middle of each stretch.
        let place =
            (u128::from(2 * index + 1) * u128::from(records) / u128::from(2 * count)) as u64;
        let mut record = [[0; RECORD_BYTES]];
        disk.read_records(INPUT, files, first + place, &mut record)?;
        progress.advance(0)?;
        Ok(kernel::entry(kernel::key(&record[0]), first + place))
    };
    (0..count).map(sampled_entry).collect()
}

/// Chooses cuts that divide the sampled entries into `parts` parts of about equal size; fewer if
/// the sample is small.
///
/// # Errors
/// `Defect` if there are too many parts.
pub fn cuts(sample: &mut [Entry], parts: usize) -> Result<Vec<Entry>> {
    if !(1..=PARTS_MAX).contains(&parts) {
        return Err(Error::defect("sort", format!("{parts} parts, not 1 to {PARTS_MAX}")));
    }
    Ok(Splitters::choose(sample, parts).cuts().to_vec())
}

/// Reads a share into blocks, one for each part, each in input order and with `header_bytes` of
/// free space before its records.
///
/// # Errors
/// `System`; `Cancelled`.
pub fn divide(
    files: &RecordFiles,
    (first, records): Share,
    (cuts, header_bytes): (Vec<Entry>, usize),
    progress: &Progress,
) -> Result<Blocks> {
    let (disk, splitters) = (Disk::default(), Splitters::new(cuts));
    let mut bytes = vec![0; records as usize * RECORD_BYTES];
    let records: &mut [Record] = bytes.as_chunks_mut().0;
    for (stripe, start) in records.chunks_mut(STRIPE_RECORDS).zip((first..).step_by(STRIPE_RECORDS))
    {
        disk.read_records(INPUT, files, start, stripe)?;
        progress.advance(0)?;
    }
    let parts: Vec<u16> = parts_of(&splitters, records, first).collect();
    let mut counts = vec![0; splitters.buckets()];
    parts.iter().for_each(|&part| counts[usize::from(part)] += 1);
    let (mut places, mut ends) = (Vec::with_capacity(counts.len()), Vec::new());
    let mut end = 0;
    for &count in &counts {
        places.push(end + header_bytes);
        end += header_bytes + count * RECORD_BYTES;
        ends.push(end as u64);
    }
    let mut out = vec![0; end];
    for (record, &part) in records.iter().zip(&parts) {
        let place = &mut places[usize::from(part)];
        out[*place..*place + RECORD_BYTES].copy_from_slice(record);
        *place += RECORD_BYTES;
    }
    Ok(Blocks { bytes: out, ends })
}

/// Creates the answer file in `folder`, with space for `records` records.
///
/// # Errors
/// `System`.
pub fn create(folder: &Path, records: u64) -> Result<()> {
    let disk = Disk::default();
    disk.create(ANSWER, &folder.join(SORTED_FILE))?.resize(records * RECORD_BYTES as u64)
}

/// Sorts the records of a part, which are in input order, and writes them to the answer in
/// `folder`, from record number `first` on.
///
/// # Errors
/// `System`; `Cancelled`.
pub fn write(records: &[Record], folder: &Path, first: u64, progress: &Progress) -> Result<()> {
    let disk = Disk::default();
    let output: DiskFile<'_> = disk.open_to_write(ANSWER, &folder.join(SORTED_FILE))?;
    let mut entries = vec![0; records.len()];
    kernel::entries(records, 0, &mut entries);
    entries.sort_unstable();
    write_records(progress, &output, records, &entries, (first, &mut Vec::new()))
}

fn parts_of(splitters: &Splitters, records: &[Record], first: u64) -> impl Iterator<Item = u16> {
    let part =
        move |(record, position)| splitters.bucket(kernel::entry(kernel::key(record), position));
    records.iter().zip(first..).map(part)
}
