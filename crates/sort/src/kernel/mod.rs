//! Sort on slices: entries of records, their division into buckets, and records by entry.

mod gather;
mod merge;
mod splitters;

pub use gather::gather;
pub use merge::merge_pieces;
pub use splitters::{Splitters, collect};

use cuesta_input::records::Record;

/// Sort entry of a record: its key in the upper 80 bits, its position in the lower 48.
pub type Entry = u128;

/// Bits of an entry that hold the position.
pub const POSITION_BITS: u32 = 48;

/// Returns the key of a record as a number; numbers have the order of the keys' bytes.
#[inline(always)]
pub fn key(record: &Record) -> u128 {
    let [a, b, c, d, e, f, g, h, i, j, ..] = *record;
    let high = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    u128::from(high) << 16 | u128::from(u16::from_be_bytes([i, j]))
}

/// Returns the entry of a record with this key at this position.
#[inline(always)]
pub fn entry(key: u128, position: u64) -> Entry {
    key << POSITION_BITS | u128::from(position)
}

/// Returns the position of an entry.
#[inline(always)]
pub fn position(entry: Entry) -> u64 {
    entry as u64 & ((1 << POSITION_BITS) - 1)
}

/// Returns the key of an entry.
#[inline(always)]
pub fn key_of(entry: Entry) -> u128 {
    entry >> POSITION_BITS
}

/// Writes the entries of records at positions from `first` on.
pub fn entries(records: &[Record], first: u64, out: &mut [Entry]) {
    for ((place, record), position) in out.iter_mut().zip(records).zip(first..) {
        *place = entry(key(record), position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_input::records::RECORD_BYTES;

    #[test]
    fn entries_are_in_the_order_of_bytes_then_of_positions() {
        let mut low = [0xFF; RECORD_BYTES];
        low[8] = 0x7F;
        let high = [0xFF; RECORD_BYTES];
        let mut entries_out = [0; 3];
        entries(&[high, low, high], 7, &mut entries_out);
        assert!(entries_out[1] < entries_out[0] && entries_out[0] < entries_out[2]);
        assert_eq!(entries_out.map(position), [7, 8, 9]);
        assert_eq!(key_of(entries_out[0]), (1 << 80) - 1);
    }
}
