//! Rows that tasks send to parts. A block has, for each task that sent something, a header followed
//! by its rows, all of one size.

use cuesta_core::Result;
use cuesta_input::kinc::block::Counts;
use cuesta_runtime::blocks::{Blocks, header_bytes, pieces, put_header};

/// Numbers of a header: the mark, two counts, and the size of the rows.
const NUMBERS: usize = 4;
const HEAD_BYTES: usize = header_bytes(NUMBERS);
const NONE: Counts = Counts { rows_read: 0, rows_passed: 0 };

/// Rows that a task sent to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentRows<'a> {
    /// Property of the rows: the version of the dataset that has them, or facts as bits.
    pub mark: u64,
    /// Rows that the task read and selected, sent to a single part; 0 in all others.
    pub counts: Counts,
    /// The rows.
    pub rows: &'a [u8],
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
            let Counts { rows_read, rows_passed } = if part == 0 { counts } else { NONE };
            let head = &mut bytes[place - HEAD_BYTES..place];
            put_header(&[mark, rows_read, rows_passed], rows as usize * row_bytes, head);
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

/// Returns the rows of a block, as the tasks sent them.
///
/// # Errors
/// `Defect` for a block that no task has sent.
pub fn unpack(block: &[u8]) -> Result<impl Iterator<Item = SentRows<'_>>> {
    Ok(pieces::<NUMBERS>(block)?.into_iter().map(|([mark, rows_read, rows_passed, _], rows)| {
        SentRows { mark, counts: Counts { rows_read, rows_passed }, rows }
    }))
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
            let all = unpack(&block).unwrap();
            all.map(|sent| (sent.mark, sent.counts, sent.rows.to_vec())).collect::<Vec<_>>()
        };
        assert_eq!(sent(0), [(7, counts, vec![]), (8, counts, vec![])]);
        assert_eq!(sent(1), [(7, NONE, b"cd".to_vec())]);
        assert_eq!(sent(2), [(7, NONE, b"abef".to_vec())]);
        assert_eq!(sent(3), []);
        assert!(unpack(&blocks.of_part(2)[..33]).is_err());
    }
}
