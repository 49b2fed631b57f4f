//! Verifier of `scan`, and the fingerprints of rows that the verifier of `load` also uses.

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
use crate::run::annotate::{EDGES_FILE, graph_file};
use crate::run::scan::PAIRS_FILE;

const METHOD: &str = "every byte of the input and of the answer read by a reader of its own; the \
                      rows that pass and those of the answer have the same keyed fingerprints";

/// Fingerprints and digest of a multiset of rows.
pub struct RowSummary {
    /// Fingerprint of the content of all rows.
    pub rows: Fingerprint,
    /// Fingerprint of the lines whose numbers are not in KINC's notation.
    pub other_notation: Fingerprint,
    /// Digest, only for answers: records that are not in the batch any more.
    digest: Digest,
    batch: Batch,
    /// Number of rows, sampled or not.
    pub count: u64,
    /// Largest gene.
    pub last_gene: u32,
    head: Vec<u64>,
}

impl Default for RowSummary {
    fn default() -> Self {
        Self {
            rows: Fingerprint::default(),
            other_notation: Fingerprint::default(),
            digest: Digest::default(),
            batch: Batch::new(Tag::Pair),
            count: 0,
            last_gene: 0,
            head: Vec::new(),
        }
    }
}

impl RowSummary {
    /// Adds a row.
    #[inline(always)]
    pub fn add(&mut self, key: &Key, written: &WrittenRow<'_>) {
        self.pass(&written.row);
        head_of(&written.row, &mut self.head);
        self.rows.add_parts(key, &self.head, written.row.mask);
        if let Notation::Other(line) = written.notation {
            self.other_notation.add_bytes(key, line);
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

    /// Returns the digest of the rows added to it.
    pub fn digest(&self) -> Digest {
        let mut digest = self.digest;
        digest.merge(&self.batch.digest());
        digest
    }

    /// Adds the rows of another thread.
    pub fn merge(mut self, more: Self) -> Self {
        self.rows.merge(&more.rows);
        self.other_notation.merge(&more.other_notation);
        self.digest.merge(&more.digest());
        self.count += more.count;
        self.last_gene = self.last_gene.max(more.last_gene);
        self
    }
}

/// Replaces `head` by the words of a row before its mask, from which it can be decoded: no two rows
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
/// Two different multisets of n rows have the same fingerprints with a probability of at most n /
/// 2^60, see [`cuesta_core::fingerprint`]. A row whose numbers are not in KINC's notation must be a
/// line of the input, byte by byte.
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
    let expected = selected_rows(context, &key, Wanted::passing(&params.filter))?;
    let sampled = Wanted::answer().at(request.verify, &key);
    let choose = |written: &WrittenRow<'_>| sampled.sampled(written.row.gene1, written.row.gene2);
    let summary = match judge(&answer[0], rows_of_answer(context, &key, &answer, choose))? {
        Ok(summary) => summary,
        Err(wrong) => return Ok(refused(&wrong, METHOD, &files)),
    };
    let count = summary.count;
    let mut verdict = Verdict::proven(
        summary.digest(),
        summary.rows == expected.rows,
        &format!("of {count} rows, some are missing, too many or not those of the input"),
        METHOD,
    )
    .covers(&files);
    verdict.require(
        summary.other_notation.rows() == 0 || summary.other_notation == expected.other_notation,
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
    files.extend(graph_file(params.graph));
    files
}

/// Verifies the files of names and the network of an answer with right rows.
fn annotations(context: &Context<'_>, params: &ScanParams, verdict: &mut Verdict) -> Result<()> {
    let request = context.request;
    let named = Named::of(context)?;
    if let Some(list) = named.names() {
        let [table, edges] = [GENES_FILE, EDGES_FILE].map(|name| request.output.join(name));
        let outcomes = [
            judge(&table, names::table(&table, list.iter()))?,
            judge(&edges, names::edges(context, &edges, list, params.filter.score_index))?,
        ];
        for wrong in outcomes.into_iter().filter_map(std::result::Result::err) {
            verdict.require(false, &wrong);
        }
    }
    if params.graph != GraphFormat::None {
        let rows = RowScan {
            paths: &[request.output.join(PAIRS_FILE)],
            wanted: Wanted::passing(&params.filter),
            need: Need::Edge,
            threads: request.threads,
            progress: context.progress,
        };
        let expected = graph::Expected { rows: &rows, names: named.names(), labels: None };
        graph::judge(context, params.graph, &expected, verdict)?;
    }
    Ok(())
}

/// Summarises the wanted rows of the inputs.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn selected_rows(context: &Context<'_>, key: &Key, wanted: Wanted) -> Result<RowSummary> {
    let request = context.request;
    let rows = RowScan {
        paths: &request.inputs,
        wanted: wanted.at(request.verify, key),
        need: Need::Row,
        threads: request.threads,
        progress: context.progress,
    };
    let states = rows.each(RowSummary::default, |summary, written| {
        summary.add(key, written);
        Ok(())
    })?;
    Ok(states.into_iter().fold(RowSummary::default(), RowSummary::merge))
}

/// Summarises the rows of an answer in text; rows that `choose` rejects are only counted and
/// digested.
///
/// # Errors
/// `Input`, also for a line that no answer has; `System`; `Cancelled`.
pub fn rows_of_answer(
    context: &Context<'_>,
    key: &Key,
    paths: &[PathBuf; 1],
    choose: impl Fn(&WrittenRow<'_>) -> bool + Sync,
) -> Result<RowSummary> {
    let rows = RowScan {
        paths,
        wanted: Wanted::answer(),
        need: Need::Row,
        threads: context.request.threads,
        progress: context.progress,
    };
    let states = rows.each(RowSummary::default, |summary, written| {
        if written.notation == Notation::Foreign {
            return Err("is not a line of KINC version 1 that ends in a line feed".to_owned());
        }
        summary.digest_row(&written.row);
        match choose(written) {
            true => summary.add(key, written),
            false => summary.pass(&written.row),
        }
        Ok(())
    })?;
    Ok(states.into_iter().fold(RowSummary::default(), RowSummary::merge))
}
