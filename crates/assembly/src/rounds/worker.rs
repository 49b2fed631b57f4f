//! Worker for the tasks and parts of a run.

use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_runtime::rounds::{Blocks, Bytes, Resources, Task, Worker};
use cuesta_runtime::wire as values;

use super::divide::{self, BucketPartitioner, Divided};
use super::pairs;
use super::part::BucketPart;
use super::place;
use super::vertices::PartStore;
use super::{PartAction, RoundOrder, Step, TaskInput, Vertices};
use crate::kernel::codec;
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;

use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::control::{Aggregates, SuperstepOrder};
use crate::kernel::supersteps::part::{VertexPart, spread};
use crate::stages::wire;
use crate::stages::workers::LevelParams;

/// Worker; see [`super::work`].
pub(super) struct Work {
    /// Request of the run, with the memory of a worker.
    request: Request,
    /// Super-k-mers by part.
    parts: BTreeMap<usize, BucketPart>,
    /// Received blocks of vertices or messages by part.
    received: BTreeMap<usize, Vec<Bytes>>,
    store: PartStore,
}

impl Work {
    pub(super) fn new(request: Request, resources: Resources) -> Self {
        let store = PartStore::new(resources, &request.scratch);
        Self { request, parts: BTreeMap::new(), received: BTreeMap::new(), store }
    }

    /// Returns a part that receives data, and creates it if it is new.
    fn open(&mut self, part: usize, params: &LevelParams) -> &mut BucketPart {
        self.parts.entry(part).or_insert_with(|| BucketPart::new(params, &self.request))
    }

    /// Takes the super-k-mers of a part, which are complete.
    fn of_part(&mut self, part: usize, params: &LevelParams) -> Result<BucketPart> {
        let received = self.parts.remove(&part);
        let mut part = received.unwrap_or_else(|| BucketPart::new(params, &self.request));
        part.close()?;
        Ok(part)
    }

    /// Counts and compacts a part; returns the results, and stores the fragments for a vertex
    /// program if there is one.
    fn compacted(
        &mut self,
        number: usize,
        (params, parts, step): (&LevelParams, usize, Step),
        progress: &Progress,
    ) -> Result<Vec<u8>> {
        let part = self.of_part(number, params)?;
        let budget = &self.request.budget;
        let _lease = part.lease(budget)?;
        let results = part.results(params, budget, progress)?;
        if params.program.is_none() {
            return Ok(wire::results_bytes(&results));
        }
        let vertices = spread(&results.fragments, parts)?;
        self.store.put(step, number, (None, &vertices))?;
        Ok(wire::facts_bytes(&results))
    }

    /// Runs a superstep of a part; returns its report.
    fn superstep(
        &mut self,
        part: usize,
        place: &Vertices,
        order: &SuperstepOrder,
    ) -> Result<Vec<u8>> {
        let received = self.received.remove(&part).unwrap_or_default();
        let blocks: Vec<&[u8]> = received.iter().map(|block| (**block).as_ref()).collect();
        let is_first = order.superstep == 0;
        let mut vertices = if is_first {
            VertexPart::begin(place.k, place.parts, &blocks)?
        } else {
            self.store.vertices(place, part)?
        };
        let _lease =
            self.request.budget.take(vertices.size_bytes() as u64, "a part of the vertices")?;
        let (sent, aggregates) = vertices.step(order, if is_first { &[] } else { &blocks })?;
        self.store.put(place.step, part, (Some(vertices), &sent.parts))?;
        values::to_bytes(&aggregates.numbers())
    }

