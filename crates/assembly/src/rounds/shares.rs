//! Division of reads among tasks. Where the reads of pairs must come together, a file that can be
//! read from any position is divided by pairs: a round counts the records of its shares, so that a
//! task knows where its first pair is in either file. Other files, such as those written by gzip,
//! are one task for each source.

use std::path::PathBuf;

use cuesta_core::Result;
use serde::{Deserialize, Serialize};

use cuesta_input::reads::shares::{self, Share};
use cuesta_input::reads::{NameSums, Pairing, ReadBatch, Reads};

/// The reads of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ReadShare {
    /// Reads without pairs that begin in a share of a file, after so many others of the file, which
    /// are counted where reads are sampled.
    Single(Share, u64),
    /// All pairs of a source.
    Source(usize, Vec<PathBuf>),
    /// A range of the pairs of a source.
    Pairs(PairShare),
}

/// A range of the pairs of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PairShare {
    source: usize,
    /// Number of pairs before.
    first: u64,
    /// For each file a share that contains the first record, and the number of records before it
    /// there.
    files: Vec<(Share, u64)>,
    /// Number of pairs.
    pairs: u64,
}

/// A source of pairs: one file or two.
pub(super) struct SourceShares {
    /// Its files.
    pub paths: Vec<PathBuf>,
    /// Shares of each file, with their numbers of records.
    pub shares: Vec<Vec<(Share, u64)>>,
    /// Names of the reads of each file.
    pub names: Vec<NameSums>,
}

impl ReadShare {
    /// Opens the reads.
    ///
    /// # Errors
    /// As [`Reads::open`].
    pub(super) fn open(&self, pairing: Pairing) -> Result<Reads> {
        match self {
            Self::Single(share, first) => shares::open(share, from_group(pairing, *first)),
            Self::Source(_, paths) => Reads::open_source(paths, pairing),
            Self::Pairs(share) => {
                let pairing = from_group(pairing, share.first);
                shares::open_pairs(&share.files, share.pairs, pairing)
            }
        }
    }

    /// Opens all reads of its files, whose records have their numbers then.
    ///
    /// # Errors
    /// As [`Reads::open`].
    pub(super) fn open_files(&self, pairing: Pairing) -> Result<Reads> {
        match self {
            Self::Single(share, _) => {
                Reads::open(std::slice::from_ref(&share.path), pairing.of_singles())
            }
            Self::Source(_, paths) => Reads::open_source(paths, pairing),
            Self::Pairs(PairShare { files, .. }) => {
                let paths: Vec<PathBuf> =
                    files.iter().map(|(share, _)| share.path.clone()).collect();
                Reads::open_source(&paths, pairing)
            }
        }
    }

    /// Returns the source of the pairs; `None` for reads without pairs.
    pub(super) fn source(&self) -> Option<usize> {
        match self {
            Self::Single(..) => None,
            Self::Source(source, _) | Self::Pairs(PairShare { source, .. }) => Some(*source),
        }
    }
}

impl SourceShares {
    /// Checks by the names of the reads that they are pairs.
    ///
    /// # Errors
    /// `Input` naming the first that is not; `System`.
    pub(super) fn require_pairs(&self, pairing: Pairing) -> Result<()> {
        let are_pairs = match &self.names[..] {
            [first, second] => first.are_pairs(second),
            [interleaved] => interleaved.are_interleaved_pairs(),
            _ => true,
        };
        if pairing.is_unchecked || are_pairs {
            return Ok(());
        }
        // Reading them together reports the first wrong pair, or that names show nothing.
        let reads = Reads::open_source(&self.paths, pairing)?;
        let mut batch = ReadBatch::default();
        while reads.next(&mut batch)? {}
        Ok(())
    }

