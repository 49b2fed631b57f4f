//! Verifier of the tested differences of a join.
//!
//! Each number of a row is computed anew from the scores and numbers of samples in it, p-values by
//! [`TailIntegral`]; the q-values are those of the definition as each follows from the next. A
//! reader of its own compares the rows with the pairs of the join and with both versions: each
//! pair in both is in the table, unless it cannot be tested.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cuesta_core::digest::{Digest, Record, Tag};
use cuesta_core::fixed::Micro;
use cuesta_core::job::Context;
use cuesta_core::{Error, Result};
use cuesta_input::limits::{CLUSTERS_MAX, GENES_MAX};
use cuesta_input::pair_matrix::Need;

use super::join::{JoinRow, key_of, read};
use super::matching::genes_of;
use super::names::Named;
use super::numerals::{ERROR, error_of, is_printed_as, millionths, p_value};
use super::rows::RowScan;
use super::table::{TableFile, Wrong, integer};
use super::tails::TailIntegral;
use super::text::line::canonical_score;
use super::wanted::Wanted;
use crate::kernel::differential::ScoreMethod;
use crate::params::JoinParams;

/// Tag of a row in the digest.
const TAG: Tag = Tag::Named(*b"differen");
/// Samples of a group below which no pair is tested.
const SAMPLES_MIN: u32 = 4;
const HEADERS: [&str; 2] = [
    "gene1\tgene2\tcluster\ta_score\ta_p\ta_samples\tb_score\tb_p\tb_samples\tz\tp\tq\tclass",
    "gene1\tgene2\tcluster\ta_score\ta_p\ta_samples\tb_score\tb_p\tb_samples\tz\tp\tq\tclass\t\
     name1\tname2",
];

/// Row of the table, without what follows from it.
#[derive(Clone, Copy, Debug)]
struct TestedPair {
    key: u64,
    scores: [Micro; 2],
    samples: [u32; 2],
    /// z in millionths.
    z: i64,
    /// p-value by the verifier; NaN if the pair is not in the sample.
    p: f64,
    /// q-value as printed.
    q: f64,
}

/// Table of tested differences to verify.
pub struct Differences<'a> {
    /// Context of the verification.
    pub context: &'a Context<'a>,
    /// Parameters of the join.
    pub params: &'a JoinParams,
    /// Selection of the pairs whose numbers are computed anew.
    pub sample: Wanted,
    /// Names of the genes.
    pub named: &'a Named<'a>,
    /// Path of the table.
    pub path: &'a Path,
    /// Path of the join.
    pub pairs: &'a Path,
    /// Pairs in both versions, by the join, for whose memory the caller has a lease.
    pub both: u64,
}

/// Contents of a verified table.
#[derive(Default)]
pub struct VerifiedDifferences {
    /// Digest of the rows.
    pub digest: Digest,
    /// Number of pairs tested.
    pub tested: u64,
    /// Number of pairs that have a class.
    pub different: u64,
}

/// Results of a thread.
#[derive(Default)]
struct RowWorker {
    digest: Digest,
    different: u64,
}

