//! Copy of records in the order of their entries.

use cuesta_input::records::Record;

use super::{Entry, position};
use crate::advice::fetch;

/// Distance between the prefetch of a record and its copy, in records: each record is anywhere in
/// memory.
const AHEAD: usize = 24;

/// Copies the records of `entries`, in their order, to `out`.
pub fn gather(records: &[Record], entries: &[Entry], out: &mut [Record]) {
    let record = |entry: Entry| &records[position(entry) as usize];
    entries.iter().take(AHEAD).for_each(|&entry| fetch(record(entry)));
    for (index, (place, &entry)) in out.iter_mut().zip(entries).enumerate() {
        if let Some(&later) = entries.get(index + AHEAD) {
            fetch(record(later));
        }
        *place = *record(entry);
    }
}