    /// Returns tasks for the pairs of a source, each of about `count` shares of its first file;
    /// `None` where its files do not have the same number of reads, or a read has no partner.
    pub(super) fn divided(
        &self,
        (source, count): (usize, usize),
        pairing: Pairing,
    ) -> Option<Vec<ReadShare>> {
        if self.shares.iter().any(|shares| shares.len() < 2) {
            return Some(vec![self.undivided(source)]);
        }
        // Records of a file per pair.
        let each = pairing.reads_per_file() as u64;
        let all =
            self.shares.iter().map(|shares| shares.iter().map(|(_, count)| count).sum::<u64>());
        let all: Vec<u64> = all.collect();
        if !all[0].is_multiple_of(each) || all.iter().any(|&records| records != all[0]) {
            return None;
        }
        let mut tasks = Vec::new();
        let mut records = 0_u64;
        for together in self.shares[0].chunks(count.max(1)) {
            let first = records.div_ceil(each);
            records += together.iter().map(|(_, count)| count).sum::<u64>();
            let pairs = records.div_ceil(each).min(all[0] / each).saturating_sub(first);
            if pairs > 0 {
                let files = self.shares.iter().map(|shares| from_record(shares, first * each));
                let files = files.collect::<Option<_>>()?;
                tasks.push(ReadShare::Pairs(PairShare { source, first, files, pairs }));
            }
        }
        Some(tasks)
    }

    /// Returns a task for all pairs of a source.
    pub(super) fn undivided(&self, source: usize) -> ReadShare {
        ReadShare::Source(source, self.paths.clone())
    }
}

/// Returns a pairing whose reads are sampled from this group of their source on.
fn from_group(pairing: Pairing, first: u64) -> Pairing {
    Pairing { sampling: pairing.sampling.from_group(first), ..pairing }
}

/// Returns a share from the one with a record to the end of the file, and the records before it
/// there.
fn from_record(shares: &[(Share, u64)], record: u64) -> Option<(Share, u64)> {
    let mut before = 0;
    let file_end = shares.last()?.0.end;
    for (share, count) in shares {
        if record < before + count {
            return Some((Share { end: file_end, ..share.clone() }, record - before));
        }
        before += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns shares of a file with these numbers of records.
    fn shares_of(counts: &[u64]) -> Vec<(Share, u64)> {
        let share = |start| Share { path: PathBuf::from("r.fq"), start, end: start + 10 };
        (0..).map(|index| share(10 * index)).zip(counts.iter().copied()).collect()
    }

    /// For each file the start of its share and the skipped records; and the number of pairs.
    type Divided = (Vec<(u64, u64)>, u64);

    fn divided((counts, count): (&[&[u64]], usize), pairing: Pairing) -> Option<Vec<Divided>> {
        let shares: Vec<_> = counts.iter().map(|counts| shares_of(counts)).collect();
        let source = SourceShares { paths: Vec::new(), shares, names: Vec::new() };
        let tasks = source.divided((0, count), pairing)?.into_iter().map(|share| match share {
            ReadShare::Pairs(PairShare { files, pairs, .. }) => {
                (files.iter().map(|(share, skipped)| (share.start, *skipped)).collect(), pairs)
            }
            _ => (Vec::new(), 0),
        });
        Some(tasks.collect())
    }

    #[test]
    fn each_pair_is_in_a_single_task() {
        let in_turn = divided((&[&[3, 0, 4, 1]], 1), Pairing::INTERLEAVED).unwrap();
        assert_eq!(in_turn, [(vec![(0, 0)], 2), (vec![(20, 1)], 2)]);
        let in_two = divided((&[&[5, 5], &[2, 7, 1]], 1), Pairing::IN_TWO_FILES).unwrap();
        assert_eq!(in_two, [(vec![(0, 0), (0, 0)], 5), (vec![(10, 0), (10, 3)], 5)]);
        let together = divided((&[&[5, 5], &[2, 7, 1]], 2), Pairing::IN_TWO_FILES).unwrap();
        assert_eq!(together, [(vec![(0, 0), (0, 0)], 10)]);
        // A file without positions to begin at is a single share.
        let gzipped = divided((&[&[9], &[5, 4]], 1), Pairing::IN_TWO_FILES).unwrap();
        assert_eq!(gzipped, [(Vec::new(), 0)]);
        assert_eq!(divided((&[&[3, 2]], 1), Pairing::INTERLEAVED), None);
        assert_eq!(divided((&[&[3, 2], &[3, 3]], 1), Pairing::IN_TWO_FILES), None);
    }
}
