//! Text of the first stage. Mappers turn reads into pairs of a k-mer and the next one, for the part
//! of the canonical form of the first; reducers make adjacency lists of them. A line of these has a
//! k-mer, its count in the reads, and the distinct k-mers that followed it, all on the strand that
//! was read. A k-mer may have several lines.

use cuesta_assembly::buckets::KmerList;
use cuesta_assembly::kernel::internal;
use cuesta_assembly::kernel::kmer::{Base, Kmer, kmers, with_kmer};
use cuesta_assembly::kernel::scan::{self, ReadCounts};
use cuesta_assembly::method::TextStage;
use cuesta_core::Result;

/// The first stage as in the paper.
pub const FIRST_STAGE: TextStage =
    TextStage { name: "first stage", add_read, finish, lists: add_lines, each_list };

/// Letters of the bases by code.
const LETTERS: [u8; 4] = *b"ACGT";
/// Key of the lines with the number of bases of the reads, which is not a k-mer.
const BASES: &[u8] = b"bases";

/// Adds the pairs of a read to the texts of the parts. The last k-mer of a read has no value.
fn add_read(codes: &[Base], k: usize, texts: &mut [Vec<u8>]) {
    with_kmer!(k, K => add_read_of::<K>(codes, k, texts));
}

fn add_read_of<K: Kmer>(codes: &[Base], k: usize, texts: &mut [Vec<u8>]) {
    let letters: Vec<u8> = codes.iter().map(|&base| LETTERS[usize::from(base)]).collect();
    for (start, kmer) in kmers::<K>(codes, k).enumerate() {
        // Both strands of a vertex go to one part.
        let part = (kmer.canonical(k).mixed() >> 20) as usize % texts.len();
        let text = &mut texts[part];
        text.extend_from_slice(&letters[start..start + k]);
        text.push(b'\t');
        text.extend_from_slice(letters.get(start + 1..=start + k).unwrap_or_default());
        text.push(b'\n');
    }
}

/// Adds the number of bases of the reads to the text of the first part.
fn finish(bases: usize, texts: &mut [Vec<u8>]) {
    if let (Some(first), 1..) = (texts.first_mut(), bases) {
        first.extend([BASES, b"\t", bases.to_string().as_bytes(), b"\n"].concat());
    }
}

/// Makes adjacency lists from lines of a k-mer and its followers, and adds them to the `lists` of
/// their buckets; returns the counts of the reads. An input line has a value for each occurrence of
/// the k-mer, which is empty at the end of a read.
///
/// # Errors
/// `Defect` for lines that no task sends.
fn add_lines(text: &[u8], k: usize, lists: &mut [Vec<u8>]) -> Result<ReadCounts> {
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
        let kmer = K::of(&parsed(key, k)?, k);
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
fn each_list(
    text: &[u8],
    k: usize,
    take: &mut dyn FnMut(&KmerList<'_>) -> Result<()>,
) -> Result<()> {
    for line in lines(text) {
        let mut words = line.split(|&byte| byte == b'\t');
        let codes = parsed(words.next().unwrap_or_default(), k)?;
        let count = number(words.next().unwrap_or_default())? as u32;
        let mut followers = 0;
        for next in words {
            followers |= last_base(next)?.map_or(0, |base| 1 << base);
        }
        take(&KmerList { codes: &codes, count, followers })?;
    }
    Ok(())
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

fn parsed(word: &[u8], k: usize) -> Result<Vec<Base>> {
    let codes: Vec<Base> = word.iter().map(|&letter| scan::code(letter)).collect();
    let is_kmer = codes.len() == k && codes.iter().all(|&code| code < 4);
    if is_kmer { Ok(codes) } else { Err(internal("a line of no k-mer")) }
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
            each_list(&lists[0], 5, &mut |list| {
                if list.codes == [0, 1, 2, 3, 0] {
                    sums = (sums.0 + list.count, sums.1 | list.followers);
                } else {
                    last = Some((list.codes.to_vec(), list.count, list.followers));
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(sums, (4, 1 << 1 | 1 << 2));
            assert_eq!(last, Some((vec![3; 5], 1, 0)));
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
        assert!(each_list(b"ACGTA\n", 5, &mut |_| Ok(())).is_err());
    }
}
