//! Workload in rounds, of which it has one: each task has a range of the images and opens the files
//! that contain them.

use std::ops::Range;
use std::path::PathBuf;

use cuesta_core::job::{Request, Response};
use cuesta_core::{Error, Result};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{self, Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::run;
use crate::table::Row;
use cuesta_input::images::Stack;

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    run::plan(request)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let stack = run::list(&request, &mut response)?;
        let ranges = rounds::shares(stack.images, resources.task_count(stack.images));
        let plan = RoundPlan {
            bytes: stack.size_bytes,
            rows: stack.images,
            ceiling: Some("file_read_warm_bytes_per_s"),
            ..RoundPlan::new(Measure, ranges.map(|images| share(&stack, images)).collect())
        };
        let rows = rounds.run(plan, &mut response)?.concat();
        debug_assert_eq!(rows.len() as u64, stack.images);
        run::reduce(&request.output, &rows, &mut response)?;
        Ok(response)
    }))
}

/// Creates a worker, which runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    run::plan(request)?;
    Ok(OperationWorker::new(request, ()).with::<Measure>().boxed())
}

fn share(stack: &Stack, Range { start, end }: Range<u64>) -> Share {
    let mut share = Share { files: Vec::new(), base: 0, first: 0, count: end - start };
    let mut number = 0;
    for (path, images) in stack.files() {
        if number < end && number + images > start {
            if share.files.is_empty() {
                share.base = number;
            }
            share.files.push(path.to_owned());
        }
        number += images;
    }
    share.first = start.saturating_sub(share.base);
    share
}

/// Images of a task.
#[derive(Serialize, Deserialize)]
struct Share {
    /// The files that contain the images, and no more.
    files: Vec<PathBuf>,
    /// Number of the first image in these files.
    base: u64,
    /// Index of the first image within these files, and the number of images.
    first: u64,
    count: u64,
}

/// Measures images.
#[derive(Serialize, Deserialize)]
struct Measure;

impl Operation for Measure {
    const NAME: &'static str = "images";
    type State = ();
    type Input = Share;
    type Output = Vec<Row>;

    fn task(self, share: Share, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        if share.count == 0 {
            return Ok(TaskResult::Output(Vec::new()));
        }
        let stack = Stack::open(&share.files, kernel::needed_bytes)?.numbered_from(share.base);
        let end = share.first.checked_add(share.count).filter(|&end| end <= stack.images);
        let end = end.ok_or_else(|| {
            let text = format!("there are only {} images now; run again", stack.images);
            Error::input("images", text)
        })?;
        run::rows(context.request, &stack, share.first..end, context.progress)
            .map(TaskResult::Output)
    }
}
