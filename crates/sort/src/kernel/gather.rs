//! Records in the order of their entries.

use cuesta_input::records::Record;

use super::{Entry, position};

/// Copies the records that `entries` name, in their order, to `out`.
pub fn gather(records: &[Record], entries: &[Entry], out: &mut [Record]) {
    // Each copy has its own address, so the processor has many reads of memory under way at once.
    for (place, &entry) in out.iter_mut().zip(entries) {
        *place = records[position(entry) as usize];
    }
}
