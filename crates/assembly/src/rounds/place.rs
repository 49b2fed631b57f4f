//! Placement of reads and pairs by tasks, each of which has all paths and a part of the reads.
//!
//! A file that can be read from any position is divided by pairs: a round counts the records of its
//! shares, so that a task knows where its first pair is in either file. Other files, such as those
//! written by gzip, are one task for each source.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::worker::WorkerParts;
use crate::kernel::anchors::Anchors;
use crate::kernel::codec::{ByteReader, put_codes};
use crate::kernel::kmer::with_kmer;
use crate::kernel::libraries::Orientation;
use crate::kernel::placements::Placements;
use crate::kernel::sequences::{PathSummary, Paths};
use crate::kernel::simplify::PathGraph;
use crate::pairs::place::{Placer, each_read};
use cuesta_input::reads::shares::{self, Share};
use cuesta_input::reads::{NameSums, Pairing, ReadBatch, Reads};

/// Source of reads without pairs.
const NO_SOURCE: usize = usize::MAX;

/// Places reads and pairs on paths of at least `k` bases.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlaceReads {
    k: usize,
    /// Orientation of pairs, by source.
    orientations: Vec<Orientation>,
    /// Bases of all paths.
    paths: Vec<u8>,
}

/// The reads of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum PlaceShare {
    /// Reads without pairs that begin in a share of a file.
    Single(Share),
    /// All pairs of a source.
    Source(usize, Vec<PathBuf>, Pairing),
    /// A range of the pairs of a source.
    Pairs(PairShare),
}

/// A range of the pairs of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PairShare {
    source: usize,
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

impl PlaceReads {
    /// Creates the operation for the paths of a graph.
    pub(super) fn new(orientations: Vec<Orientation>, graph: &PathGraph<'_>) -> Self {
        let mut paths = Vec::new();
        for path in 0..graph.paths.len() {
            put_codes(graph.paths.codes(path), &mut paths);
        }
        Self { k: graph.k, orientations, paths }
    }

    /// Returns the paths.
    fn unpacked<'b>(&self, budget: &'b Budget) -> Result<Paths<'b>> {
        let mut paths = Paths::new(budget, "the contigs");
        let mut reader = ByteReader(&self.paths);
        let mut codes = Vec::new();
        while !reader.is_empty() {
            codes.clear();
            reader.codes(&mut codes)?;
            paths.push(PathSummary::default(), |all| all.extend_from_slice(&codes))?;
        }
        Ok(paths)
    }
}

impl Operation for PlaceReads {
    const NAME: &'static str = "place";
    type State = WorkerParts;
    type Input = PlaceShare;
    type Output = Placements;

    fn task(self, share: PlaceShare, context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        let (budget, progress) = (&context.request.budget, context.progress);
        let (paths, k) = (self.unpacked(budget)?, self.k);
        let graph = with_kmer!(k, K => PathGraph::new::<K>(paths, k, budget))?;
        let anchors = Anchors::new(&graph.paths, budget)?;
        let placer = Placer::new(&graph, &anchors);
        let mut placements = Placements::of_sources(&self.orientations);
        let advance = |bytes| progress.advance(bytes);
        match share {
            PlaceShare::Single(share) => {
                let reads = shares::open(&share)?;
                each_read(&reads, (placer, Some(NO_SOURCE)), &mut placements, advance)?;
            }
            PlaceShare::Source(source, paths, pairing) => {
                let reads = Reads::open_source(&paths, pairing)?;
                each_read(&reads, (placer, Some(source)), &mut placements, advance)?;
            }
            PlaceShare::Pairs(share) => each_pair(&share, placer, &mut placements, progress)?,
        }
        Ok(TaskResult::Output(placements))
    }

