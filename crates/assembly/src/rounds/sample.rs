//! Division of the reads among parts, which sample their k-mers.

use std::borrow::Cow;

use cuesta_core::Result;
use cuesta_runtime::blocks::Bytes;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome};
use cuesta_runtime::wire::WireValue;
use serde::{Deserialize, Serialize};

use super::divide::{DivideInput, Division};
use super::worker::WorkerParts;
use crate::kernel::codec;
use crate::kernel::spectrum::Spectrum;

/// Counts a sample of the k-mers of each part where the cutoff is unknown.
#[derive(Serialize, Deserialize)]
pub(super) struct SampleReads {
    pub(super) division: Division,
    /// Whether parts receive all super-k-mers and store them, not only those of the sample.
    pub(super) stores: bool,
}

impl Operation for SampleReads {
    const NAME: &'static str = "sample";
    const STREAMS: bool = true;
    type State = WorkerParts;
    type Input = DivideInput;
    type Output = Spectrum;

    fn task(self, input: DivideInput, context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        self.division.blocks(&input, !self.stores, context.progress)
    }

    fn take(&self, block: &[u8], part: usize, state: &mut WorkerParts) -> Result<()> {
        self.division.take(block, part, state)
    }

    fn part(self, _: Vec<Bytes>, context: TaskContext<'_, WorkerParts>) -> Result<Spectrum> {
        let params = &self.division.params;
        let part = context.state.complete(context.number, params)?;
        let sample = match params.min_count {
            None => part.sample(&context.request.budget, context.progress)?,
            Some(_) => Spectrum::default(),
        };
        if self.stores {
            context.state.buckets.insert(context.number, part);
        }
        Ok(sample)
    }

    fn combine(mut left: Spectrum, right: Spectrum) -> Result<Spectrum> {
        left.merge(&right);
        Ok(left)
    }
}

impl WireValue for Spectrum {
    fn into_bytes(self) -> Result<Vec<u8>> {
        Ok(codec::spectrum_bytes(&self))
    }

    fn from_bytes(bytes: Cow<'_, [u8]>) -> Result<Self> {
        let mut spectrum = Self::default();
        codec::add_spectrum(&bytes, &mut spectrum)?;
        Ok(spectrum)
    }
}
