//! State of a worker: the parts that it has received or stored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_core::job::Request;
use cuesta_runtime::operation::TaskContext;
use cuesta_runtime::rounds::Resources;
use cuesta_runtime::wire::WireValue;

use super::Step;
use super::part::BucketPart;
use super::vertices::PartStore;
use crate::kernel::supersteps::part::spread;
use crate::stages::wire;
use crate::stages::workers::{LevelParams, WorkerResults};

/// Parts of a worker.
pub(super) struct WorkerParts {
    /// Request of the run, with the memory of a worker.
    request: Request,
    /// Super-k-mers by part.
    pub(super) buckets: BTreeMap<usize, BucketPart>,
    /// Vertices and messages of the parts.
    pub(super) store: PartStore,
}

impl WorkerParts {
    pub(super) fn new(request: &Request, resources: Resources) -> Self {
        let store = PartStore::new(resources, &request.scratch);
        Self { request: request.clone(), buckets: BTreeMap::new(), store }
    }

    /// Returns a part that receives data, and creates it if it is new.
    pub(super) fn open(&mut self, part: usize, params: &LevelParams) -> &mut BucketPart {
        self.buckets.entry(part).or_insert_with(|| BucketPart::new(params, &self.request))
    }

    /// Takes the super-k-mers of a part, which are complete.
    pub(super) fn complete(&mut self, part: usize, params: &LevelParams) -> Result<BucketPart> {
        let received = self.buckets.remove(&part);
        let mut part = received.unwrap_or_else(|| BucketPart::new(params, &self.request));
        part.close()?;
        Ok(part)
    }
}

/// Counts and compacts the part of a task; returns the results, and stores the fragments for the
/// vertex program of `step` if there is one.
pub(super) fn compacted(
    (params, parts, step): (&LevelParams, usize, Step),
    context: TaskContext<'_, WorkerParts>,
) -> Result<PackedResults> {
    let TaskContext { number, request, progress, state } = context;
    let part = state.complete(number, params)?;
    let _lease = part.lease(&request.budget)?;
    let results = part.results(params, &request.budget, progress)?;
    if !params.has_program {
        return Ok(PackedResults::of(&results));
    }
    let vertices = spread(&results.fragments, parts)?;
    state.store.put(step, number, (None, &vertices))?;
    Ok(PackedResults(wire::facts_bytes(&results)))
}

/// Results of a part in the encoding of [`wire`], whose fragments take no more memory than packed.
pub(super) struct PackedResults(Vec<u8>);

impl PackedResults {
    pub(super) fn of(results: &WorkerResults<'_>) -> Self {
        Self(wire::results_bytes(results))
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }

    /// Adds the results to those of other parts.
    ///
    /// # Errors
    /// As [`wire::add_results`].
    pub(super) fn add_to(&self, results: &mut WorkerResults<'_>) -> Result<()> {
        wire::add_results(&self.0, results)
    }
}

impl WireValue for PackedResults {
    fn into_bytes(self) -> Result<Vec<u8>> {
        Ok(self.0)
    }

    fn from_bytes(bytes: Cow<'_, [u8]>) -> Result<Self> {
        Ok(Self(bytes.into_owned()))
    }
}
