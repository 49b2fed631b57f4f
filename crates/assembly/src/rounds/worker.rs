//! What does the tasks and parts of a run.

use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_runtime::rounds::{Blocks, Bytes, Resources, Task, Worker};
use cuesta_runtime::wire as values;

use super::divide::{self, BucketPartitioner, Divided};
use super::pairs;
use super::part::BucketPart;
use super::place;
use super::vertices::PartStore;
use super::{Asked, Own, Step, Then, Vertices};
use crate::kernel::codec;
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;

use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::control::{Aggregates, SuperstepOrder};
use crate::kernel::supersteps::part::{VertexPart, spread};
use crate::stages::ask::Ask;
use crate::stages::wire;

/// Does tasks; see [`super::work`].
pub(super) struct Work {
    /// That of the run, with the memory of a worker.
    request: Request,
    /// Super-k-mers by part.
    parts: BTreeMap<usize, BucketPart>,
    /// Blocks of vertices or messages by part.
    received: BTreeMap<usize, Vec<Bytes>>,
    kept: PartStore,
}

impl Work {
    pub(super) fn new(request: Request, resources: Resources) -> Self {
        let kept = PartStore::new(resources, &request.scratch);
        Self { request, parts: BTreeMap::new(), received: BTreeMap::new(), kept }
    }

    /// A part that is given something.
    fn open(&mut self, part: usize, ask: &Ask) -> &mut BucketPart {
        self.parts.entry(part).or_insert_with(|| BucketPart::new(ask, &self.request))
    }

    /// The super-k-mers of a part, all of which have come.
    fn of_part(&mut self, part: usize, ask: &Ask) -> Result<BucketPart> {
        let kept = self.parts.remove(&part);
        let mut part = kept.unwrap_or_else(|| BucketPart::new(ask, &self.request));
        part.close()?;
        Ok(part)
    }

    /// Counts and compacts a part; what was found, of which a vertex program has the fragments.
    fn compacted(
        &mut self,
        number: usize,
        (ask, parts, step): (&Ask, usize, Step),
        progress: &Progress,
    ) -> Result<Vec<u8>> {
        let part = self.of_part(number, ask)?;
        let budget = part.budget();
        let found = part.found(ask, &budget, progress)?;
        if ask.program.is_none() {
            return Ok(wire::found_bytes(&found));
        }
        let vertices = spread(&found.fragments, parts)?;
        self.kept.keep(step, number, (None, &vertices))?;
        Ok(wire::facts_bytes(&found))
    }

