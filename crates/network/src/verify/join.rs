//! Verifier of `join`.

use std::path::Path;

use cuesta_core::digest::{Digest, Tag};
use cuesta_core::fingerprint::{Fingerprint, Key};
use cuesta_core::fixed::{Micro, NAN, append_millionths};
use cuesta_core::job::{Context, Verdict};
use cuesta_core::{Error, Result};
use cuesta_input::limits::{CLUSTERS_MAX, GENES_MAX};
use cuesta_input::pair_matrix::Need;

use super::differential::Differences;
use super::matching::{Matching, genes_of};
use super::names::Named;
use super::rows::{RowScan, announce};
use super::store::StoreWriter;
use super::table::{TableFile, Wrong, integer};
use super::text::line::canonical_score;
use super::wanted::Wanted;
use super::{judge, refused};
use crate::params::{JoinKind, JoinParams};
use crate::run::differential::{DIFFERENCES_FILE, PAIR_BYTES, PURPOSE};
use crate::run::join::PAIRS_FILE;

const METHOD: &str = "every byte of both versions read by a reader of its own; where all rows are \
                      given, they have the keyed fingerprints of the answer, else each was looked \
                      up";
const TEST_METHOD: &str = "every byte of both versions read by a reader of its own, each row \
                           matched; z, p- and q-values by other formulas, and by integrals";
/// Headers of the answer, without and with names.
pub(super) const HEADERS: [&str; 2] = [
    "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference",
    "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\tname1\tname2",
];

/// Row of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JoinRow {
    /// Genes and cluster.
    pub(super) key: u64,
    /// Score in each version, if it has the row.
    pub(super) scores: [Option<Micro>; 2],
}

/// Results of a thread for the answer.
struct AnswerWorker {
    fingerprints: [Fingerprint; 2],
    digest: Digest,
    rows: u64,
    /// Rows in both versions.
    both: u64,
    claims: StoreWriter<16>,
    text: Vec<u8>,
    /// Error of storing claims, if any.
    stored: Result<()>,
}

/// Context of a verification.
struct Proof<'a> {
    context: &'a Context<'a>,
    key: Key,
    matching: Matching<'a>,
    /// Whether the answer has all rows of a version, so that fingerprints prove it.
    all: [bool; 2],
    how: JoinKind,
    wanted: Wanted,
    named: &'a Named<'a>,
}

/// Verifies `join`: the table of pairs, and that of tested differences if there is a test.
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
pub fn join(context: &Context<'_>) -> Result<Verdict> {
    let params: JoinParams = context.parameters()?;
    let named = Named::of(context)?;
    let (mut verdict, JoinFacts { mut digest, both }) = pairs(context, &params, &named)?;
    if !params.test || !verdict.verified {
        return Ok(verdict);
    }
    let _lease = context.budget.take(both * PAIR_BYTES, PURPOSE)?;
    let files = [PAIRS_FILE, DIFFERENCES_FILE];
    let [pairs, path] = files.map(|file| context.request.output.join(file));
    let sample = Wanted::default().at(context.request.verify, &Key::random());
    let (named, params, pairs, path) = (&named, &params, &pairs, &path);
    let differences = Differences { context, params, sample, named, path, pairs, both };
    match judge(path, differences.verify())? {
        Ok(table) => {
            digest.merge(&table.digest);
            verdict.digest = digest.to_string();
            verdict.expected.clone_from(&verdict.digest);
            verdict.method = TEST_METHOD;
            verdict.counts.insert("pairs_tested", table.tested);
            verdict.counts.insert("pairs_different", table.different);
            Ok(verdict.covers(&files[1..]))
        }
        Err(wrong) => Ok(refused(&wrong, TEST_METHOD, &files)),
    }
}

/// Digest of the table of pairs, and its number of rows in both versions.
#[derive(Default)]
struct JoinFacts {
    digest: Digest,
    both: u64,
}

