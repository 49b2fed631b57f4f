//! Runs a workload: reads through a source, calls the kernel, writes the answer files, counts.

pub mod annotate;
pub mod communities;
pub mod correlate;
pub mod degrees;
pub mod differential;
pub mod join;
pub mod leiden;
pub mod load;
pub mod pairs;
pub mod scan;
pub mod share;
pub mod sorted;
pub mod split;

use cuesta_core::job::{Context, Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

pub use annotate::annotate;

/// Runs `workload`.
///
/// # Errors
/// `Input`, `System` or `Cancelled`.
pub fn run(workload: &str, request: &Request, progress: &Progress) -> Result<Response> {
    request.require_inputs()?;
    let context = Context::new(request, progress);
    match workload {
        "correlate" => correlate::run(&context),
        "load" => load::run(&context),
        "scan" => scan::run(&context),
        "join" => join::run(&context),
        "degrees" => degrees::run(&context),
        "communities" => communities::run(&context),
        other => Err(Error::defect("arguments", format!("no workload is named {other}"))),
    }
}
