//! Proves an answer of `modules`.
//!
//! The stages are computed anew, and each is held against another method on the way (`checks`); the
//! files of the answer must be those of the proven stages, byte for byte, so no changed answer
//! passes.

mod checks;
pub(crate) mod definitions;
mod tree;

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Response, Verdict, parameters};
use cuesta_core::progress::Progress;

use crate::params::ModulesParams;
use crate::run::{Answer, answer};
use crate::tables;
use checks::Checks;

const METHOD: &str = "definitions of correlation, overlap and eigengene on all genes, the tree by \
                      tables of nearest neighbours, and the cut by its definition";
/// First bytes of the name, which tell its records from those of other workloads.
const TAG: Tag = Tag::Named(*b"modules\0");

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the inputs cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let params: ModulesParams = parameters(&request.parameters)?;
    let mut response = Response::default();
    let mut checks = Checks::new(request, &params);
    let answer = answer(request, progress, &mut response, &mut checks)?;
    checks.outcome(&answer)?;
    judge(request, &answer, checks.fault.as_deref())
}

fn judge(request: &Request, answer: &Answer, fault: Option<&str>) -> Result<Verdict> {
    let expected = tables::digest(TAG, &answer.files);
    let difference = tables::first_difference(&request.output, &answer.files)?;
    let actual = if difference.is_none() { expected } else { Digest::default() };
    let names: Vec<&'static str> = answer.files.iter().map(|(name, _)| *name).collect();
    let mut verdict = Verdict::new(actual, expected, METHOD).covers(&names);
    if let Some(name) = difference {
        verdict.require(false, &format!("{name} is not that of the matrix"));
    }
    if let Some(fault) = fault {
        verdict.require(false, fault);
    }
    verdict.counts.insert("modules", answer.outcome.modules.eigengenes.len() as u64);
    verdict.counts.insert("genes", answer.input.genes.len() as u64);
    Ok(verdict)
}