/// Verifies the table of pairs. Its rows are in strictly ascending order, so none is repeated. A
/// version all of whose rows the answer has (both of an outer join, the first of a left join) has
/// the keyed fingerprint of its rows in the answer; a wrong answer of n rows has it with a
/// probability of at most n / 2^60. The remaining versions are proved by looking up each row in
/// tables of claims, which leaves nothing to chance ([`super::matching`]).
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
fn pairs<'a>(
    context: &'a Context<'a>,
    params: &JoinParams,
    named: &'a Named<'a>,
) -> Result<(Verdict, JoinFacts)> {
    let request = context.request;
    if request.inputs.len() != 2 {
        return Err(Error::input("join", "takes two inputs"));
    }
    let path = request.output.join(PAIRS_FILE);
    announce(context.progress, request.inputs.iter().chain([&path]));
    let key = Key::random();
    let proof = Proof {
        context,
        matching: Matching::new(context, key.salt().rotate_left(17)),
        wanted: Wanted::passing(&params.filter).at(request.verify, &key),
        key,
        all: match params.how {
            JoinKind::Inner => [false, false],
            JoinKind::Left => [true, false],
            JoinKind::Outer => [true, true],
        },
        how: params.how,
        named,
    };
    let answer = match judge(&path, proof.answer(&path))? {
        Ok(answer) => answer,
        Err(wrong) => {
            return Ok((refused(&wrong, METHOD, &[PAIRS_FILE]), JoinFacts::default()));
        }
    };
    let expected = [proof.version(0)?, proof.version(1)?];
    let equal = (0..2).all(|side| !proof.all[side] || expected[side] == answer.fingerprints[side]);
    let wrong = "rows are missing, too many or not those of the versions";
    let mut verdict = Verdict::proven(answer.digest, equal, wrong, METHOD).covers(&[PAIRS_FILE]);
    if verdict.verified
        && params.how != JoinKind::Outer
        && let Some(wrong) = proof.matching.settle()?
    {
        verdict.require(false, &wrong);
    }
    verdict.counts.insert("rows", answer.rows);
    Ok((verdict, JoinFacts { digest: answer.digest, both: answer.both }))
}

impl Proof<'_> {
    /// Reads the answer: what each version must contain, as fingerprints and as claims.
    fn answer(&self, path: &Path) -> Result<AnswerWorker> {
        let (threads, progress) = (self.context.request.threads, self.context.progress);
        let table = TableFile { path, header: self.named.header(HEADERS), threads, progress };
        let make = || AnswerWorker {
            fingerprints: Default::default(),
            digest: Digest::default(),
            rows: 0,
            both: 0,
            claims: self.matching.claim_sink(),
            text: Vec::new(),
            stored: Ok(()),
        };
        let (workers, parts) =
            table.each(make, |worker, keys: &mut Option<(u64, u64)>, line| {
                let row = read(self.named.strip::<2>(line)?, &mut worker.text)?;
                let (first, last) = keys.unwrap_or((row.key, 0));
                if row.key <= last {
                    return Err("is not in ascending order of genes and clusters".to_owned());
                }
                *keys = Some((first, row.key));
                self.take(worker, &row)
            })?;
        let ascending = |pair: &[(u64, u64)]| pair[0].1 < pair[1].0;
        let keys: Vec<(u64, u64)> = parts.into_iter().flatten().collect();
        if !keys.windows(2).all(ascending) {
            let text = format!("{} is not in ascending order of genes", path.display());
            return Err(Error::input("verify", text));
        }
        let mut sum = make();
        for mut worker in workers {
            worker.stored?;
            self.matching.finish_claims(&mut worker.claims)?;
            sum.digest.merge(&worker.digest);
            sum.rows += worker.rows;
            sum.both += worker.both;
            let parts = sum.fingerprints.iter_mut().zip(&worker.fingerprints);
            parts.for_each(|(sum, part)| sum.merge(part));
        }
        Ok(sum)
    }

    #[inline(always)]
    fn take(&self, worker: &mut AnswerWorker, row: &JoinRow) -> std::result::Result<(), Wrong> {
        let is_in_join = match self.how {
            JoinKind::Inner => row.scores[0].is_some() && row.scores[1].is_some(),
            JoinKind::Left => row.scores[0].is_some(),
            JoinKind::Outer => true,
        };
        if !is_in_join {
            return Err("has a row that such a join does not give".to_owned());
        }
        worker.rows += 1;
        worker.both += u64::from(row.scores.iter().all(Option::is_some));
        worker.digest.add(Tag::Join, &words_of(row));
        let (gene1, gene2, _) = genes_of(row.key);
        if !self.wanted.sampled(gene1, gene2) {
            return Ok(());
        }
        for side in 0..2 {
            if self.all[side]
                && let Some(score) = row.scores[side]
            {
                worker.fingerprints[side].add_words(&self.key, &[row.key, score as u32 as u64]);
            }
        }
        if self.all == [true; 2] {
            return Ok(());
        }
        let unproven = self.all.map(|all| !all);
        if worker.stored.is_ok() {
            worker.stored = self.matching.claim(&mut worker.claims, row.key, row.scores, unproven);
        }
        Ok(())
    }

    /// Reads a version; returns the fingerprint of its rows if fingerprints prove it.
    fn version(&self, side: usize) -> Result<Fingerprint> {
        let request = self.context.request;
        let rows = RowScan {
            paths: &request.inputs[side..=side],
            wanted: self.wanted,
            need: Need::Edge,
            threads: request.threads,
            progress: self.context.progress,
        };
        let make = || (Fingerprint::default(), self.matching.row_sink(), Ok(()));
        let states = rows.each(make, |(fingerprint, sink, stored), written| {
            let key = key_of(written.row.gene1, written.row.gene2, written.row.cluster);
            let score = self.wanted.score(&written.row);
            if self.all[side] {
                fingerprint.add_words(&self.key, &[key, score as u32 as u64]);
            } else if stored.is_ok() {
                *stored = self.matching.row(sink, side, key, score);
            }
            Ok(())
        })?;
        let mut sum = Fingerprint::default();
        for (fingerprint, mut sink, stored) in states {
            stored?;
            sum.merge(&fingerprint);
            self.matching.finish_rows(&mut sink, side)?;
        }
        Ok(sum)
    }
}

