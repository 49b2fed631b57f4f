//! Verifier of the p- and q-values of an answer of `correlate`.
//!
//! The pass that computes all pairs anew counts them by samples and score. P-values are those of
//! [`TailIntegral`]; the q-value of a pair is the smallest p m / k of p-values from its own on, k
//! being the number of pairs up to each. A score whose rounding depends on the order of a sum may
//! count on either side, so that a q-value has bounds, which are nearly always equal.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::digest::{Digest, Record, Tag};
use cuesta_core::fingerprint::Key;
use cuesta_core::fixed::Micro;
use cuesta_core::job::{Context, Verdict};
use cuesta_core::{Error, Result};
use cuesta_input::matrix::GeneMatrix;
use cuesta_input::pair_matrix::rank_of;
use cuesta_runtime::parallel::{self, lock};

use super::judge;
use super::numerals::{error_of, is_printed_as, p_value};
use super::scan::RowSummary;
use super::table::{TableFile, Wrong, integer};
use super::tails::TailIntegral;
use super::text::line::{Notation, WrittenRow, canonical_score};
use super::wanted::Wanted;
use crate::kernel::correlate::Match;
use crate::run::correlate::{Mask, row_of};

const HEADER: &str = "gene1\tgene2\tname1\tname2\tscore\tsamples\tp\tq";
/// Tag of a row in the digest.
const TAG: Tag = Tag::Named(*b"edges.ts");
/// Distance of a score from half a millionth up to which it may be rounded either way.
const ROUNDING: f64 = 1e-5;
/// Relative distance of p-values whose order may be either.
const NEAR: f64 = 1e-8;
/// Scores of a page.
const PAGE: u32 = 256;
/// Bytes of memory of a page.
const PAGE_BYTES: u64 = 8 * PAGE as u64 + 128;
/// Bytes of memory for each score that pairs have, by samples.
const SCORE_BYTES: u64 = 96;
/// Purpose of this memory, for messages.
const PURPOSE: &str = "the verification of q-values";
/// Scores whose p-values a task computes.
const TASK_SCORES: usize = 1 << 12;

/// Numbers of pairs by samples and |score|.
pub struct TestedCounts<'a> {
    budget: &'a Budget,
    pages: Mutex<HashMap<(u32, u32), TallyPage<'a>>>,
}

/// Numbers of pairs of consecutive scores.
struct TallyPage<'a> {
    /// By score, with all doubtful pairs at the smaller score, and at the larger one.
    counts: Box<[[u32; 2]; PAGE as usize]>,
    _lease: Lease<'a>,
}

impl<'a> TestedCounts<'a> {
    /// Creates counts of 0.
    pub fn new(budget: &'a Budget) -> Self {
        Self { budget, pages: Mutex::default() }
    }

    /// Counts pairs: common samples, score in millionths, and the score of the answer, if it has
    /// the pair.
    ///
    /// # Errors
    /// `Input` when the memory does not suffice.
    pub fn add(&self, pairs: impl Iterator<Item = (u32, f64, Option<Micro>)>) -> Result<()> {
        let pages = &mut *lock(&self.pages);
        for (samples, exact, answer) in pairs {
            let size = exact.abs();
            let rounded = match answer {
                Some(score) => [score.unsigned_abs(); 2],
                None if (size.fract() - 0.5).abs() <= ROUNDING => {
                    [size.floor() as u32, size.ceil() as u32]
                }
                None => [size.round() as u32; 2],
            };
            for (side, size) in rounded.into_iter().enumerate() {
                let page = match pages.entry((samples, size / PAGE)) {
                    Entry::Occupied(page) => page.into_mut(),
                    Entry::Vacant(place) => place.insert(TallyPage {
                        _lease: self.budget.take(PAGE_BYTES, PURPOSE)?,
                        counts: Box::new([[0; 2]; PAGE as usize]),
                    }),
                };
                page.counts[(size % PAGE) as usize][side] += 1;
            }
        }
        Ok(())
    }

