//! Verifiers of `scan`, `load`, `join` and `degrees`.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use cuesta_core::digest::{Digest, Tag, mix};
use cuesta_core::fixed::Micro;
use cuesta_core::job::{Context, Verdict};
use cuesta_core::{Error, Result};
use cuesta_input::FilterParams;

use super::answer::{each_line, integers, score};
use super::inputs::each_row;
use crate::kernel::join::{Joined, key, unkey};
use crate::params::{DegreesParams, How, JoinParams, ScanParams};
use crate::reference;
use crate::run::degrees::{DEGREES_FILE, DISTRIBUTION_FILE};
use crate::run::{join as run_join, load as run_load, scan as run_scan};

/// Bytes of a row in the lookup tables of a join, both versions together.
const LOOKUP_BYTES: u64 = 64;

/// Verifies `scan`: the digest of the file against that of the rows a plain reader keeps.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn scan(context: &Context<'_>) -> Result<Verdict> {
    let params: ScanParams = context.parameters()?;
    let request = context.request;
    let expected = kept_digest(context, &request.inputs, Some(&params.filter))?;
    let answer = request.output.join(run_scan::PAIRS_FILE);
    // An empty answer has no line to tell its layout from.
    let empty = std::fs::metadata(&answer)
        .map_err(|cause| Error::system("verify", "reading", &answer, &cause))?
        .len()
        == 0;
    let found = if empty { (Digest::default(), 0) } else { kept_digest(context, &[answer], None)? };
    let method = "every input line read with the standard library and digested";
    let mut verdict = Verdict::new(found.0, expected.0, method);
    verdict.counts.insert("rows", found.1);
    Ok(verdict)
}

/// Verifies `load`: the digest of the pair matrix against that of the text.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn load(context: &Context<'_>) -> Result<Verdict> {
    let expected = kept_digest(context, &context.request.inputs, None)?;
    let answer = context.request.output.join(run_load::PAIRS_FOLDER);
    let found = kept_digest(context, &[answer], None)?;
    let method = "the text read with the standard library, the pair matrix read back whole";
    let mut verdict = Verdict::new(found.0, expected.0, method);
    verdict.counts.insert("rows", found.1);
    Ok(verdict)
}

fn kept_digest(
    context: &Context<'_>,
    paths: &[PathBuf],
    filter: Option<&FilterParams>,
) -> Result<(Digest, u64)> {
    let make = || (Digest::default(), 0u64);
    let threads = context.request.threads;
    let parts = each_row(paths, threads, context.progress, make, |(digest, rows), row| {
        if filter.is_none_or(|filter| row.passing_score(filter).is_some()) {
            row.row().digest_into(digest);
            *rows += 1;
        }
    })?;
    Ok(parts.into_iter().fold(make(), |(mut sum, rows), (digest, more)| {
        sum.merge(&digest);
        (sum, rows + more)
    }))
}

/// Verifies `join`: the digest of the file against look-ups in hash tables, in as many passes as
/// the memory limit asks for.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn join(context: &Context<'_>) -> Result<Verdict> {
    let params: JoinParams = context.parameters()?;
    let [a, b] = context.request.inputs.as_slice() else {
        return Err(Error::input("join", "takes two inputs"));
    };
    let [left, right] = [a, b].map(|path| count_rows(context, path, &params.filter));
    let need = LOOKUP_BYTES * (left? + right?);
    let passes = need.div_ceil((context.budget.limit_bytes() / 2).max(1)).max(1);
    let mut expected = Digest::default();
    for pass in 0..passes {
        let left = lookup(context, a, &params.filter, (pass, passes))?;
        let right = lookup(context, b, &params.filter, (pass, passes))?;
        for row in reference::join(&left, &right, params.how) {
            add_joined(&mut expected, &row);
        }
    }
    let (found, rows, consistent) = joined_answer(context, params.how)?;
    let method = "both versions looked up in hash tables built by a plain reader";
    let mut verdict = Verdict::new(found, expected, method);
    verdict.counts.insert("rows", rows);
    verdict.require(consistent, "side or difference of a row does not follow from its scores");
    Ok(verdict)
}

fn count_rows(context: &Context<'_>, path: &PathBuf, filter: &FilterParams) -> Result<u64> {
    let threads = context.request.threads;
    let paths = std::slice::from_ref(path);
    let counts = each_row(
        paths,
        threads,
        context.progress,
        || 0u64,
        |count, row| {
            *count += u64::from(row.passing_score(filter).is_some());
        },
    )?;
    Ok(counts.iter().sum())
}

