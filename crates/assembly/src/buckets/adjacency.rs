//! Adjacency lists as text, which the reducers of the paper's first stage make of pairs: a line has
//! a k-mer, how often it was read, and the distinct k-mers that followed it, all on the strand that
//! was read. A k-mer may have several lines.

use cuesta_core::Result;

use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer, with_kmer};
use crate::kernel::scan::{self, ReadCounts};

/// Letters of the bases.
pub const LETTERS: [u8; 4] = *b"ACGT";
/// The key of what is no k-mer: the number of bases of the reads.
pub const BASES: &[u8] = b"bases";

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjacent<K> {
    /// As it was read.
    pub kmer: K,
    /// How often.
    pub count: u32,
    /// The bits of the bases that followed.
    pub followers: u8,
}

/// Makes adjacency lists of lines of a k-mer and those that follow it, a value each time that it
/// was read and an empty one at the end of a read; adds them to the `lists` of their buckets. What
/// was counted on the way.
///
/// # Errors
/// `Defect` for what no task has sent.
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
/// `Defect` for what [`add_lines`] has not made; those of `take`.
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
    let is_one = codes.len() == k && codes.iter().all(|&code| code < 4);
    if is_one { Ok(K::of(&codes, k)) } else { Err(internal("a line of no k-mer")) }
}

/// None of an empty word.
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
    fn values_of_a_key_become_its_list_however_they_are_divided_among_lines() {
        let lines = [
            "ACGTA\tCGTAG\tCGTAC\tCGTAG\nACGTA\t\nbases\t12\t30\nTTTTT\t\n",
            "ACGTA\tCGTAG\nACGTA\tCGTAC\nACGTA\tCGTAG\t\nbases\t42\nTTTTT\t\n",
        ];
        for text in lines {
            let mut lists = vec![Vec::new()];
            let tally = add_lines(text.as_bytes(), 5, &mut lists).unwrap();
            assert_eq!((tally.bases, tally.pairs), (42, 3));
            let mut found = (0, 0);
            let mut last = None;
            each::<u64>(&lists[0], 5, |list| {
                if list.kmer == u64::of(&[0, 1, 2, 3, 0], 5) {
                    found = (found.0 + list.count, found.1 | list.followers);
                } else {
                    last = Some(*list);
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(found, (4, 1 << 1 | 1 << 2));
            let kmer = u64::of(&[3; 5], 5);
            assert_eq!(last, Some(Adjacent { kmer, count: 1, followers: 0 }));
        }
        let mut lists = vec![Vec::new()];
        add_lines(b"ACGTA\tCGTAG\tCGTAC\t\n", 5, &mut lists).unwrap();
        assert_eq!(lists[0], b"ACGTA\t3\tCGTAC\tCGTAG\n");
    }

    #[test]
    fn what_no_task_sends_is_refused() {
        for text in ["ACGT\tCGTAG\n", "ACGTN\tCGTAG\n", "ACGTA\tCGTA?\n", "bases\tmany\n"] {
            let told = add_lines(text.as_bytes(), 5, &mut [Vec::new()]);
            assert!(told.is_err(), "{text}");
        }
        assert!(each::<u64>(b"ACGTA\n", 5, |_| Ok(())).is_err());
    }
}
