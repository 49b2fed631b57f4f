//! `join`: cuts from a sample of the keys divide their order into parts; each task sends each part
//! its rows; the worker of a part sorts both versions and writes its piece of the answer.

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_input::kinc::block::Counts;
use cuesta_runtime::blocks::{Blocks, Bytes};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use super::blocks::{pack, unpack};
use super::sample::{self, KeySample, SampleKeys};
use super::{RowSelection, add_rows, part_count, parts, task_bytes};
use crate::kernel::join::{Keyed, key};
use crate::params::{JoinKind, JoinParams};
use crate::run::join::{HEADER, JoinCounts, PAIRS_FILE, inputs, report, write};
use crate::run::pairs::{Pairs, Visitor, total};
use crate::run::share::Share;
use crate::run::sorted::SortedVersion;

/// Approximate bytes of the rows of a part.
const PART_BYTES: u64 = 32 << 20;
/// Bytes of a row in a message: its key and its score.
const ROW_BYTES: usize = 12;

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (how, rows) = params(request)?;
    inputs(request)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let (output, mut response) = (&request.output, Response::default());
        let context = Context::new(&request, rounds.progress());
        let (shares, bytes, samples) = open(&context, rows, resources, &mut response)?;
        let samples = match samples {
            Some(samples) => samples,
            None => {
                let shares = shares.iter().map(|(_, share)| share.clone()).collect();
                let plan = RoundPlan::new(SampleKeys(rows), shares);
                rounds.run(RoundPlan { bytes, ..plan }, &mut response)?
            }
        };
        let row_bytes = sample::rows(&samples) * size_of::<Keyed>() as u64;
        let cuts = sample::cuts(&samples, part_count(resources, row_bytes, PART_BYTES));
        let parts = cuts.len() + 1;
        let plan = RoundPlan::new(JoinRows { how, rows, cuts }, shares);
        let joined = rounds.run(RoundPlan { bytes, parts, ..plan }, &mut response)?;
        let (mut all, mut tally) = (Counts::default(), JoinCounts::default());
        for (counts, part_tally) in joined {
            all.add(counts);
            tally += part_tally;
        }
        add_rows(&mut response, JoinRows::NAME, all.rows_passed);
        timed(&mut response, "write", || {
            Ok(((), parts::join(output, parts, &output.join(PAIRS_FILE))?, 0))
        })?;
        report(all, tally, &mut response);
        Ok(response)
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    params(request)?;
    Ok(OperationWorker::new(request, ()).with::<SampleKeys>().with::<JoinRows>().boxed())
}

fn params(request: &Request) -> Result<(JoinKind, RowSelection)> {
    let params: JoinParams = parameters(&request.parameters)?;
    Ok((params.how, RowSelection::edges(&params.filter)?))
}

/// Cuts the versions into shares; returns these, the bytes of all, and samples of the versions if
/// sampling is cheap.
fn open(
    context: &Context<'_>,
    rows: RowSelection,
    resources: Resources,
    response: &mut Response,
) -> Result<(Vec<VersionShare>, u64, Option<Vec<KeySample>>)> {
    timed(response, "open", || {
        let (mut shares, mut bytes, mut samples) = (Vec::new(), 0, Some(Vec::new()));
        for (version, input) in inputs(context.request)?.iter().enumerate() {
            let pairs = rows.open(std::slice::from_ref(input))?;
            bytes += pairs.size_bytes();
            let of_version = pairs.shares(task_bytes(resources, pairs.size_bytes()));
            shares.extend(of_version.into_iter().map(|share| (version, share)));
            let sampled = sample::of_windows(&pairs, context.progress);
            samples = samples.zip(sampled).map(|(mut samples, sampled)| {
                samples.push(sampled);
                samples
            });
        }
        Ok(((shares, bytes, samples), 0, 0))
    })
}

/// Joins the rows of both versions.
#[derive(Serialize, Deserialize)]
struct JoinRows {
    how: JoinKind,
    rows: RowSelection,
    /// First key of each part except the first.
    cuts: Vec<u64>,
}

/// Number of a version, and a share of it.
type VersionShare = (usize, Share);

impl Operation for JoinRows {
    const NAME: &'static str = "join";
    type State = ();
    type Input = VersionShare;
    type Output = (Counts, JoinCounts);

    fn task(
        self,
        (version, share): VersionShare,
        context: TaskContext<'_, ()>,
    ) -> TaskOutcome<Self> {
        let pairs = self.rows.of_share(share)?;
        self.divided((version, &pairs), context.progress).map(TaskResult::Sent)
    }

    fn part(
        self,
        blocks: Vec<Bytes>,
        context: TaskContext<'_, ()>,
    ) -> Result<(Counts, JoinCounts)> {
        let (mut left, mut right, mut counts) = (Vec::new(), Vec::new(), Counts::default());
        for block in &blocks {
            for sent in unpack((**block).as_ref())? {
                counts.add(sent.counts);
                let version = if sent.mark == 0 { &mut left } else { &mut right };
                version.push(sent.rows.as_chunks().0);
            }
        }
        let received = left.iter().chain(&right).map(|list| list.len() as u64).sum::<u64>();
        // One copy as received, and two during the sort.
        let row_bytes = (ROW_BYTES + 2 * size_of::<Keyed>()) as u64;
        let _lease = context.request.budget.take(received * row_bytes, "the rows of a part")?;
        let sorted = |name, lists: Vec<&[[u8; ROW_BYTES]]>| {
            let rows = lists.into_iter().flatten().map(unpacked).collect();
            SortedVersion::in_memory(name, rows, Vec::new())
        };
        let (left, right) = (sorted("a", left)?, sorted("b", right)?);
        let number = context.number;
        let head = if number == 0 { format!("{HEADER}\n") } else { String::new() };
        let (tally, _) = parts::write(&context.request.output, number, |path| {
            write(&context.job(), (path, &head), (&left, &right), self.how)
        })?;
        Ok((counts, tally))
    }
}

impl JoinRows {
    /// Returns the rows of a share for the parts that own them.
    fn divided(&self, (version, pairs): (usize, &Pairs), progress: &Progress) -> Result<Blocks> {
        let visitor = Visitor {
            keep: &|rows: &mut Vec<Keyed>, _, row| {
                let (gene1, gene2, cluster) = row.place();
                rows.push(Keyed { key: key(gene1, gene2, cluster), score: row.score() });
                Ok(())
            },
            flush: &|_, _, _| Ok(()),
            on_error: &|_| {},
        };
        let mut workers = pairs.visit(1, progress, Vec::new, &visitor)?;
        let (counts, _) = total(&workers);
        let rows = workers.pop().map(|worker| worker.state).unwrap_or_default();
        let part_of = |row: &Keyed| self.cuts.partition_point(|&cut| cut <= row.key);
        let packed_row = |row: &Keyed| (part_of(row), packed(row));
        let parts = self.cuts.len() + 1;
        Ok(pack((version as u64, counts), (parts, ROW_BYTES), rows.iter().map(packed_row)))
    }
}

fn packed(row: &Keyed) -> [u8; ROW_BYTES] {
    let mut bytes = [0; ROW_BYTES];
    bytes[..8].copy_from_slice(&row.key.to_le_bytes());
    bytes[8..].copy_from_slice(&row.score.to_le_bytes());
    bytes
}

fn unpacked(&[a, b, c, d, e, f, g, h, i, j, k, l]: &[u8; ROW_BYTES]) -> Keyed {
    let key = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    Keyed { key, score: i32::from_le_bytes([i, j, k, l]) }
}
