//! `scan`: each task writes the lines that pass to a file, and the leader concatenates the files.

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::operation::{Operation, OperationWorker, TaskContext, TaskOutcome, TaskResult};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use super::{RowSelection, add_rows, parts};
use crate::params::ScanParams;
use crate::run::scan::{PAIRS_FILE, write};
use crate::run::share::Share;

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (rows, request) = (rows(request)?, request.clone());
    Ok(sequential::leader(move |rounds| {
        let (output, mut response) = (&request.output, Response::default());
        let opened = rows.shares(&request.inputs, resources, &mut response)?;
        let mut all = Counts::default();
        let counted = rounds.run(opened.plan(ScanRows(rows)), &mut response)?;
        counted.into_iter().for_each(|counts| all.add(counts));
        add_rows(&mut response, ScanRows::NAME, all.rows_read);
        let written = timed(&mut response, "write", || {
            let bytes = parts::join(output, opened.shares.len(), &output.join(PAIRS_FILE))?;
            Ok((bytes, bytes, 0))
        })?;
        response.counts.insert("rows_read", all.rows_read);
        response.counts.insert("rows_kept", all.rows_passed);
        response.counts.insert("files_skipped", opened.skipped);
        response.counts.insert("answer_bytes", written);
        Ok(response)
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    rows(request)?;
    Ok(OperationWorker::new(request, ()).with::<ScanRows>().boxed())
}

fn rows(request: &Request) -> Result<RowSelection> {
    let filter = parameters::<ScanParams>(&request.parameters)?.filter.check()?;
    Ok(RowSelection { filter, need: Need::Row })
}

/// Writes the rows of a share that pass.
#[derive(Serialize, Deserialize)]
struct ScanRows(RowSelection);

impl Operation for ScanRows {
    const NAME: &'static str = "scan";
    type State = ();
    type Input = Share;
    type Output = Counts;

    fn task(self, share: Share, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let TaskContext { number, request, progress, .. } = context;
        let pairs = self.0.of_share(share)?;
        let (counts, _, _) = parts::write(&request.output, number, |path| {
            write(&pairs, path, request.threads, progress)
        })?;
        Ok(TaskResult::Output(counts))
    }
}
