//! The workload as a single round, in which each task reads its share of the requests.

use std::ops::Range;

use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{Blocks, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::{rounds, wire};

use crate::files::Files;
use crate::part::{self, ReadPart};
use crate::run;

/// Creates the leader of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    run::params(request)?;
    Ok(Box::new(ReadLeader { request: request.clone(), resources, files: None }))
}

/// Creates a worker of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    let files = Files::open(&request.inputs, run::params(request)?)?;
    Ok(Box::new(ReadWorker { files, request: request.clone() }))
}

struct ReadLeader {
    request: Request,
    resources: Resources,
    /// Number of files, once the round is planned.
    files: Option<usize>,
}

impl Leader for ReadLeader {
    fn next(
        &mut self,
        outputs: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        if let Some(files) = self.files {
            let mut parts = Vec::new();
            for output in &outputs {
                part::extend(&mut parts, &wire::from_bytes::<Vec<ReadPart>>(output)?);
            }
            run::write(&self.request, &part::of_all_files(&parts, files), response)?;
            return Ok(None);
        }
        let files = run::open(&self.request, response)?;
        self.files = Some(files.count());
        let most = files.size_bytes.div_ceil(run::TASK_BYTES).min(files.requests);
        let tasks = self.resources.task_count(most);
        let encoded = |share: Range<u64>| wire::to_bytes(&(share.start, share.end));
        Ok(Some(Round {
            phase: "read".to_owned(),
            bytes: files.size_bytes,
            rows: files.requests,
            ceiling: Some("file_read_warm_bytes_per_s"),
            tasks: rounds::shares(files.requests, tasks).map(encoded).collect::<Result<_>>()?,
            ..Round::default()
        }))
    }
}

struct ReadWorker {
    request: Request,
    files: Files,
}

impl Worker for ReadWorker {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let (first, end): (u64, u64) = wire::from_bytes(task.input)?;
        let parts = run::read(&self.files, first..end, &self.request, run::at_once, progress)?;
        Ok((wire::to_bytes(&parts)?, Blocks::default()))
    }

    fn combine(&self, _: &[u8], _: Vec<u8>, _: &[u8]) -> Result<Vec<u8>> {
        Err(Error::defect("ioread", "parts are joined by what leads"))
    }
}
