//! `join`: two versions of a pair matrix matched on (gene1, gene2, cluster), with differences.

use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use cuesta_core::fixed::{append_integer, append_millionths};
use cuesta_core::job::{Context, Request, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;
use serde::{Deserialize, Serialize};

use super::pairs::{Pairs, Visitor, total};
use super::sorted::{HANDOVER_ROWS, SortedVersion, VersionSorter};
use crate::kernel::join::{Joined, Keyed, key, merge, unkey};
use crate::params::{JoinKind, JoinParams};

/// Name of the answer file.
pub const PAIRS_FILE: &str = "pairs.tsv";
/// First line of the answer file.
pub const HEADER: &str = "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference";
/// Rows of the longer version in a task of the merge.
const TASK_ROWS: usize = 1 << 16;
/// Bytes of text written at once.
const PART_BYTES: usize = 1 << 20;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(context: &Context<'_>) -> Result<Response> {
    let params: JoinParams = context.parameters()?;
    let filter = params.filter.check()?;
    let [a, b] = inputs(context.request)?;
    let mut response = Response::default();
    let (left, left_counts) = read(context, &mut response, ("a", a), &filter)?;
    let (right, right_counts) = read(context, &mut response, ("b", b), &filter)?;
    let tally = timed(&mut response, "join", || {
        let path = context.request.output.join(PAIRS_FILE);
        let head = format!("{HEADER}\n");
        let (tally, bytes) = write(context, (&path, &head), (&left, &right), params.how)?;
        Ok((tally, bytes, tally.both + tally.left + tally.right))
    })?;
    let mut counts = left_counts;
    counts.add(right_counts);
    report(counts, tally, &mut response);
    Ok(response)
}

/// Numbers of rows of the answer by side.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct JoinCounts {
    /// In both versions.
    pub both: u64,
    /// In the first version only.
    pub left: u64,
    /// In the second version only.
    pub right: u64,
}

impl AddAssign for JoinCounts {
    fn add_assign(&mut self, other: Self) {
        self.both += other.both;
        self.left += other.left;
        self.right += other.right;
    }
}

/// Reports the rows that were read, and those of the answer.
pub fn report(counts: Counts, tally: JoinCounts, response: &mut Response) {
    response.counts.insert("rows_read", counts.rows_read);
    response.counts.insert("rows_kept", counts.rows_passed);
    response.counts.insert("both", tally.both);
    response.counts.insert("left_only", tally.left);
    response.counts.insert("right_only", tally.right);
}

/// Returns the two versions.
///
/// # Errors
/// `Input` for another number of inputs.
pub fn inputs(request: &Request) -> Result<&[PathBuf; 2]> {
    request.inputs.as_slice().try_into().map_err(|_| {
        Error::input("join", format!("takes two inputs, {} given", request.inputs.len()))
    })
}

fn read<'a>(
    context: &Context<'a>,
    response: &mut Response,
    (name, path): (&'static str, &PathBuf),
    filter: &Filter,
) -> Result<(SortedVersion<'a>, Counts)> {
    let phase = if name == "a" { "read a" } else { "read b" };
    timed(response, phase, || {
        let pairs = Pairs::open(std::slice::from_ref(path), filter, Need::Edge)?;
        let sorter = VersionSorter::new(name, &context.request.scratch, context.budget);
        let visitor = Visitor {
            keep: &|rows: &mut Vec<Keyed>, _, row| {
                let (gene1, gene2, cluster) = row.place();
                let key = key(gene1, gene2, cluster);
                rows.push(Keyed { key, score: row.score() });
                Ok(())
            },
            flush: &|rows, part, last| {
                if last || rows.len() >= HANDOVER_ROWS { sorter.add(part, rows) } else { Ok(()) }
            },
            on_error: &|_| {},
        };
        let threads = context.request.threads;
        let workers = pairs.visit(threads, context.progress, Vec::new, &visitor)?;
        let (counts, bytes) = total(&workers);
        Ok(((sorter.finish()?, counts), bytes, counts.rows_read))
    })
}

