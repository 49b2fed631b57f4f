//! Data that parts store from one superstep to the next: their vertices, and messages to send.

use std::collections::BTreeMap;
use std::path::Path;

use cuesta_core::Result;
use cuesta_runtime::blocks::Blocks;
use cuesta_runtime::rounds::Resources;
use cuesta_runtime::state::State;
use serde::{Deserialize, Serialize};

use super::Step;
use crate::kernel::codec::ByteReader;
use crate::kernel::internal;
use crate::kernel::supersteps::part::VertexPart;

/// Names of stored values, which the step and the part complete.
const VERTICES: &str = "vertices";
const SENT: &str = "sent";

/// Vertices of a graph that is distributed over parts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Vertices {
    pub(super) k: usize,
    pub(super) parts: usize,
    /// Number of this round; values of the last round are stored under the number before.
    pub(super) step: Step,
}

/// Stored data of the parts of a worker, or of all workers where these share a store.
pub(super) enum PartStore {
    /// Values in memory, where a part always runs on the same worker.
    Local(BTreeMap<usize, (Option<VertexPart>, Blocks)>),
    /// Encoded values that any worker can read.
    Shared(State),
}

impl PartStore {
    /// Creates an empty store.
    pub(super) fn new(resources: Resources, scratch: &Path) -> Self {
        if resources.keeps {
            Self::Local(BTreeMap::new())
        } else {
            Self::Shared(State::new(resources, scratch))
        }
    }

    /// Stores the vertices of a part, if there are any yet, and the messages to send in the next
    /// step.
    pub(super) fn put(
        &mut self,
        step: Step,
        part: usize,
        (vertices, sent): (Option<VertexPart>, &[Vec<u8>]),
    ) -> Result<()> {
        match self {
            Self::Local(all) => {
                all.insert(part, (vertices, Blocks::of(sent)));
                Ok(())
            }
            Self::Shared(state) => {
                state.put(&name(SENT, step, part), sent_bytes(sent))?;
                let vertices = vertices.map(|vertices| vertices.to_bytes());
                vertices.map_or(Ok(()), |bytes| state.put(&name(VERTICES, step, part), bytes))
            }
        }
    }

    /// Takes the messages that a part sends in a step.
    pub(super) fn sent(&mut self, place: &Vertices, part: usize) -> Result<Blocks> {
        match self {
            Self::Local(all) => {
                let (_, sent) = all.get_mut(&part).ok_or_else(nothing)?;
                Ok(std::mem::take(sent))
            }
            Self::Shared(state) => {
                let bytes = state.get(&name(SENT, place.step - 1, part))?;
                sent_blocks((*bytes).as_ref())
            }
        }
    }

    /// Takes the vertices of a part before a step.
    pub(super) fn vertices(&mut self, place: &Vertices, part: usize) -> Result<VertexPart> {
        match self {
            Self::Local(all) => {
                all.get_mut(&part).and_then(|(vertices, _)| vertices.take()).ok_or_else(nothing)
            }
            Self::Shared(state) => {
                let bytes = state.get(&name(VERTICES, place.step - 1, part))?;
                VertexPart::from_bytes(place.k, place.parts, (*bytes).as_ref())
            }
        }
    }
}

/// Removes the data that all parts stored in a step; the leader calls it.
pub(super) fn forget(state: &mut State, step: Step, parts: usize) -> Result<()> {
    (0..parts).try_for_each(|part| {
        state.forget(&name(SENT, step, part))?;
        state.forget(&name(VERTICES, step, part))
    })
}

fn name(what: &str, step: Step, part: usize) -> String {
    format!("{step}.{what}.{part}")
}

fn nothing() -> cuesta_core::Error {
    internal("a part has kept nothing")
}

/// Encodes the number of blocks, the end of each, and their bytes.
fn sent_bytes(sent: &[Vec<u8>]) -> Vec<u8> {
    let Blocks { bytes, ends } = Blocks::of(sent);
    let mut all = Vec::with_capacity(bytes.len() + (ends.len() + 1) * size_of::<u64>());
    all.extend((ends.len() as u64).to_le_bytes());
    ends.iter().for_each(|end| all.extend(end.to_le_bytes()));
    all.extend(bytes);
    all
}

fn sent_blocks(all: &[u8]) -> Result<Blocks> {
    let mut reader = ByteReader(all);
    let ends = (0..reader.u64()?).map(|_| reader.u64()).collect::<Result<_>>()?;
    Ok(Blocks { ends, bytes: reader.0.to_vec() })
}