fn lookup(
    context: &Context<'_>,
    path: &PathBuf,
    filter: &FilterParams,
    (pass, passes): (u64, u64),
) -> Result<HashMap<u64, Micro>> {
    let threads = context.request.threads;
    let paths = std::slice::from_ref(path);
    let parts = each_row(paths, threads, context.progress, HashMap::new, |table, row| {
        let key = key(row.numbers[0], row.numbers[1], row.numbers[2]);
        if let Some(score) = row.passing_score(filter)
            && mix(key) % passes == pass
        {
            table.insert(key, score);
        }
    })?;
    let mut parts = parts.into_iter();
    let mut table = parts.next().unwrap_or_default();
    parts.for_each(|part| table.extend(part));
    Ok(table)
}

fn add_joined(digest: &mut Digest, row: &Joined) {
    let (gene1, gene2, cluster) = unkey(row.key);
    let side = match (row.left, row.right) {
        (Some(_), Some(_)) => 0,
        (Some(_), None) => 1,
        _ => 2,
    };
    let word = |score: Option<Micro>| score.map_or(i64::MIN, i64::from) as u64;
    let genes = [gene1, gene2, cluster].map(u64::from);
    let scores = [word(row.left), word(row.right)];
    digest.add(Tag::Join, &[genes[0], genes[1], genes[2], side, scores[0], scores[1]]);
}

fn joined_answer(context: &Context<'_>, how: How) -> Result<(Digest, u64, bool)> {
    let header = ["gene1", "gene2", "cluster", "side", "score_a", "score_b", "difference"];
    let path = context.request.output.join(run_join::PAIRS_FILE);
    let (mut digest, mut rows, mut consistent) = (Digest::default(), 0, true);
    each_line(&path, &header, |fields| {
        let [gene1, gene2, cluster] = integers::<3>(fields)?.map(|number| number as u32);
        let (left, right) = (score(fields[4])?, score(fields[5])?);
        let side = match (left, right) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "left",
            _ => "right",
        };
        let difference = left.zip(right).map(|(left, right)| right - left);
        consistent &= side == fields[3] && difference == score(fields[6])?;
        consistent &= how != How::Inner || side == "both";
        add_joined(&mut digest, &Joined { key: key(gene1, gene2, cluster.max(1)), left, right });
        rows += 1;
        Ok(())
    })?;
    Ok((digest, rows, consistent))
}

/// Verifies `degrees` against a plain count, and the distribution against the degrees.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn degrees(context: &Context<'_>) -> Result<Verdict> {
    let params: DegreesParams = context.parameters()?;
    let threads = context.request.threads;
    let inputs = &context.request.inputs;
    let parts = each_row(inputs, threads, context.progress, BTreeMap::new, |table, row| {
        if row.passing_score(&params.filter).is_some() {
            let (from, to) = (row.numbers[0], row.numbers[1]);
            table.entry(from).or_insert((0u64, 0u64)).1 += 1;
            table.entry(to).or_insert((0u64, 0u64)).0 += 1;
        }
    })?;
    let mut table = BTreeMap::<u32, (u64, u64)>::new();
    for (gene, (inward, outward)) in parts.into_iter().flatten() {
        let sum = table.entry(gene).or_default();
        *sum = (sum.0 + inward, sum.1 + outward);
    }
    let mut expected = Digest::default();
    for (&gene, &(inward, outward)) in &table {
        expected.add(Tag::Degree, &[u64::from(gene), inward, outward]);
    }
    let last = params.genes.or(table.keys().last().copied()).unwrap_or(0);
    degrees_answer(context, expected, u64::from(last))
}

fn degrees_answer(context: &Context<'_>, expected: Digest, genes: u64) -> Result<Verdict> {
    let (mut digest, mut rows, mut consistent) = (Digest::default(), 0, true);
    let mut distribution = BTreeMap::<u64, [u64; 3]>::new();
    let path = context.request.output.join(DEGREES_FILE);
    each_line(&path, &["gene", "in", "out", "total"], |fields| {
        let [gene, inward, outward, total] = integers::<4>(fields)?;
        rows += 1;
        consistent &= gene == rows && total == inward + outward;
        for (index, degree) in [inward, outward, total].into_iter().enumerate() {
            distribution.entry(degree).or_default()[index] += 1;
        }
        if total > 0 {
            digest.add(Tag::Degree, &[gene, inward, outward]);
        }
        Ok(())
    })?;
    let path = context.request.output.join(DISTRIBUTION_FILE);
    let mut table = BTreeMap::new();
    each_line(&path, &["degree", "in", "out", "total"], |fields| {
        let [degree, inward, outward, total] = integers::<4>(fields)?;
        table.insert(degree, [inward, outward, total]);
        Ok(())
    })?;
    let method = "edges counted in a map by a plain reader";
    let mut verdict = Verdict::new(digest, expected, method);
    verdict.counts.insert("genes", rows);
    verdict.require(consistent && rows == genes, "genes are missing or a total is not in + out");
    verdict.require(table == distribution, "the distribution does not follow from the degrees");
    Ok(verdict)
}
