//! Rows that tasks send to parts. A block has, for each task that sent something, a header followed
//! by its rows, all of one size.

use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_input::kinc::block::Counts;
use cuesta_runtime::rounds::{Blocks, Bytes};

use super::unexpected;

/// Header of the rows that a task sends to a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Property of the rows: the version of the dataset that has them, or facts as bits.
    pub mark: u64,
    /// Number of rows.
    pub rows: u64,
    /// Rows that the task read and selected, sent to a single part; 0 in all further headers.
    pub counts: Counts,
}

const HEAD_BYTES: usize = 32;

impl Head {
    fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let numbers = [self.mark, self.rows, self.counts.rows_read, self.counts.rows_passed];
        for (place, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        bytes
    }

    fn of(bytes: &[u8; HEAD_BYTES]) -> Self {
        let mut numbers = [0; 4];
        for (number, place) in numbers.iter_mut().zip(bytes.as_chunks().0) {
            *number = u64::from_le_bytes(*place);
        }
        let [mark, rows, rows_read, rows_passed] = numbers;
        Self { mark, rows, counts: Counts { rows_read, rows_passed } }
    }
}

/// Packs the blocks of a task for `parts` parts, from each row and its part; a part without rows
/// gets no block, except part 0, which always gets the counts. All rows have `row_bytes`.
pub fn pack<R: AsRef<[u8]>>(
    (mark, counts): (u64, Counts),
    (parts, row_bytes): (usize, usize),
    rows: impl Iterator<Item = (usize, R)> + Clone,
) -> Blocks {
    let mut sizes = vec![0u64; parts];
    rows.clone().for_each(|(part, _)| sizes[part] += 1);
    let (mut places, mut ends) = (Vec::with_capacity(parts), Vec::with_capacity(parts));
    let mut end = 0;
    for (part, &rows) in sizes.iter().enumerate() {
        let head = if rows > 0 || part == 0 { HEAD_BYTES } else { 0 };
        places.push(end + head);
        end += head + rows as usize * row_bytes;
        ends.push(end as u64);
    }
    let mut bytes = vec![0; end];
    for (part, (&rows, &place)) in sizes.iter().zip(&places).enumerate() {
        if rows > 0 || part == 0 {
            let counts = if part == 0 { counts } else { Counts::default() };
            let head = Head { mark, rows, counts };
            bytes[place - HEAD_BYTES..place].copy_from_slice(&head.to_bytes());
        }
    }
    for (part, row) in rows {
        let place = places[part];
        let row = row.as_ref();
        bytes[place..place + row.len()].copy_from_slice(row);
        places[part] += row.len();
    }
    Blocks { bytes, ends }
}

/// Received blocks, by part and then by the first task that sent them.
#[derive(Default)]
pub struct Received(BTreeMap<usize, BTreeMap<usize, Bytes>>);

impl Received {
    /// Adds a block.
    pub fn take(&mut self, part: usize, from: usize, block: Bytes) {
        self.0.entry(part).or_default().insert(from, block);
    }

    /// Removes and returns all blocks of a part, in the order of the tasks.
    pub fn all_of(&mut self, part: usize) -> Vec<Bytes> {
        self.0.remove(&part).unwrap_or_default().into_values().collect()
    }
}

/// Header and the rows that follow it.
pub type Sent<'a> = (Head, &'a [u8]);

/// Returns the headers and rows of a block; a row has `row_bytes`.
///
/// # Errors
/// `Defect` for a block that no task has sent.
pub fn unpack(mut block: &[u8], row_bytes: usize) -> Result<Vec<Sent<'_>>> {
    let mut all = Vec::new();
    while !block.is_empty() {
        let (head, rest) = block.split_first_chunk().ok_or_else(unexpected)?;
        let head = Head::of(head);
        let size = (head.rows as usize).checked_mul(row_bytes).ok_or_else(unexpected)?;
        let (rows, rest) = rest.split_at_checked(size).ok_or_else(unexpected)?;
        all.push((head, rows));
        block = rest;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_come_to_their_parts_in_order_and_counts_to_the_first() {
        let counts = Counts { rows_read: 9, rows_passed: 3 };
        let rows = [(2, *b"ab"), (1, *b"cd"), (2, *b"ef")];
        let blocks = pack((7, counts), (4, 2), rows.into_iter());
        let none = pack((8, counts), (4, 2), std::iter::empty::<(usize, [u8; 2])>());
        let sent = |part: usize| {
            let block = [blocks.of_part(part), none.of_part(part)].concat();
            let all = unpack(&block, 2).unwrap();
            all.iter().map(|(head, rows)| (*head, rows.to_vec())).collect::<Vec<_>>()
        };
        let head = |mark, rows, counts| Head { mark, rows, counts };
        assert_eq!(sent(0), [(head(7, 0, counts), vec![]), (head(8, 0, counts), vec![])]);
        assert_eq!(sent(1), [(head(7, 1, Counts::default()), b"cd".to_vec())]);
        assert_eq!(sent(2), [(head(7, 2, Counts::default()), b"abef".to_vec())]);
        assert_eq!(sent(3), []);
        assert!(unpack(&blocks.of_part(2)[..33], 2).is_err());
    }
}