/// Reads a line of the answer, which has a single spelling; `text` is a buffer.
#[inline(always)]
pub(super) fn read(line: &[u8], text: &mut Vec<u8>) -> std::result::Result<JoinRow, Wrong> {
    let mut fields = line.split(|&byte| byte == b'\t');
    let mut next = || fields.next().unwrap_or_default();
    let [gene1, gene2, cluster] = [integer(next())?, integer(next())?, integer(next())?];
    let genes = gene2 >= 1 && gene1 > gene2 && gene1 <= u64::from(GENES_MAX);
    if !genes || !(1..=u64::from(CLUSTERS_MAX)).contains(&cluster) {
        return Err(format!("has gene pair {gene1} {gene2} cluster {cluster}"));
    }
    let side = next();
    let scores = [score(next())?, score(next())?];
    let expected: &[u8] = match scores {
        [Some(_), Some(_)] => b"both",
        [Some(_), None] => b"left",
        [None, Some(_)] => b"right",
        [None, None] => return Err("has no score".to_owned()),
    };
    if side != expected {
        return Err("has a side that does not follow from its scores".to_owned());
    }
    write_difference(scores, text);
    if next() != text.as_slice() || fields.next().is_some() {
        return Err("has a difference that does not follow from its scores".to_owned());
    }
    Ok(JoinRow { key: key_of(gene1 as u32, gene2 as u32, cluster as u32), scores })
}

fn score(field: &[u8]) -> std::result::Result<Option<Micro>, Wrong> {
    if field.is_empty() {
        return Ok(None);
    }
    match canonical_score(field) {
        Some(score) if score != NAN => Ok(Some(score)),
        _ => Err(format!("has the score {}, expected six decimals", field.escape_ascii())),
    }
}

/// Replaces `text` by that of the difference; by nothing if a score is missing.
fn write_difference(scores: [Option<Micro>; 2], text: &mut Vec<u8>) {
    text.clear();
    if let [Some(left), Some(right)] = scores {
        append_millionths(i64::from(right) - i64::from(left), text);
    }
}

/// Returns the key of a row: 24, 24 and 16 bits that sort as (gene1, gene2, cluster).
#[inline(always)]
pub(super) fn key_of(gene1: u32, gene2: u32, cluster: u32) -> u64 {
    (u64::from(gene1) << 24 | u64::from(gene2)) << 16 | u64::from(cluster - 1)
}

/// Returns the words of a row in the digest.
fn words_of(row: &JoinRow) -> [u64; 6] {
    let (gene1, gene2, cluster) = genes_of(row.key);
    let side = match row.scores {
        [Some(_), Some(_)] => 0,
        [Some(_), None] => 1,
        _ => 2,
    };
    let [left, right] = row.scores.map(|score| score.map_or(i64::MIN, i64::from) as u64);
    [u64::from(gene1), u64::from(gene2), u64::from(cluster), side, left, right]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_single_spelling() {
        let good = "7\t3\t2\tboth\t0.871000\t0.902000\t0.031000";
        let read = |line: &str| super::read(line.as_bytes(), &mut Vec::new());
        let row = read(good).unwrap();
        assert_eq!(row, JoinRow { key: key_of(7, 3, 2), scores: [Some(871_000), Some(902_000)] });
        assert_eq!(genes_of(row.key), (7, 3, 2));
        for good in ["7\t3\t1\tleft\t-0.871000\t\t", "7\t3\t1\tright\t\t0.000000\t"] {
            read(good).unwrap();
        }
        for (from, to) in [
            ("7\t", "07\t"),
            ("7\t", "2\t"),
            ("both", "left"),
            ("0.871000", "0.8710000"),
            ("0.871000", "+0.871000"),
            ("0.871000", ".871000"),
            ("0.031000", "0.031001"),
            ("0.031000", "0.031000\t"),
            ("0.031000", ""),
            ("0.902000", "nan"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