impl Differences<'_> {
    /// Verifies the table.
    ///
    /// # Errors
    /// `Input` with the fault of the table, and for an input that cannot be read; `System`;
    /// `Cancelled`.
    pub fn verify(&self) -> Result<VerifiedDifferences> {
        let (mut rows, facts) = self.rows()?;
        self.check_order(&rows)?;
        rows.sort_unstable_by_key(|row| row.key);
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(self.wrong(pair[0].key, "stands there twice"));
        }
        let untested = self.untested(&rows)?;
        self.check_versions(&rows, &untested)?;
        Ok(facts)
    }

    /// Reads the rows in the order of the file; each is right by itself.
    fn rows(&self) -> Result<(Vec<TestedPair>, VerifiedDifferences)> {
        let (threads, progress) = (self.context.request.threads, self.context.progress);
        let header = self.named.header(HEADERS);
        let table = TableFile { path: self.path, header, threads, progress };
        let (tails, count) = (TailIntegral::new(), AtomicU64::new(0));
        let (workers, parts) =
            table.each(RowWorker::default, |worker, rows: &mut Vec<TestedPair>, line| {
                if count.fetch_add(1, Ordering::Relaxed) >= self.both {
                    return Err("is one more than there are pairs in both versions".to_owned());
                }
                let line = self.named.strip::<2>(line)?;
                let (row, class) = self.row(line, &tails)?;
                worker.different += u64::from(class != b"none");
                worker.digest.add_record(&record_of(line));
                rows.push(row);
                Ok(())
            })?;
        let mut facts = VerifiedDifferences::default();
        for worker in workers {
            facts.digest.merge(&worker.digest);
            facts.different += worker.different;
        }
        let mut rows = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        parts.into_iter().for_each(|part| rows.extend(part));
        facts.tested = rows.len() as u64;
        Ok((rows, facts))
    }

    /// Reads a row and computes its numbers anew; returns it with its class.
    fn row<'l>(
        &self,
        line: &'l [u8],
        tails: &TailIntegral,
    ) -> std::result::Result<(TestedPair, &'l [u8]), Wrong> {
        let mut fields = [&b""[..]; 13];
        let mut parts = line.split(|&byte| byte == b'\t');
        for field in &mut fields {
            *field = parts.next().ok_or("has fewer than 13 fields")?;
        }
        if parts.next().is_some() {
            return Err("has more than 13 fields".to_owned());
        }
        let (gene1, gene2) = (integer(fields[0])?, integer(fields[1])?);
        let cluster = integer(fields[2])?;
        let key = match [gene1, gene2, cluster].map(u32::try_from) {
            [Ok(gene1), Ok(gene2), Ok(cluster @ 1..=CLUSTERS_MAX)]
                if gene1 <= GENES_MAX && gene2 < gene1 =>
            {
                key_of(gene1, gene2, cluster)
            }
            _ => return Err(format!("has gene pair {gene1} {gene2} cluster {cluster}")),
        };
        let scores = [score(fields[3])?, score(fields[6])?];
        let samples = [count(fields[5])?, count(fields[8])?];
        if (0..2).any(|side| samples[side] < SAMPLES_MIN || scores[side].abs() >= 1_000_000) {
            return Err("has a correlation that cannot be tested".to_owned());
        }
        let z = millionths(fields[9])?;
        let [p_a, p_b, p, q] = [fields[4], fields[7], fields[10], fields[11]].map(p_value);
        let (p_a, p_b, p, q) = (p_a?, p_b?, p?, q?);
        if fields[12] != class([(scores[0], p_a), (scores[1], p_b)], q <= self.params.max_q) {
            return Err("has a class that does not follow from its numbers".to_owned());
        }
        let mut row = TestedPair { key, scores, samples, z, p: f64::NAN, q };
        if self.sample.sampled(gene1 as u32, gene2 as u32) {
            row.p = tails.of_normal(z as f64 / 1e6);
            self.check_numbers(&row, ([p_a, p_b], p), tails)?;
        }
        Ok((row, fields[12]))
    }

    /// Computes z and the p-values of both groups and of z anew.
    fn check_numbers(
        &self,
        row: &TestedPair,
        (p_of_groups, p): ([f64; 2], f64),
        tails: &TailIntegral,
    ) -> std::result::Result<(), Wrong> {
        let z = z_of(row, self.params.method);
        if (z * 1e6 - row.z as f64).abs() > 0.5 + 1e-7 + z.abs() * 1e-7 {
            return Err("has another z than its scores give".to_owned());
        }
        for (side, printed) in p_of_groups.into_iter().enumerate() {
            let samples = row.samples[side];
            let r = f64::from(row.scores[side]) / 1e6;
            let p = tails.of_correlation(r, samples);
            if !is_printed_as(p, printed, error_of(p, r, samples)) {
                return Err("has another p-value than its score gives".to_owned());
            }
        }
        match is_printed_as(row.p, p, row.p * ERROR) {
            true => Ok(()),
            false => Err("has another p-value than its z gives".to_owned()),
        }
    }

    /// Checks the order, and q-values by their definition: that of rank i among n is the smaller
    /// one of p n / i and of the next one.
    fn check_order(&self, rows: &[TestedPair]) -> Result<()> {
        let mut next_q = 1.0;
        for (index, row) in rows.iter().enumerate().rev() {
            let q = (row.p * rows.len() as f64 / (index + 1) as f64).min(next_q);
            let is_right = match row.p.is_nan() {
                true => row.q <= next_q,
                false => is_printed_as(q, row.q, q * ERROR),
            };
            if !is_right {
                return Err(self.wrong(row.key, "has another q-value"));
            }
            next_q = row.q;
        }
        let order = |row: &TestedPair| (std::cmp::Reverse(row.z.unsigned_abs()), row.key);
        match rows.windows(2).find(|pair| order(&pair[0]) >= order(&pair[1])) {
            Some(pair) => Err(self.wrong(pair[1].key, "is not in descending order of |z|")),
            None => Ok(()),
        }
    }

    /// Compares the rows with those of the join; returns the pairs that are not in the table.
    fn untested(&self, rows: &[TestedPair]) -> Result<Vec<JoinRow>> {
        let (threads, progress) = (self.context.request.threads, self.context.progress);
        let header = self.named.header(super::join::HEADERS);
        let table = TableFile { path: self.pairs, header, threads, progress };
        let make = || (Vec::new(), 0u64, Vec::new());
        let (workers, _) = table.each(make, |(text, tested, untested), (), line| {
            let pair = read(self.named.strip::<2>(line)?, text)?;
            let [Some(a), Some(b)] = pair.scores else { return Ok(()) };
            match rows.binary_search_by_key(&pair.key, |row| row.key) {
                Ok(place) if rows[place].scores == [a, b] => *tested += 1,
                Ok(_) => return Err("has other scores than its test".to_owned()),
                Err(_) => untested.push(pair),
            }
            Ok(())
        })?;
        let tested: u64 = workers.iter().map(|(_, tested, _)| tested).sum();
        if tested != rows.len() as u64 {
            let text = format!("{} has a pair that is not in both versions", self.path.display());
            return Err(Error::input("verify", text));
        }
        let mut untested: Vec<JoinRow> =
            workers.into_iter().flat_map(|(_, _, untested)| untested).collect();
        untested.sort_unstable_by_key(|pair| pair.key);
        Ok(untested)
    }

    /// Compares the numbers of samples with both versions.
    fn check_versions(&self, rows: &[TestedPair], untested: &[JoinRow]) -> Result<()> {
        let is_excused: Vec<AtomicBool> = untested
            .iter()
            .map(|pair| {
                let large = pair.scores.iter().flatten().any(|score| score.abs() >= 1_000_000);
                AtomicBool::new(large)
            })
            .collect();
        for side in 0..2 {
            let matched = self.matched_rows(side, rows, |key, samples| {
                if let Ok(place) = untested.binary_search_by_key(&key, |pair| pair.key)
                    && samples < SAMPLES_MIN
                {
                    is_excused[place].store(true, Ordering::Relaxed);
                }
            })?;
            if matched != rows.len() as u64 {
                let text = format!("{} has a pair that a version lacks", self.path.display());
                return Err(Error::input("verify", text));
            }
        }
        match is_excused.iter().position(|excused| !excused.load(Ordering::Relaxed)) {
            Some(place) => Err(self.wrong(untested[place].key, "is missing")),
            None => Ok(()),
        }
    }

    /// Reads a version; returns the number of its rows that are in the table, with the right score
    /// and number of samples. All others are passed to `other`.
    fn matched_rows(
        &self,
        side: usize,
        rows: &[TestedPair],
        other: impl Fn(u64, u32) + Sync,
    ) -> Result<u64> {
        let paths: &[PathBuf] = &self.context.request.inputs[side..=side];
        let (threads, progress) = (self.context.request.threads, self.context.progress);
        let wanted = Wanted::passing(&self.params.filter);
        let scan = RowScan { paths, wanted, need: Need::Row, threads, progress };
        let states = scan.each(
            || (0u64, None),
            |(matched, wrong), written| {
                let row = &written.row;
                let key = key_of(row.gene1, row.gene2, row.cluster);
                match rows.binary_search_by_key(&key, |row| row.key) {
                    Ok(place) if rows[place].samples[side] != row.cluster_samples => {
                        *wrong = Some(key);
                    }
                    Ok(_) => *matched += 1,
                    Err(_) => other(key, row.cluster_samples),
                }
                Ok(())
            },
        )?;
        if let Some(key) = states.iter().find_map(|(_, wrong)| *wrong) {
            return Err(self.wrong(key, "has another number of samples"));
        }
        Ok(states.iter().map(|(matched, _)| matched).sum())
    }

    fn wrong(&self, key: u64, fault: &str) -> Error {
        let (gene1, gene2, cluster) = genes_of(key);
        let pair = format!("gene pair {gene1} {gene2} cluster {cluster}");
        Error::input("verify", format!("{pair} of {} {fault}", self.path.display()))
    }
}

