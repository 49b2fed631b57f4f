//! Adjacency lists as text, which the reducers of the paper's first stage make of pairs. A line has
//! a k-mer, its count in the reads, and the distinct k-mers that followed it, all on the strand
//! that was read. A k-mer may have several lines.

use cuesta_core::Result;

use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer, with_kmer};
use crate::kernel::scan::{self, ReadCounts};

/// Letters of the bases by code.
pub const LETTERS: [u8; 4] = *b"ACGT";
/// Key of the lines with the number of bases of the reads, which is not a k-mer.
pub const BASES: &[u8] = b"bases";

/// A line of an adjacency list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjacent<K> {
    /// The k-mer, on the strand that was read.
    pub kmer: K,
    /// Number of its occurrences.
    pub count: u32,
    /// A bit for each base that followed.
    pub followers: u8,
}

/// Makes adjacency lists from lines of a k-mer and its followers, and adds them to the `lists` of
/// their buckets; returns the counts of the reads. An input line has a value for each occurrence of
/// the k-mer, which is empty at the end of a read.
///
/// # Errors
/// `Defect` for lines that no task sends.
pub fn add_lines(text: &[u8], k: usize, lists: &mut [Vec<u8>]) -> Result<ReadCounts> {
    with_kmer!(k, K => add_lines_of::<K>(text, k, lists))
}

fn add_lines_of<K: Kmer>(text: &[u8], k: usize, lists: &mut [Vec<u8>]) -> Result<ReadCounts> {
    let mut tally = ReadCounts::default();
    for line in lines(text) {
        let mut words = line.split(|&byte| byte == b'\t');
        let key = words.next().unwrap_or_default();
        if key == BASES {
            for word in words {
                tally.bases += number(word)?;
            }
            continue;
        }
        let kmer: K = parsed(key, k)?;
        let (mut count, mut followers) = (0u32, 0u8);
        for next in words {
            count += 1;
            if let Some(base) = last_base(next)? {
                tally.pairs += 1;
                followers |= 1 << base;
            }
        }
        let bucket = (kmer.canonical(k).mixed() >> 40) as usize % lists.len();
        let list = &mut lists[bucket];
        list.extend_from_slice(key);
        list.extend(format!("\t{count}").into_bytes());
        for base in (0..4).filter(|base| followers & 1 << base != 0) {
            list.push(b'\t');
            list.extend_from_slice(&key[1..]);
            list.push(LETTERS[base]);
        }
        list.push(b'\n');
    }
    Ok(tally)
}

/// Calls `take` for each line of adjacency lists.
///
/// # Errors
/// `Defect` for lines that [`add_lines`] does not make; errors of `take`.
pub fn each<K: Kmer>(
    text: &[u8],
    k: usize,
    mut take: impl FnMut(&Adjacent<K>) -> Result<()>,
) -> Result<()> {
    for line in lines(text) {
        let mut words = line.split(|&byte| byte == b'\t');
        let kmer = parsed(words.next().unwrap_or_default(), k)?;
        let count = number(words.next().unwrap_or_default())? as u32;
        let mut followers = 0;
        for next in words {
            followers |= last_base(next)?.map_or(0, |base| 1 << base);
        }
        take(&Adjacent { kmer, count, followers })?;
    }
    Ok(())
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

fn parsed<K: Kmer>(word: &[u8], k: usize) -> Result<K> {
    let codes: Vec<Base> = word.iter().map(|&letter| scan::code(letter)).collect();
    let is_kmer = codes.len() == k && codes.iter().all(|&code| code < 4);
    if is_kmer { Ok(K::of(&codes, k)) } else { Err(internal("a line of no k-mer")) }
}

/// Returns the last base of a word; `None` if it is empty.
fn last_base(word: &[u8]) -> Result<Option<Base>> {
    match word.last().map(|&letter| scan::code(letter)) {
        Some(4..) => Err(internal("a value that is no k-mer")),
        base => Ok(base),
    }
}

fn number(word: &[u8]) -> Result<u64> {
    let text = std::str::from_utf8(word).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| internal("a line without its number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_key_become_its_list_however_lines_divide_them() {
        let lines = [
            "ACGTA\tCGTAG\tCGTAC\tCGTAG\nACGTA\t\nbases\t12\t30\nTTTTT\t\n",
            "ACGTA\tCGTAG\nACGTA\tCGTAC\nACGTA\tCGTAG\t\nbases\t42\nTTTTT\t\n",
        ];
        for text in lines {
            let mut lists = vec![Vec::new()];
            let tally = add_lines(text.as_bytes(), 5, &mut lists).unwrap();
            assert_eq!((tally.bases, tally.pairs), (42, 3));
            let mut sums = (0, 0);
            let mut last = None;
            each::<u64>(&lists[0], 5, |list| {
                if list.kmer == u64::of(&[0, 1, 2, 3, 0], 5) {
                    sums = (sums.0 + list.count, sums.1 | list.followers);
                } else {
                    last = Some(*list);
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(sums, (4, 1 << 1 | 1 << 2));
            let kmer = u64::of(&[3; 5], 5);
            assert_eq!(last, Some(Adjacent { kmer, count: 1, followers: 0 }));
        }
        let mut lists = vec![Vec::new()];
        add_lines(b"ACGTA\tCGTAG\tCGTAC\t\n", 5, &mut lists).unwrap();
        assert_eq!(lists[0], b"ACGTA\t3\tCGTAC\tCGTAG\n");
    }

    #[test]
    fn lines_that_no_task_sends_are_refused() {
        for text in ["ACGT\tCGTAG\n", "ACGTN\tCGTAG\n", "ACGTA\tCGTA?\n", "bases\tmany\n"] {
            let result = add_lines(text.as_bytes(), 5, &mut [Vec::new()]);
            assert!(result.is_err(), "{text}");
        }
        assert!(each::<u64>(b"ACGTA\n", 5, |_| Ok(())).is_err());
    }
}