    /// Returns all scores that pairs have, without p- and q-values, and the lease of their memory.
    fn into_scores(self) -> Result<(Vec<TestedScore>, Lease<'a>)> {
        let pages = self.pages.into_inner().unwrap_or_else(PoisonError::into_inner);
        let filled = pages.values().flat_map(|page| page.counts.iter());
        let count = filled.filter(|counts| **counts != [0; 2]).count();
        let lease = self.budget.take(SCORE_BYTES * count as u64, PURPOSE)?;
        let mut scores = Vec::with_capacity(count);
        for ((samples, page), TallyPage { counts, .. }) in pages {
            for (size, counts) in (page * PAGE..).zip(*counts) {
                if counts != [0; 2] {
                    let counts = counts.map(u64::from);
                    scores.push(TestedScore { samples, size, counts, p: 1.0, q: [1.0; 2] });
                }
            }
        }
        Ok((scores, lease))
    }
}

/// Pairs of equal samples and |score|.
#[derive(Clone, Copy, Debug)]
struct TestedScore {
    samples: u32,
    /// |score| in millionths.
    size: u32,
    /// Numbers of pairs: with all doubtful ones at the smaller score, and at the larger one.
    counts: [u64; 2],
    p: f64,
    /// Bounds of the q-value.
    q: [f64; 2],
}

impl TestedScore {
    fn key(&self) -> (u32, u32) {
        (self.samples, self.size)
    }
}

/// Returns the p-values of scores of equal samples, by falling size.
fn p_values(tails: &TailIntegral, samples: u32, sizes: impl Iterator<Item = u32>) -> Vec<f64> {
    let mut sizes = sizes.peekable();
    if samples < 3 {
        return sizes.map(|_| 1.0).collect();
    }
    let certain = std::iter::from_fn(|| sizes.next_if(|&size| size >= 1_000_000)).count();
    let mut p_values = vec![0.0; certain];
    p_values.extend(tails.of_descending(sizes.map(|size| f64::from(size) / 1e6), samples));
    p_values
}

/// Table of an answer whose pairs are right.
pub struct TestedTable<'a> {
    /// Context of the verification.
    pub context: &'a Context<'a>,
    /// Path of the table.
    pub path: &'a Path,
    /// Matrix of the answer.
    pub matrix: &'a GeneMatrix,
    /// Missing values of the matrix.
    pub masks: &'a Mask,
    /// Key of the fingerprints of the pairs.
    pub key: &'a Key,
    /// Sample of the pairs of which the answer has a fingerprint.
    pub sampled: Wanted,
    /// Pairs of the answer.
    pub expected: &'a RowSummary,
}

/// Printed p- and q-value, by samples and |score|.
type PrintedValues = HashMap<(u32, u32), (f64, f64)>;

/// Printed p- and q-value of the pairs of equal samples and |score|.
#[derive(Clone, Copy)]
struct PrintedScore {
    samples: u32,
    /// |score| in millionths.
    size: u32,
    p: f64,
    q: f64,
}

/// Facts of a thread on its rows.
struct RowWorker {
    summary: RowSummary,
    digest: Digest,
    mask: Vec<u8>,
}