/// Returns z of a row, second group less first.
fn z_of(row: &TestedPair, method: ScoreMethod) -> f64 {
    let factor: f64 = if method == ScoreMethod::Spearman { 1.06 } else { 1.0 };
    let transformed = |side: usize| {
        let r = f64::from(row.scores[side]) / 1e6;
        0.5 * ((1.0 + r) / (1.0 - r)).ln()
    };
    let [a, b] = row.samples.map(|samples| f64::from(samples - 3));
    (transformed(1) - transformed(0)) * (a * b / (factor * (a + b))).sqrt()
}

/// Returns the class of a row from printed numbers.
fn class(groups: [(Micro, f64); 2], is_different: bool) -> &'static [u8] {
    if !is_different {
        return b"none";
    }
    match groups.map(|(score, p)| if p < 0.05 { score.signum() } else { 0 }) {
        [1, 1] => b"+/+",
        [1, 0] => b"+/0",
        [1, _] => b"+/-",
        [0, 1] => b"0/+",
        [0, 0] => b"0/0",
        [0, _] => b"0/-",
        [_, 1] => b"-/+",
        [_, 0] => b"-/0",
        _ => b"-/-",
    }
}

fn score(field: &[u8]) -> std::result::Result<Micro, Wrong> {
    canonical_score(field)
        .ok_or_else(|| format!("has the score {}, expected six decimals", field.escape_ascii()))
}

fn count(field: &[u8]) -> std::result::Result<u32, Wrong> {
    let count = integer(field)?;
    u32::try_from(count).map_err(|_| format!("has {count} samples"))
}

/// Returns the record of a row: the characters of its line without names.
fn record_of(line: &[u8]) -> Record {
    let mut record = Record::new(TAG);
    record.push(line.len() as u64);
    record.push_bytes(line);
    record
}
