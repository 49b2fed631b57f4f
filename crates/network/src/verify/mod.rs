//! Verification of answers: compares the files of an answer with a computation by another method.
//!
//! The answer may come from any engine. The inputs are read again by a separate reader ([`text`]),
//! all bytes of all files of a tree, so a wrong jump over a mask, a wrongly skipped folder or a
//! lost row is detected. Multisets of rows and tables of counts are compared by keyed fingerprints
//! ([`cuesta_core::fingerprint`], [`powers`]), whose memory does not grow with the input.

pub mod adjacency;
mod columns;
pub mod communities;
pub mod correlate;
mod cut;
pub mod degrees;
pub mod differential;
pub mod forest;
mod gene_columns;
pub mod graph;
pub mod join;
pub mod leiden;
mod levels;
pub mod load;
pub mod louvain;
pub mod matching;
pub mod names;
mod nonzeros;
mod numerals;
pub mod powers;
mod products;
pub mod propagation;
pub mod rows;
pub mod scan;
mod sif;
mod significance;
pub mod store;
pub mod table;
mod tails;
pub mod text;
pub mod wanted;
pub mod weighted_quality;

use std::path::Path;

use cuesta_core::digest::Digest;
use cuesta_core::error::ErrorKind;
use cuesta_core::job::{Context, Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

/// Verifies the answer of `workload` in `request.output`.
///
/// # Errors
/// `Input` if the inputs cannot be read; `System`; `Cancelled`.
pub fn verify(workload: &str, request: &Request, progress: &Progress) -> Result<Verdict> {
    request.require_inputs()?;
    let context = Context::new(request, progress);
    match workload {
        "correlate" => correlate::correlate(&context),
        "load" => load::load(&context),
        "scan" => scan::scan(&context),
        "join" => join::join(&context),
        "degrees" => degrees::degrees(&context),
        "communities" => communities::communities(&context),
        other => Err(Error::defect("arguments", format!("no workload is named {other}"))),
    }
}

/// Returns the content read from a part of an answer, or a message where the answer is wrong.
///
/// # Errors
/// Errors that are not about the answer.
fn judge<T>(path: &Path, read: Result<T>) -> Result<std::result::Result<T, String>> {
    match read {
        Ok(found) => Ok(Ok(found)),
        Err(error) if error.kind == ErrorKind::Input => Ok(Err(error.message())),
        Err(_) if !path.exists() => Ok(Err(format!("{} is missing", path.display()))),
        Err(error) => Err(error),
    }
}

/// Returns the verdict on an answer that cannot be read.
fn refused(wrong: &str, method: &'static str, files: &[&'static str]) -> Verdict {
    Verdict::proven(Digest::default(), false, wrong, method).covers(files)
}
