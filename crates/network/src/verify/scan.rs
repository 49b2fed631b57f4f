//! Verifier of `scan`, and what it shares with that of `load`: fingerprints of rows.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::digest::{Batch, Digest, Tag};
use cuesta_core::fingerprint::{Fingerprint, Key};
use cuesta_core::job::{Context, Verdict};
use cuesta_input::names::GENES_FILE;
use cuesta_input::pair_matrix::Need;
use cuesta_input::row::Row;

use super::names::Named;
use super::rows::{RowScan, announce};
use super::text::line::{Notation, WrittenRow};
use super::wanted::Wanted;
use super::{graph, judge, names, refused};
use crate::params::{GraphFormat, ScanParams};
use crate::run::annotate::{EDGES_FILE, GRAPH_FILE};
use crate::run::scan::PAIRS_FILE;

const METHOD: &str = "every byte of the input and of the answer read by a reader of its own; the \
                      rows that pass and those of the answer have the same keyed fingerprints";

/// What is known of a multiset of rows.
pub struct Seen {
    /// The meaning of all rows.
    pub rows: Fingerprint,
    /// The lines of rows whose numbers are written otherwise than KINC does.
    pub other: Fingerprint,
    /// The digest, of answers only: records that are not in the batch any more.
    digest: Digest,
    batch: Batch,
    /// Rows, sampled or not.
    pub count: u64,
    /// The largest gene.
    pub last_gene: u32,
    head: Vec<u64>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            rows: Fingerprint::default(),
            other: Fingerprint::default(),
            digest: Digest::default(),
            batch: Batch::new(Tag::Pair),
            count: 0,
            last_gene: 0,
            head: Vec::new(),
        }
    }
}

impl Seen {
    /// Adds a row.
    #[inline(always)]
    pub fn add(&mut self, key: &Key, found: &WrittenRow<'_>) {
        self.pass(&found.row);
        head_of(&found.row, &mut self.head);
        self.rows.add_parts(key, &self.head, found.row.mask);
        if let Notation::Other(line) = found.notation {
            self.other.add_bytes(key, line);
        }
    }

    /// Counts a row that is not sampled.
    #[inline(always)]
    pub fn pass(&mut self, row: &Row<'_>) {
        self.count += 1;
        self.last_gene = row.gene1.max(self.last_gene);
    }

    /// Adds a row of an answer to the digest.
    #[inline(always)]
    pub fn digest_row(&mut self, row: &Row<'_>) {
        row.add_to(&mut self.batch);
    }

    /// The digest of the rows that were added to it.
    pub fn digest(&self) -> Digest {
        let mut digest = self.digest;
        digest.merge(&self.batch.digest());
        digest
    }

    /// Adds what another thread saw.
    pub fn merge(mut self, other: Self) -> Self {
        self.rows.merge(&other.rows);
        self.other.merge(&other.other);
        self.digest.merge(&other.digest());
        self.count += other.count;
        self.last_gene = self.last_gene.max(other.last_gene);
        self
    }
}

/// Replaces `head` by what a row has before its mask, from which it can be read back: no two rows
/// have the same words and the same mask.
#[inline(always)]
fn head_of(row: &Row<'_>, head: &mut Vec<u64>) {
    let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    head.clear();
    head.extend([
        two(row.gene1, row.gene2),
        two(row.cluster, row.num_clusters),
        two(row.cluster_samples, row.missing),
        two(row.outliers, row.pair_outliers),
        two(row.threshold, row.scores.len() as u32),
    ]);
    head.extend(row.scores.iter().map(|&score| i64::from(score) as u64));
}

