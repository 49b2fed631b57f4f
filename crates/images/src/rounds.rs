//! Workload in rounds, of which it has one: each task has a range of the images and opens the files
//! that contain them.

use std::ops::Range;
use std::path::PathBuf;

use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{Blocks, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::{rounds, wire};
use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::run;
use crate::table::Row;
use cuesta_input::images::Stack;

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

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    run::plan(request)?;
    Ok(Box::new(Steps { request: request.clone(), resources, stack: None }))
}

/// Creates a worker, which runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    run::plan(request)?;
    Ok(Box::new(Work { request: request.clone() }))
}

struct Steps {
    request: Request,
    resources: Resources,
    stack: Option<Stack>,
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        if let Some(stack) = &self.stack {
            let mut rows: Vec<Row> = Vec::new();
            for result in &results {
                rows.extend(wire::from_bytes::<Vec<Row>>(result)?);
            }
            run::reduce(&self.request.output, &rows, response)?;
            debug_assert_eq!(rows.len() as u64, stack.images);
            return Ok(None);
        }
        let stack = self.stack.insert(run::list(&self.request, response)?);
        let tasks = self.resources.task_count(stack.images);
        let encode_share = |images: Range<u64>| wire::to_bytes(&share(stack, images));
        Ok(Some(Round {
            phase: "images".to_owned(),
            bytes: stack.size_bytes,
            rows: stack.images,
            ceiling: Some("file_read_warm_bytes_per_s"),
            tasks: rounds::shares(stack.images, tasks).map(encode_share).collect::<Result<_>>()?,
            ..Round::default()
        }))
    }
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

struct Work {
    request: Request,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let share: Share = wire::from_bytes(task.input)?;
        let mut rows = Vec::new();
        if share.count > 0 {
            let stack = Stack::open(&share.files, kernel::needed_bytes)?.numbered_from(share.base);
            let end = share.first.checked_add(share.count).filter(|&end| end <= stack.images);
            let end = end.ok_or_else(|| {
                let text = format!("there are only {} images now; run again", stack.images);
                Error::input("images", text)
            })?;
            rows = run::rows(&self.request, &stack, share.first..end, progress)?;
        }
        Ok((wire::to_bytes(&rows)?, Blocks::default()))
    }
}
