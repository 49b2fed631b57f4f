//! Wrong answers made from a right one, for the tests of verifiers: a verifier that lets one of
//! these pass lets a wrong answer out.

use crate::random::Stream;

/// Division of a file into rows.
#[derive(Clone, Copy, Debug)]
pub enum RowFormat {
    /// Lines of fields between tabs.
    Lines,
    /// Records of so many bytes.
    Fixed(usize),
}

/// Kinds of changes, in the order in which [`mutant`] tries them.
const KINDS: u64 = 8;

/// The mutant number `index` of `content`, and a description of the change; `None` where it changes
/// nothing, for example because the two rows to be swapped are equal.
pub fn mutant(content: &[u8], rows: RowFormat, seed: u64, index: u64) -> Option<(String, Vec<u8>)> {
    let chance = Stream::new(seed, index);
    let mut parts = split(content, rows);
    let count = parts.len() as u64;
    let pick = |which: u64, below: usize| chance.below(which, below.max(1) as u64) as usize;
    let (first, second) = (pick(1, parts.len()), pick(2, parts.len()));
    let kind = if count == 0 { 0 } else { index % KINDS };
    let what = match kind {
        1 => {
            parts.remove(first);
            format!("row {first} dropped")
        }
        2 => {
            parts.insert(second, parts[first].clone());
            format!("row {first} doubled before row {second}")
        }
        3 => {
            parts.swap(first, second);
            format!("rows {first} and {second} swapped")
        }
        4 => {
            let (left, right) = (parts[first].clone(), parts[second].clone());
            let (left, right) = exchange(&left, &right, rows, pick(3, usize::MAX))?;
            (parts[first], parts[second]) = (left, right);
            format!("a field of rows {first} and {second} swapped")
        }
        5 => {
            let size = content.len();
            let end = pick(3, size);
            return changed(content, content[..end].to_vec(), format!("cut to {end} bytes"));
        }
        6 => {
            let row = &mut parts[first];
            let digits: Vec<usize> =
                (0..row.len()).filter(|&place| row[place].is_ascii_digit()).collect();
            let place = *digits.get(pick(3, digits.len()))?;
            row[place] = b'0' + (row[place] - b'0' + 1 + pick(4, 9) as u8) % 10;
            format!("digit {place} of row {first} changed")
        }
        7 => {
            let row = &mut parts[first];
            let place = pick(3, row.len());
            row.insert(place, *row.get(place)?);
            format!("byte {place} of row {first} doubled")
        }
        _ => {
            let mut bytes = content.to_vec();
            let place = pick(3, bytes.len());
            *bytes.get_mut(place)? ^= 1 << chance.below(4, 8);
            return changed(content, bytes, format!("a bit of byte {place} flipped"));
        }
    };
    changed(content, parts.concat(), what)
}

fn changed(before: &[u8], after: Vec<u8>, what: String) -> Option<(String, Vec<u8>)> {
    (before != after).then_some((what, after))
}

fn split(content: &[u8], rows: RowFormat) -> Vec<Vec<u8>> {
    match rows {
        RowFormat::Lines => {
            content.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
        }
        RowFormat::Fixed(size) => content.chunks(size).map(<[u8]>::to_vec).collect(),
    }
}

/// Two rows with one field of each in the other's place: a column of text, or eight bytes.
fn exchange(
    left: &[u8],
    right: &[u8],
    rows: RowFormat,
    which: usize,
) -> Option<(Vec<u8>, Vec<u8>)> {
    match rows {
        RowFormat::Lines => {
            let fields = |row: &[u8]| -> Vec<Vec<u8>> {
                let row = row.strip_suffix(b"\n").unwrap_or(row);
                row.split(|&byte| byte == b'\t').map(<[u8]>::to_vec).collect()
            };
            let (mut a, mut b) = (fields(left), fields(right));
            let column = which % a.len().min(b.len());
            std::mem::swap(&mut a[column], &mut b[column]);
            let join = |fields: Vec<Vec<u8>>| [fields.join(&b'\t'), b"\n".to_vec()].concat();
            Some((join(a), join(b)))
        }
        RowFormat::Fixed(_) => {
            let (mut a, mut b) = (left.to_vec(), right.to_vec());
            let words = a.len().min(b.len()) / 8;
            let place = 8 * (which % words.max(1));
            let (first, second) = (a.get_mut(place..place + 8)?, b.get_mut(place..place + 8)?);
            first.swap_with_slice(second);
            Some((a, b))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::mix;

    #[test]
    fn all_kinds_of_mutants_are_made_and_none_equals_the_original() {
        let text = b"gene\tin\n1\t20\n2\t30\n3\t40\n";
        let mut kinds_made = std::collections::BTreeSet::new();
        for index in 0..800 {
            if let Some((_, bytes)) = mutant(text, RowFormat::Lines, 1, index) {
                assert_ne!(bytes, text);
                kinds_made.insert(index % KINDS);
            }
        }
        assert_eq!(kinds_made.len() as u64, KINDS);
    }

    #[test]
    fn records_of_fixed_size_keep_it_when_fields_change_places() {
        let bytes: Vec<u8> = (0..100).collect();
        let (_, swapped) = (0..80)
            .find_map(|index| mutant(&bytes, RowFormat::Fixed(20), 3, 8 * index + 4))
            .unwrap();
        assert_eq!(swapped.len(), 100);
    }

    #[test]
    fn the_same_number_makes_the_same_mutant() {
        let text = b"1\t2\n3\t4\n";
        assert_eq!(mutant(text, RowFormat::Lines, 5, 12), mutant(text, RowFormat::Lines, 5, 12));
    }

    /// A failure is reported by seed and number, which must make the same mutant for ever.
    #[test]
    fn mutants_never_change() {
        let text = b"gene\tin\n1\t20\n2\t30\n3\t40\n4\t5\n";
        let kinds = [RowFormat::Lines, RowFormat::Fixed(16)].map(|rows| {
            (0..400).filter_map(|index| mutant(text, rows, 9, index)).fold(
                0,
                |sum, (what, bytes)| {
                    what.bytes().chain(bytes).fold(sum, |sum, byte| mix(sum ^ u64::from(byte)))
                },
            )
        });
        assert_eq!(kinds, [16_340_872_115_129_777_473, 4_461_054_218_214_219_459]);
    }
}