    fn combine(mut left: Placements, right: Placements) -> Result<Placements> {
        left.merge(right);
        Ok(left)
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

    /// Returns tasks for the pairs of a source, about as many as its first file has shares; `None`
    /// where its files do not have the same number of reads, or a read has no partner.
    pub(super) fn divided(&self, source: usize, pairing: Pairing) -> Option<Vec<PlaceShare>> {
        if self.shares.iter().any(|shares| shares.len() < 2) {
            return Some(vec![PlaceShare::Source(source, self.paths.clone(), pairing)]);
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
        for (_, count) in &self.shares[0] {
            let first = records.div_ceil(each);
            records += count;
            let pairs = records.div_ceil(each).min(all[0] / each).saturating_sub(first);
            if pairs > 0 {
                let files = self.shares.iter().map(|shares| from_record(shares, first * each));
                let files = files.collect::<Option<_>>()?;
                tasks.push(PlaceShare::Pairs(PairShare { source, files, pairs }));
            }
        }
        Some(tasks)
    }
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

/// Places a range of pairs.
fn each_pair(
    share: &PairShare,
    mut placer: Placer<'_, '_, '_>,
    placements: &mut Placements,
    progress: &Progress,
) -> Result<()> {
    let open = |(share, skipped): &(Share, u64)| Records::open(share, *skipped);
    let mut files: Vec<Records> = share.files.iter().map(open).collect::<Result<_>>()?;
    let last = files.len() - 1;
    'pairs: for _ in 0..share.pairs {
        for side in 0..2 {
            let Some(read) = files[side.min(last)].next(progress)? else { break 'pairs };
            placer.add(read, share.source, placements);
        }
    }
    placer.settle(share.source, placements);
    Ok(())
}

/// Reader of the records of a file.
struct Records {
    reads: Reads,
    batch: ReadBatch,
    next: usize,
}

impl Records {
    /// Opens a share and skips its first records.
    fn open(share: &Share, mut skipped: u64) -> Result<Self> {
        let mut records =
            Self { reads: shares::open(share)?, batch: ReadBatch::default(), next: 0 };
        while skipped > 0 && records.fill()? {
            let count = skipped.min((records.batch.len() - records.next) as u64);
            records.next += count as usize;
            skipped -= count;
        }
        Ok(records)
    }

    /// Returns whether there is another record.
    fn fill(&mut self) -> Result<bool> {
        while self.next == self.batch.len() {
            self.next = 0;
            if !self.reads.next(&mut self.batch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next(&mut self, progress: &Progress) -> Result<Option<&[u8]>> {
        let before = self.next == self.batch.len();
        if !self.fill()? {
            return Ok(None);
        }
        if before {
            progress.advance(self.batch.text_bytes())?;
        }
        self.next += 1;
        Ok(Some(self.batch.read(self.next - 1)))
    }
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

    fn divided(counts: &[&[u64]], pairing: Pairing) -> Option<Vec<Divided>> {
        let shares: Vec<_> = counts.iter().map(|counts| shares_of(counts)).collect();
        let source = SourceShares { paths: Vec::new(), shares, names: Vec::new() };
        let tasks = source.divided(0, pairing)?.into_iter().map(|share| match share {
            PlaceShare::Pairs(PairShare { files, pairs, .. }) => {
                (files.iter().map(|(share, skipped)| (share.start, *skipped)).collect(), pairs)
            }
            _ => (Vec::new(), 0),
        });
        Some(tasks.collect())
    }

    #[test]
    fn each_pair_is_in_a_single_task() {
        let in_turn = divided(&[&[3, 0, 4, 1]], Pairing::INTERLEAVED).unwrap();
        assert_eq!(in_turn, [(vec![(0, 0)], 2), (vec![(20, 1)], 2)]);
        let in_two = divided(&[&[5, 5], &[2, 7, 1]], Pairing::IN_TWO_FILES).unwrap();
        assert_eq!(in_two, [(vec![(0, 0), (0, 0)], 5), (vec![(10, 0), (10, 3)], 5)]);
        // A file without positions to begin at is a single share.
        let gzipped = divided(&[&[9], &[5, 4]], Pairing::IN_TWO_FILES).unwrap();
        assert_eq!(gzipped, [(Vec::new(), 0)]);
        assert_eq!(divided(&[&[3, 2]], Pairing::INTERLEAVED), None);
        assert_eq!(divided(&[&[3, 2], &[3, 3]], Pairing::IN_TWO_FILES), None);
    }
}