impl TestedTable<'_> {
    /// Adds the verdict on the table: without counts of all pairs, q-values are only compared with
    /// each other.
    ///
    /// # Errors
    /// `Input` if memory is short; `System`; `Cancelled`.
    pub fn judge(&self, tally: Option<TestedCounts<'_>>, verdict: &mut Verdict) -> Result<()> {
        match judge(self.path, self.verify(tally))? {
            Ok((digest, tested)) => {
                let mut all = self.expected.digest();
                all.merge(&digest);
                verdict.digest = all.to_string();
                verdict.expected.clone_from(&verdict.digest);
                verdict.counts.extend(tested.map(|tested| ("pairs_tested", tested)));
            }
            Err(wrong) => verdict.require(false, &wrong),
        }
        Ok(())
    }

    /// Returns the digest of the rows, and the number of tested pairs where these are counted.
    fn verify(&self, tally: Option<TestedCounts<'_>>) -> Result<(Digest, Option<u64>)> {
        let (digest, printed) = self.rows()?;
        let score = |((samples, size), (p, q))| PrintedScore { samples, size, p, q };
        let mut printed: Vec<PrintedScore> = printed.into_iter().map(score).collect();
        printed.sort_unstable_by_key(|score| (score.samples, score.size));
        let Some(tally) = tally else {
            return self.check_alone(&printed).map(|()| (digest, None));
        };
        let (mut scores, _lease) = tally.into_scores()?;
        self.compute_p(&mut scores)?;
        let tested = bound_q(&mut scores);
        scores.sort_unstable_by_key(TestedScore::key);
        for PrintedScore { samples, size, p, q } in printed {
            let place = scores.binary_search_by_key(&(samples, size), TestedScore::key);
            let score = place.map(|place| scores[place]).ok();
            let Some(score) = score else {
                return Err(self.wrong(samples, size, "is that of no pair"));
            };
            let r = f64::from(size) / 1e6;
            if !is_printed_as(score.p, p, error_of(score.p, r, samples)) {
                return Err(self.wrong(samples, size, "has another p-value"));
            }
            let [low, high] = score.q;
            let is_end = |end: f64| is_printed_as(end, q, error_of(end, r, samples));
            if !is_end(low) && !is_end(high) && !(low..=high).contains(&q) {
                return Err(self.wrong(samples, size, "has another q-value"));
            }
        }
        Ok((digest, Some(tested)))
    }

    /// Reads the rows, which must be those of the answer, in ascending order of their genes; equal
    /// scores over as many samples must have equal values.
    fn rows(&self) -> Result<(Digest, PrintedValues)> {
        let (threads, progress) = (self.context.request.threads, self.context.progress);
        let table = TableFile { path: self.path, header: HEADER, threads, progress };
        let printed = Mutex::new(PrintedValues::new());
        let make = || RowWorker {
            summary: RowSummary::default(),
            digest: Digest::default(),
            mask: vec![b'1'; self.matrix.samples().len()],
        };
        let (workers, parts) = table.each(make, |worker, ranks: &mut Option<[u64; 2]>, line| {
            let (pair, samples, values) = self.row(line)?;
            let rank = rank_of(pair.gene1, pair.gene2);
            match ranks {
                Some([_, last]) if *last >= rank => return Err("is out of order".to_owned()),
                Some([_, last]) => *last = rank,
                None => *ranks = Some([rank; 2]),
            }
            let missing = self.masks.fill(&pair, &mut worker.mask);
            let row = row_of(&pair, missing, &worker.mask);
            if row.cluster_samples != samples {
                return Err("has another number of samples".to_owned());
            }
            if *lock(&printed).entry((samples, pair.micro.unsigned_abs())).or_insert(values)
                != values
            {
                return Err("has other values than an equal score over as many samples".to_owned());
            }
            let is_sampled = self.sampled.sampled_gene(pair.gene1);
            let written = WrittenRow { row, notation: Notation::Canonical };
            match is_sampled {
                true => worker.summary.add(self.key, &written),
                false => worker.summary.pass(&written.row),
            }
            let mut record = Record::new(TAG);
            record.push(line.len() as u64);
            record.push_bytes(line);
            worker.digest.add_record(&record);
            Ok(())
        })?;
        let ranks: Vec<[u64; 2]> = parts.into_iter().flatten().collect();
        let is_ascending = ranks.windows(2).all(|two| two[0][1] < two[1][0]);
        let (mut summary, mut digest) = (RowSummary::default(), Digest::default());
        for worker in workers {
            summary = summary.merge(worker.summary);
            digest.merge(&worker.digest);
        }
        let is_equal = summary.rows == self.expected.rows && summary.count == self.expected.count;
        if !is_ascending || !is_equal {
            let text = format!("{} has not the pairs of the answer, in order", self.path.display());
            return Err(Error::input("verify", text));
        }
        let printed = printed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((digest, printed))
    }

    /// Reads a row: its pair, common samples, p- and q-value.
    fn row(&self, line: &[u8]) -> std::result::Result<(Match, u32, (f64, f64)), Wrong> {
        let mut fields = [&b""[..]; 8];
        let mut parts = line.split(|&byte| byte == b'\t');
        for field in &mut fields {
            *field = parts.next().ok_or("has fewer than 8 fields")?;
        }
        if parts.next().is_some() {
            return Err("has more than 8 fields".to_owned());
        }
        let genes = [integer(fields[0])?, integer(fields[1])?];
        let count = self.matrix.genes().len() as u64;
        if genes[1] == 0 || genes[1] >= genes[0] || genes[0] > count {
            return Err(format!("has gene pair {} {}", genes[0], genes[1]));
        }
        for (gene, name) in genes.iter().zip(&fields[2..4]) {
            if self.matrix.genes()[*gene as usize - 1].as_bytes() != *name {
                return Err(format!("has another name of gene {gene}"));
            }
        }
        let micro = canonical_score(fields[4]).filter(|score| score.unsigned_abs() <= 1_000_000);
        let micro = micro.ok_or_else(|| format!("has the score {}", fields[4].escape_ascii()))?;
        let samples = u32::try_from(integer(fields[5])?).map_err(|_| "has too many samples")?;
        let pair = Match { gene1: genes[0] as u32, gene2: genes[1] as u32, micro };
        Ok((pair, samples, (p_value(fields[6])?, p_value(fields[7])?)))
    }

    /// Computes the p-values of scores, which it sorts.
    ///
    /// # Errors
    /// `Cancelled`.
    fn compute_p(&self, scores: &mut [TestedScore]) -> Result<()> {
        let tails = TailIntegral::new();
        scores.sort_unstable_by_key(|score| (score.samples, Reverse(score.size)));
        let equal = scores.chunk_by_mut(|a, b| a.samples == b.samples);
        let parts = equal.flat_map(|scores| scores.chunks_mut(TASK_SCORES)).map(Mutex::new);
        let parts: Vec<_> = parts.collect();
        let work = |_: &mut (), part: usize| {
            let scores = &mut *lock(&parts[part]);
            let samples = scores.first().map_or(0, |score| score.samples);
            let p_values = p_values(&tails, samples, scores.iter().map(|score| score.size));
            scores.iter_mut().zip(p_values).for_each(|(score, p)| score.p = p);
            self.context.progress.advance(0)
        };
        parallel::run(self.context.request.threads, parts.len(), || (), work, |_| {})?;
        Ok(())
    }

    /// Checks values by samples and score without counts of all pairs: p-values are those of the
    /// scores, and q-values neither below them nor falling where they rise.
    fn check_alone(&self, printed: &[PrintedScore]) -> Result<()> {
        let tails = TailIntegral::new();
        for &PrintedScore { samples, size, p, q } in printed {
            let exact = p_values(&tails, samples, std::iter::once(size))[0];
            if !is_printed_as(exact, p, error_of(exact, f64::from(size) / 1e6, samples)) {
                return Err(self.wrong(samples, size, "has another p-value"));
            }
            if q < p {
                return Err(self.wrong(samples, size, "has a q-value below its p-value"));
            }
        }
        let mut ordered = printed.to_vec();
        ordered.sort_by(|a, b| a.p.total_cmp(&b.p).then(a.q.total_cmp(&b.q)));
        match ordered.windows(2).find(|two| two[1].q < two[0].q) {
            Some(two) => Err(self.wrong(two[1].samples, two[1].size, "has too small a q-value")),
            None => Ok(()),
        }
    }

    fn wrong(&self, samples: u32, size: u32, fault: &str) -> Error {
        let score = f64::from(size) / 1e6;
        let place = format!("|score| {score:.6} over {samples} samples");
        Error::input("verify", format!("{place} of {} {fault}", self.path.display()))
    }
}

