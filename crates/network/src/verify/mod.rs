//! Proves an answer: what the files say against what another method computes from the inputs.
//!
//! The answer may come from any engine. The inputs are read again with the plain reader of
//! [`crate::reference`], every file of a tree included, so a wrong jump over a mask, a wrongly
//! skipped folder or a lost row shows as a different digest.

pub mod answer;
pub mod communities;
pub mod correlate;
pub mod inputs;
pub mod network;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Context, Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

/// Verifies the answer of `workload` in `request.output`.
///
/// # Errors
/// `Input` when the answer files cannot be read; `System`; `Cancelled`.
pub fn verify(workload: &str, request: &Request, progress: &Progress) -> Result<Verdict> {
    request.require_inputs()?;
    let budget = Budget::new(request.memory_bytes);
    let context = Context { request, budget: &budget, progress };
    match workload {
        "correlate" => correlate::correlate(&context),
        "load" => network::load(&context),
        "scan" => network::scan(&context),
        "join" => network::join(&context),
        "degrees" => network::degrees(&context),
        "communities" => communities::communities(&context),
        other => Err(Error::input("arguments", format!("no workload is named {other}"))),
    }
}
