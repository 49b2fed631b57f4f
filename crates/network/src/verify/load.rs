//! Verifier of `load`.

use std::path::Path;

use cuesta_core::Result;
use cuesta_core::fingerprint::Key;
use cuesta_core::job::{Context, Verdict};
use cuesta_input::pair_matrix::{AuditResources, MaskKind, PairMatrix};
use cuesta_input::row::Row;

use super::names::Named;
use super::rows::{announce, size_bytes};
use super::scan::{RowSummary, selected_rows};
use super::text::line::{Notation, WrittenRow};
use super::wanted::Wanted;
use super::{judge, refused};
use crate::params::LoadParams;
use crate::run::load::PAIRS_FOLDER;

const METHOD: &str = "every byte of the text read by a reader of its own, the pair matrix read \
                      back whole; their rows have the same keyed fingerprints";

/// Verifies `load`: the rows of the pair matrix are those of the text, and all further content of
/// its folder follows from them ([`PairMatrix::audit`]).
///
/// Two different multisets of n rows have the same fingerprints with a probability of at most
/// n / 2^60.
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
pub fn load(context: &Context<'_>) -> Result<Verdict> {
    let params: LoadParams = context.parameters()?;
    let request = context.request;
    let answer = request.output.join(PAIRS_FOLDER);
    announce(context.progress, request.inputs.iter().chain([&answer]));
    let key = Key::random();
    let expected = selected_rows(context, &key, Wanted::default())?;
    let sampled = Wanted::default().at(request.verify, &key);
    let choose = |row: &Row<'_>| sampled.sampled(row.gene1, row.gene2);
    let (summary, matrix) = match judge(&answer, audited(context, &key, &answer, choose))? {
        Ok(rows) => rows,
        Err(wrong) => return Ok(refused(&wrong, METHOD, &[PAIRS_FOLDER])),
    };
    let header = matrix.header();
    let wrong = "rows are missing, too many or not those of the text";
    let equal = summary.rows == expected.rows;
    let mut verdict =
        Verdict::proven(summary.digest(), equal, wrong, METHOD).covers(&[PAIRS_FOLDER]);
    verdict.require(header.masks == MaskKind::Stored, "masks are not stored");
    let missing_name_message = header.score_names.is_empty() && !header.sample_names;
    verdict.require(
        missing_name_message,
        "there are names of scores or samples, but none in the text",
    );
    let named = Named::of(context)?;
    let names = named.names();
    let genes = params.genes.unwrap_or(summary.last_gene);
    let wanted = names.into_iter().flat_map(|names| names.iter().take(genes as usize));
    let equal = header.gene_names == names.is_some() && matrix.gene_names()?.iter().eq(wanted);
    verdict.require(equal, "its names of genes are not those of the list");
    verdict.require(header.genes == genes, "it has another number of genes");
    verdict.counts.insert("rows", summary.count);
    Ok(verdict)
}

/// Reads a pair matrix completely, and summarises its rows; rows that `choose` rejects are only
/// counted and digested.
///
/// # Errors
/// `Input` for content that does not belong to such a matrix; `System`; `Cancelled`.
pub fn audited(
    context: &Context<'_>,
    key: &Key,
    path: &Path,
    choose: impl Fn(&Row<'_>) -> bool + Sync,
) -> Result<(RowSummary, PairMatrix)> {
    let request = context.request;
    let matrix = PairMatrix::open(path)?;
    let resources = AuditResources {
        threads: request.threads,
        memory_bytes: context.budget.limit_bytes() / 2,
        progress: context.progress,
        size_bytes: size_bytes(path),
    };
    let states = matrix.audit(&resources, RowSummary::default, |summary, row| {
        summary.digest_row(row);
        let written = WrittenRow { row: *row, notation: Notation::Foreign };
        match choose(row) {
            true => summary.add(key, &written),
            false => summary.pass(row),
        }
        Ok(())
    })?;
    Ok((states.into_iter().fold(RowSummary::default(), RowSummary::merge), matrix))
}