    /// Returns the remaining vertices of a part.
    fn remaining(&mut self, part: usize, place: &Vertices) -> Result<Vec<u8>> {
        let mut remaining = Fragments::none(&self.request.budget);
        self.store.vertices(place, part)?.finish(&mut remaining)?;
        Ok(remaining.blocks().collect::<Vec<_>>().concat())
    }
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let number = task.number;
        let input: TaskInput = values::from_bytes(task.input)?;
        let (round_order, paths) = values::first_of_bytes(task.shared)?;
        let result = match (round_order, input) {
            (RoundOrder::Divide(params, to, action), input) => {
                let to =
                    BucketPartitioner { only_sampled: matches!(action, PartAction::Sample), ..to };
                let Divided { bytes, ends } = match input {
                    TaskInput::Reads(share) => divide::divide(&params, &share, to, progress)?,
                    TaskInput::Solid(bytes) => divide::divide_solid(&params, &bytes, to)?,
                    _ => return Err(unexpected()),
                };
                return Ok((Vec::new(), Blocks { bytes, ends }));
            }
            (RoundOrder::Pairs(params, parts, _), TaskInput::Reads(share)) => {
                let Divided { bytes, ends } = pairs::divide(&params, &share, parts, progress)?;
                return Ok((Vec::new(), Blocks { bytes, ends }));
            }
            (RoundOrder::Pairs(..), _) => return Err(unexpected()),
            (RoundOrder::Compact(params, to, step), _) => {
                self.compacted(number, (&params, to.parts, step), progress)?
            }
            (RoundOrder::Superstep(..), TaskInput::Vertices(bytes)) => {
                let ends = (0..=number).map(|part| if part < number { 0 } else { bytes.len() });
                let ends = ends.map(|end| end as u64).collect();
                return Ok((Vec::new(), Blocks { ends, bytes }));
            }
            (RoundOrder::Superstep(place, _), _) => {
                return Ok((Vec::new(), self.store.sent(&place, number)?));
            }
            (RoundOrder::Remaining(place), _) => self.remaining(number, &place)?,
            (RoundOrder::Count, TaskInput::Reads(share)) => place::count(&share)?,
            (RoundOrder::Place(k), TaskInput::Place(share)) => {
                place::place(&self.request, (k, paths), &share, progress)?
            }
            (RoundOrder::Count | RoundOrder::Place(_), _) => return Err(unexpected()),
        };
        Ok((result, Blocks::default()))
    }

    fn take(&mut self, part: Task<'_>, _: usize, block: Bytes) -> Result<()> {
        match values::from_bytes(part.shared)? {
            RoundOrder::Divide(params, ..) => {
                self.open(part.number, &params).take((*block).as_ref())
            }
            RoundOrder::Pairs(params, ..) => {
                self.open(part.number, &params).take_pairs((*block).as_ref())
            }
            RoundOrder::Superstep(..) => {
                self.received.entry(part.number).or_default().push(block);
                Ok(())
            }
            RoundOrder::Compact(..)
            | RoundOrder::Remaining(_)
            | RoundOrder::Count
            | RoundOrder::Place(_) => Err(unexpected()),
        }
    }

    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let number = part.number;
        match values::from_bytes(part.shared)? {
            RoundOrder::Divide(params, to, PartAction::Compact(step)) => {
                self.compacted(number, (&params, to.parts, step), progress)
            }
            RoundOrder::Pairs(params, parts, step) => {
                self.compacted(number, (&params, parts, step), progress)
            }
            RoundOrder::Divide(params, _, action) => {
                let of_part = self.of_part(number, &params)?;
                let sample = match params.min_count {
                    None => of_part.sample(&self.request.budget, progress)?,
                    Some(_) => Spectrum::default(),
                };
                if matches!(action, PartAction::Keep) {
                    self.parts.insert(number, of_part);
                }
                Ok(codec::spectrum_bytes(&sample))
            }
            RoundOrder::Superstep(place, order) => self.superstep(number, &place, &order),
            RoundOrder::Compact(..)
            | RoundOrder::Remaining(_)
            | RoundOrder::Count
            | RoundOrder::Place(_) => Err(unexpected()),
        }
    }

    fn combine(&self, shared: &[u8], first: Vec<u8>, second: &[u8]) -> Result<Vec<u8>> {
        match values::first_of_bytes(shared)?.0 {
            RoundOrder::Divide(..) => {
                let mut both = Spectrum::default();
                codec::add_spectrum(&first, &mut both)?;
                codec::add_spectrum(second, &mut both)?;
                Ok(codec::spectrum_bytes(&both))
            }
            RoundOrder::Superstep(..) => {
                let mut both = Aggregates::of(values::from_bytes(&first)?);
                both.add(&Aggregates::of(values::from_bytes(second)?));
                values::to_bytes(&both.numbers())
            }
            RoundOrder::Place(_) => place::combine(&first, second),
            RoundOrder::Pairs(..)
            | RoundOrder::Compact(..)
            | RoundOrder::Remaining(_)
            | RoundOrder::Count => Err(unexpected()),
        }
    }
}

fn unexpected() -> cuesta_core::Error {
    internal("a round found what it was not asked for")
}
