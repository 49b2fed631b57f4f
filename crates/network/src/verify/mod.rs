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

use std::collections::BTreeMap;

use cuesta_core::budget::Budget;
use cuesta_core::digest::Digest;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use serde::Serialize;

use crate::run::{Context, Request};

/// The outcome of a verification.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Whether the answer is right.
    pub verified: bool,
    /// Digest of the answer files.
    pub digest: String,
    /// Digest of what the other method found.
    pub expected: String,
    /// The other method, in one sentence.
    pub method: &'static str,
    /// What was wrong beyond the digests, if anything.
    pub remark: Option<String>,
    /// Counts of the answer files.
    pub counts: BTreeMap<&'static str, u64>,
}

impl Verdict {
    /// A verdict on two digests.
    pub fn new(digest: Digest, expected: Digest, method: &'static str) -> Self {
        Self {
            verified: digest == expected,
            digest: digest.to_string(),
            expected: expected.to_string(),
            method,
            remark: None,
            counts: BTreeMap::new(),
        }
    }

    /// Adds a property of the answer; one that does not hold makes the answer wrong.
    pub fn require(&mut self, holds: bool, remark: &str) {
        if !holds {
            self.verified = false;
            self.remark = Some(remark.to_owned());
        }
    }
}

/// Verifies the answer of `workload` in `request.output`.
///
/// # Errors
/// `Input` when the answer files cannot be read; `System`; `Cancelled`.
pub fn verify(workload: &str, request: &Request, progress: &Progress) -> Result<Verdict> {
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