/// Writes the join of sorted versions to a file that begins with `head`; returns the counts and its
/// size in bytes.
///
/// # Errors
/// `Input` if a version contains a row twice; `System`; `Cancelled`.
pub fn write(
    context: &Context<'_>,
    (path, head): (&Path, &str),
    (left, right): (&SortedVersion<'_>, &SortedVersion<'_>),
    how: JoinKind,
) -> Result<(JoinCounts, u64)> {
    let out = OrderedFile::create(path)?;
    out.finish_task(0, &mut head.as_bytes().to_vec())?;
    let tally = match (left, right) {
        (
            SortedVersion::InMemory { rows: left, .. },
            SortedVersion::InMemory { rows: right, .. },
        ) => in_parallel(context, (left, right), how, &out)?,
        _ => sequential(left, right, how, &out)?,
    };
    Ok((tally, out.close()?))
}

/// Merges key ranges on all threads.
fn in_parallel(
    context: &Context<'_>,
    (left, right): (&[Keyed], &[Keyed]),
    how: JoinKind,
    out: &OrderedFile,
) -> Result<JoinCounts> {
    let longer = if left.len() >= right.len() { left } else { right };
    let cuts: Vec<u64> = longer.iter().step_by(TASK_ROWS).skip(1).map(|row| row.key).collect();
    let range = |rows: &[Keyed], task: usize| {
        let place = |cut: Option<&u64>, otherwise: usize| {
            cut.map_or(otherwise, |&cut| rows.partition_point(|row| row.key < cut))
        };
        let start = task.checked_sub(1).map_or(0, |before| place(cuts.get(before), 0));
        start..place(cuts.get(task), rows.len())
    };
    let work = |(tally, text): &mut (JoinCounts, Vec<u8>), task: usize| {
        let (a, b) = (&left[range(left, task)], &right[range(right, task)]);
        let (a, b) = (a.iter().map(|&row| Ok(row)), b.iter().map(|&row| Ok(row)));
        merge(a, b, how, |row| {
            count(&row, tally);
            append(&row, text);
            Ok(())
        })?;
        out.finish_task(task + 1, text)?;
        context.progress.advance(0)
    };
    let make = || (JoinCounts::default(), Vec::new());
    let fail = |task| out.fail(task + 1);
    let workers = parallel::run(context.request.threads, cuts.len() + 1, make, work, fail)?;
    let mut all = JoinCounts::default();
    workers.iter().for_each(|(tally, _)| all += *tally);
    Ok(all)
}

fn sequential(
    left: &SortedVersion<'_>,
    right: &SortedVersion<'_>,
    how: JoinKind,
    out: &OrderedFile,
) -> Result<JoinCounts> {
    let (mut tally, mut text) = (JoinCounts::default(), Vec::new());
    merge(left.stream()?, right.stream()?, how, |row| {
        count(&row, &mut tally);
        append(&row, &mut text);
        if text.len() >= PART_BYTES { out.write_part(1, &mut text) } else { Ok(()) }
    })?;
    out.finish_task(1, &mut text)?;
    Ok(tally)
}

fn count(row: &Joined, tally: &mut JoinCounts) {
    match (row.left, row.right) {
        (Some(_), Some(_)) => tally.both += 1,
        (Some(_), None) => tally.left += 1,
        _ => tally.right += 1,
    }
}

/// Appends a row of the answer.
pub fn append(row: &Joined, out: &mut Vec<u8>) {
    let (gene1, gene2, cluster) = unkey(row.key);
    for number in [gene1, gene2, cluster] {
        append_integer(u64::from(number), out);
        out.push(b'\t');
    }
    let side: &[u8] = match (row.left, row.right) {
        (Some(_), Some(_)) => b"both",
        (Some(_), None) => b"left",
        _ => b"right",
    };
    out.extend_from_slice(side);
    let [left, right] = [row.left, row.right].map(|score| score.map(i64::from));
    let difference = left.zip(right).map(|(left, right)| right - left);
    for number in [left, right, difference] {
        out.push(b'\t');
        if let Some(number) = number {
            append_millionths(number, out);
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_the_largest_scores_does_not_wrap_around() {
        // Scores of 2000 and -2000, which mutual information can have, differ by more millionths
        // than 32 bits hold: verification refused the answer.
        let mut text = Vec::new();
        let (left, right) = (Some(2_000_000_000), Some(-2_000_000_000));
        append(&Joined { key: key(7, 3, 1), left, right }, &mut text);
        assert_eq!(text, b"7\t3\t1\tboth\t2000.000000\t-2000.000000\t-4000.000000\n");
    }
}