/// Verifies `scan`: the rows of the file are those of the input that pass, in any order.
///
/// Two different multisets of n rows have the same fingerprints with a probability of at most
/// n / 2^60, see [`cuesta_core::fingerprint`]. A row whose numbers are written otherwise than KINC
/// does must be a line of the input, byte by byte.
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
pub fn scan(context: &Context<'_>) -> Result<Verdict> {
    let params: ScanParams = context.parameters()?;
    let request = context.request;
    let answer = [request.output.join(PAIRS_FILE)];
    announce(context.progress, request.inputs.iter().chain(&answer));
    let files = files_of(context, &params);
    let key = Key::random();
    let expected = kept(context, &key, Wanted::passing(&params.filter))?;
    let sampled = Wanted::answer().at(request.verify, &key);
    let choose = |found: &WrittenRow<'_>| sampled.sampled(found.row.gene1, found.row.gene2);
    let found = match judge(&answer[0], rows_of_answer(context, &key, &answer, choose))? {
        Ok(found) => found,
        Err(wrong) => return Ok(refused(&wrong, METHOD, &files)),
    };
    let count = found.count;
    let mut verdict = Verdict::proven(
        found.digest(),
        found.rows == expected.rows,
        &format!("of {count} rows, some are missing, too many or not those of the input"),
        METHOD,
    )
    .covers(&files);
    verdict.require(
        found.other.rows() == 0 || found.other == expected.other,
        "a number is not written as in the input, nor as KINC writes it",
    );
    verdict.counts.insert("rows", count);
    if verdict.verified {
        annotations(context, &params, &mut verdict)?;
    }
    Ok(verdict)
}

fn files_of(context: &Context<'_>, params: &ScanParams) -> Vec<&'static str> {
    let mut files = vec![PAIRS_FILE];
    if context.request.names.is_some() {
        files.extend([GENES_FILE, EDGES_FILE]);
    }
    if params.graph == GraphFormat::Graphml {
        files.push(GRAPH_FILE);
    }
    files
}

/// Judges the files of names and the network, beside rows that are right.
fn annotations(context: &Context<'_>, params: &ScanParams, verdict: &mut Verdict) -> Result<()> {
    let request = context.request;
    let named = Named::of(context)?;
    if let Some(list) = named.names() {
        let [table, edges] = [GENES_FILE, EDGES_FILE].map(|name| request.output.join(name));
        let found = [
            judge(&table, names::table(&table, list.iter()))?,
            judge(&edges, names::edges(context, &edges, list, params.filter.score_index))?,
        ];
        for wrong in found.into_iter().filter_map(std::result::Result::err) {
            verdict.require(false, &wrong);
        }
    }
    if params.graph == GraphFormat::Graphml {
        let rows = RowScan {
            paths: &[request.output.join(PAIRS_FILE)],
            wanted: Wanted::passing(&params.filter),
            need: Need::Edge,
            threads: request.threads,
            progress: context.progress,
        };
        let expected = graph::Expected { rows: &rows, names: named.names(), labels: None };
        graph::judge(context, &expected, verdict)?;
    }
    Ok(())
}

/// The wanted rows of the inputs.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn kept(context: &Context<'_>, key: &Key, wanted: Wanted) -> Result<Seen> {
    let request = context.request;
    let rows = RowScan {
        paths: &request.inputs,
        wanted: wanted.at(request.verify, key),
        need: Need::Row,
        threads: request.threads,
        progress: context.progress,
    };
    let states = rows.each(Seen::default, |seen, found| {
        seen.add(key, found);
        Ok(())
    })?;
    Ok(states.into_iter().fold(Seen::default(), Seen::merge))
}

/// The rows of an answer in text; those that `choose` does not take are counted and digested only.
///
/// # Errors
/// `Input` also for a line that no answer has; `System`; `Cancelled`.
pub fn rows_of_answer(
    context: &Context<'_>,
    key: &Key,
    paths: &[PathBuf; 1],
    choose: impl Fn(&WrittenRow<'_>) -> bool + Sync,
) -> Result<Seen> {
    let rows = RowScan {
        paths,
        wanted: Wanted::answer(),
        need: Need::Row,
        threads: context.request.threads,
        progress: context.progress,
    };
    let states = rows.each(Seen::default, |seen, found| {
        if found.notation == Notation::Foreign {
            return Err("is not a line of KINC version 1 that ends in a line feed".to_owned());
        }
        seen.digest_row(&found.row);
        match choose(found) {
            true => seen.add(key, found),
            false => seen.pass(&found.row),
        }
        Ok(())
    })?;
    Ok(states.into_iter().fold(Seen::default(), Seen::merge))
}
