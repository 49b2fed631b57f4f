//! `scan`: each task writes the lines that pass to a file, and the leader concatenates the files.

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::wire;

use super::{
    Opened, Reading, Rows, SinglePass, SingleRound, add_rows, counts, parts, rows, unexpected,
};
use crate::params::ScanParams;
use crate::run::pairs::Pairs;
use crate::run::scan::{PAIRS_FILE, write};

const PHASE: &str = "scan";

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let output = request.output.clone();
    let finish = move |opened: &Opened, results: Vec<Vec<u8>>, response: &mut Response| {
        let mut all = Counts::default();
        for result in &results {
            all.add(counts(wire::from_bytes::<Rows>(result)?));
        }
        add_rows(response, PHASE, all.rows_read);
        let written = timed(response, "write", || {
            let bytes = parts::join(&output, opened.tasks.len(), &output.join(PAIRS_FILE))?;
            Ok((bytes, bytes, 0))
        })?;
        response.counts.insert("rows_read", all.rows_read);
        response.counts.insert("rows_kept", all.rows_passed);
        response.counts.insert("files_skipped", opened.skipped);
        response.counts.insert("answer_bytes", written);
        Ok(())
    };
    Ok(Box::new(SingleRound {
        reading: Reading {
            inputs: request.inputs.clone(),
            filter: filter(request)?,
            need: Need::Row,
        },
        resources,
        phase: PHASE,
        combines: false,
        opened: None,
        finish,
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    let (output, threads) = (request.output.clone(), request.threads);
    let task = move |pairs: &Pairs, number: usize, progress: &Progress| {
        let (counts, _, _) =
            parts::write(&output, number, |path| write(pairs, path, threads, progress))?;
        wire::to_bytes(&rows(counts))
    };
    let combine = |_: Vec<u8>, _: &[u8]| Err(unexpected());
    Ok(Box::new(SinglePass { filter: filter(request)?, need: Need::Row, task, combine }))
}

fn filter(request: &Request) -> Result<Filter> {
    parameters::<ScanParams>(&request.parameters)?.filter.check()
}