/// Computes the bounds of all q-values, by the definition; returns the number of pairs.
fn bound_q(scores: &mut [TestedScore]) -> u64 {
    scores.sort_unstable_by(|a, b| a.p.total_cmp(&b.p));
    let total: u64 = scores.iter().map(|score| score.counts[0]).sum();
    // Numbers of pairs up to each p-value, at least and at most.
    let mut sums = [0, 0];
    let ranks: Vec<[u64; 2]> = scores
        .iter()
        .map(|score| {
            sums = [0, 1].map(|side| sums[side] + score.counts[side]);
            [sums[0].min(sums[1]), sums[0].max(sums[1])]
        })
        .collect();
    let mut least = [1.0_f64; 2];
    for place in (0..scores.len()).rev() {
        let p = scores[place].p;
        let before = scores[..place].partition_point(|score| score.p < p * (1.0 - NEAR));
        let after = scores.partition_point(|score| score.p <= p * (1.0 + NEAR));
        let equal = scores[place].counts[0].min(scores[place].counts[1]);
        let fewest = before.checked_sub(1).map_or(0, |last| ranks[last][0]) + equal;
        let most = ranks[after - 1][1];
        let of_rank = |rank: u64| p * total as f64 / rank.max(1) as f64;
        least = [least[0].min(of_rank(most)), least[1].min(of_rank(fewest))];
        scores[place].q = least;
    }
    total
}