    /// A superstep of a part; what it tells.
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
            self.kept.vertices(place, part)?
        };
        let budget = Budget::new(self.request.memory_bytes);
        let _lease = budget.take(vertices.size_bytes() as u64, "a part of the vertices")?;
        let (sent, aggregates) = vertices.step(order, if is_first { &[] } else { &blocks })?;
        self.kept.keep(place.step, part, (Some(vertices), &sent.parts))?;
        values::to_bytes(&aggregates.numbers())
    }

    /// What is left of the vertices of a part.
    fn left(&mut self, part: usize, place: &Vertices) -> Result<Vec<u8>> {
        let budget = Budget::new(self.request.memory_bytes);
        let mut left = Fragments::none(&budget);
        self.kept.vertices(place, part)?.finish(&mut left)?;
        Ok(left.blocks().collect::<Vec<_>>().concat())
    }
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let number = task.number;
        let own: Own = values::from_bytes(task.input)?;
        let (asked, paths) = values::first_of_bytes(task.shared)?;
        let found = match (asked, own) {
            (Asked::Divide(ask, to, then), own) => {
                let to = BucketPartitioner { only_sampled: matches!(then, Then::Sample), ..to };
                let Divided { bytes, ends } = match own {
                    Own::Reads(share) => divide::divide(&ask, &share, to, progress)?,
                    Own::Solid(bytes) => divide::divide_solid(&ask, &bytes, to)?,
                    _ => return Err(unexpected()),
                };
                return Ok((Vec::new(), Blocks { bytes, ends }));
            }
            (Asked::Pairs(ask, parts, _), Own::Reads(share)) => {
                let Divided { bytes, ends } = pairs::divide(&ask, &share, parts, progress)?;
                return Ok((Vec::new(), Blocks { bytes, ends }));
            }
            (Asked::Pairs(..), _) => return Err(unexpected()),
            (Asked::Compact(ask, to, step), _) => {
                self.compacted(number, (&ask, to.parts, step), progress)?
            }
            (Asked::Superstep(..), Own::Vertices(bytes)) => {
                let ends = (0..=number).map(|part| if part < number { 0 } else { bytes.len() });
                let ends = ends.map(|end| end as u64).collect();
                return Ok((Vec::new(), Blocks { ends, bytes }));
            }
            (Asked::Superstep(place, _), _) => {
                return Ok((Vec::new(), self.kept.sent(&place, number)?));
            }
            (Asked::Left(place), _) => self.left(number, &place)?,
            (Asked::Count, Own::Reads(share)) => place::count(&share)?,
            (Asked::Place(k), Own::Place(share)) => {
                place::place(&self.request, (k, paths), &share, progress)?
            }
            (Asked::Count | Asked::Place(_), _) => return Err(unexpected()),
        };
        Ok((found, Blocks::default()))
    }

    fn take(&mut self, part: Task<'_>, _: usize, block: Bytes) -> Result<()> {
        match values::from_bytes(part.shared)? {
            Asked::Divide(ask, ..) => self.open(part.number, &ask).take((*block).as_ref()),
            Asked::Pairs(ask, ..) => self.open(part.number, &ask).take_pairs((*block).as_ref()),
            Asked::Superstep(..) => {
                self.received.entry(part.number).or_default().push(block);
                Ok(())
            }
            Asked::Compact(..) | Asked::Left(_) | Asked::Count | Asked::Place(_) => {
                Err(unexpected())
            }
        }
    }

    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let number = part.number;
        match values::from_bytes(part.shared)? {
            Asked::Divide(ask, to, Then::Compact(step)) => {
                self.compacted(number, (&ask, to.parts, step), progress)
            }
            Asked::Pairs(ask, parts, step) => self.compacted(number, (&ask, parts, step), progress),
            Asked::Divide(ask, _, then) => {
                let of_part = self.of_part(number, &ask)?;
                let sample = match ask.min_count {
                    None => of_part.sample(progress)?,
                    Some(_) => Spectrum::default(),
                };
                if matches!(then, Then::Keep) {
                    self.parts.insert(number, of_part);
                }
                Ok(codec::spectrum_bytes(&sample))
            }
            Asked::Superstep(place, order) => self.superstep(number, &place, &order),
            Asked::Compact(..) | Asked::Left(_) | Asked::Count | Asked::Place(_) => {
                Err(unexpected())
            }
        }
    }

    fn combine(&self, shared: &[u8], one: Vec<u8>, other: &[u8]) -> Result<Vec<u8>> {
        match values::first_of_bytes(shared)?.0 {
            Asked::Divide(..) => {
                let mut both = Spectrum::default();
                codec::add_spectrum(&one, &mut both)?;
                codec::add_spectrum(other, &mut both)?;
                Ok(codec::spectrum_bytes(&both))
            }
            Asked::Superstep(..) => {
                let mut both = Aggregates::of(values::from_bytes(&one)?);
                both.add(&Aggregates::of(values::from_bytes(other)?));
                values::to_bytes(&both.numbers())
            }
            Asked::Place(_) => place::combine(&one, other),
            Asked::Pairs(..) | Asked::Compact(..) | Asked::Left(_) | Asked::Count => {
                Err(unexpected())
            }
        }
    }
}

fn unexpected() -> cuesta_core::Error {
    internal("a round found what it was not asked for")
}
