//! Workers of an engine, which do fragments and vertex programs in rounds.

use std::cell::{Cell, OnceCell};
use std::marker::PhantomData;

use cuesta_core::Result;
use cuesta_core::budget::Lease;
use cuesta_core::job::{Context, Response, timed};
use cuesta_runtime::operation::{Operation, RoundPlan};
use cuesta_runtime::rounds::Resources;
use cuesta_runtime::sequential::Rounds;
use cuesta_runtime::state::State;

use super::Step;
use super::compact::{CompactReads, CompactStored};
use super::divide::{DivideInput, Division};
use super::place::PlaceReads;
use super::remaining::ReturnVertices;
use super::sample::SampleReads;
use super::shares::SourceShares;
use super::superstep::{RunSuperstep, SUPERSTEPS};
use super::text::CompactText;
use super::vertices::{Vertices, forget};
use super::worker::PackedResults;
use crate::kernel::anchors::Anchors;
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;
use crate::kernel::placements::Placements;
use crate::kernel::sequences::Paths;
use crate::kernel::simplify::PathGraph;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::part::spread;
use crate::kernel::supersteps::program::{Control, VertexProgram};
use crate::method::Method;
use crate::pairs::{SolidSequences, place};
use crate::stages::checkpoint::stage::StageCheckpoint;
use crate::stages::wire;
use crate::stages::workers::{LevelParams, WorkerResults, Workers};
use cuesta_input::reads::{Pairing, Reads, input_bytes, shares};

/// Approximate bytes of the reads of a part, where workers do not keep parts.
const PART_BYTES: u64 = 64 << 20;
/// Packed bytes of solid sequences that a task divides.
const SOLID_BYTES: usize = 1 << 20;
/// Most packed bytes of paths that are sent to tasks that place reads, and bytes of worker memory
/// that a base of the paths needs.
const PATHS_BYTES_MAX: u64 = 64 << 20;
const PLACED_TIMES: u64 = 16;
/// Phase of the rounds on pairs.
pub(super) const PAIRS_PHASE: &str = "pairs";

/// Workers that run rounds.
pub(super) struct RemoteWorkers<'r, 'c, M> {
    pub(super) rounds: &'r Rounds,
    pub(super) context: &'c Context<'c>,
    pub(super) resources: Resources,
    /// Number of rounds so far in which parts stored vertices or messages.
    pub(super) steps: &'r Cell<Step>,
    /// Shares of the placed reads with their numbers of records, once counted.
    pub(super) records: &'r OnceCell<Vec<SourceShares>>,
    pub(super) method: PhantomData<M>,
}

impl<'c, M: Method> Workers<'c> for RemoteWorkers<'_, 'c, M> {
    fn fragments(
        &self,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        _: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>> {
        if params.pairing.has_pairs() && solid.is_none() {
            self.sources(params.pairing, response)?;
        }
        let parts = self.parts(params.buckets())?;
        let (mut division, step) = (Division { params: *params, parts }, self.next_step());
        let results = if let (true, Some(stage)) = (self.resources.text, M::TEXT) {
            let shares = self.shares(params, response)?;
            let operation = CompactText::<M> { division, step, method: PhantomData };
            let plan = self.dividing(operation, shares, division);
            self.rounds.run(RoundPlan { phase: stage.name.to_owned(), ..plan }, response)?
        } else {
            let inputs = self.inputs(params, solid.as_ref(), response)?;
            drop(solid);
            self.compacted(&mut division, step, inputs, response)?
        };
        self.added(results)
    }

    fn place(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Placements> {
        if let Some(plan) = self.placing(graph, pairing, response)?
            && let Some(placements) = self.rounds.combined(plan, response)?
        {
            return Ok(placements.grouped());
        }
        timed(response, "pairs", || {
            let reads = Reads::open(&self.context.request.inputs, pairing)?;
            Ok((place::place(self.context, graph, (&reads, pairing))?, 0, 0))
        })
    }

    fn joined<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        params: &LevelParams,
        _: Fragments<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        self.program(control, vec![None; self.parts(params.buckets())?], response)
    }

    fn simplified<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        paths: Paths<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        let parts = self.parts(usize::MAX)?;
        let vertices = spread(&paths, parts)?;
        drop(paths);
        let size_bytes = vertices.iter().map(|vertices| vertices.len() as u64).sum();
        let _lease = self.lease(size_bytes)?;
        self.program(control, vertices.into_iter().map(Some).collect(), response)
    }
}

impl<'r, 'c, M: Method> RemoteWorkers<'r, 'c, M> {
    /// Returns the number of parts for this many buckets.
    ///
    /// # Errors
    /// `System` when the reads no longer exist.
    pub(super) fn parts(&self, buckets: usize) -> Result<usize> {
        let slots = self.resources.slots;
        if self.resources.keeps {
            return Ok(slots.min(buckets));
        }
        let read_bytes = input_bytes(&self.context.request.inputs)?;
        let count = slots.max(read_bytes.div_ceil(PART_BYTES) as usize);
        Ok(self.resources.tasks.unwrap_or(count).min(buckets))
    }

    /// Returns the inputs of tasks that divide the reads and the solid sequences.
    fn inputs(
        &self,
        params: &LevelParams,
        solid: Option<&SolidSequences<'_>>,
        response: &mut Response,
    ) -> Result<Vec<DivideInput>> {
        let reads = self.shares(params, response)?.into_iter().map(DivideInput::Reads);
        let pieces = solid.map(|solid| wire::solid_pieces(solid, SOLID_BYTES));
        let solid = pieces.into_iter().flatten().map(DivideInput::Solid);
        Ok(reads.chain(solid).collect())
    }

    /// Divides super-k-mers among parts, which count and compact them; sets the cutoff from a
    /// sample unless it is already set.
    fn compacted(
        &self,
        division: &mut Division,
        step: Step,
        inputs: Vec<DivideInput>,
        response: &mut Response,
    ) -> Result<Vec<PackedResults>> {
        if self.resources.keeps {
            let operation = SampleReads { division: *division, stores: true };
            let plan = self.dividing(operation, inputs, *division);
            let plan = RoundPlan { phase: "partition".to_owned(), ..plan };
            set_cutoff(division, self.rounds.combined(plan, response)?);
            let operation = CompactStored { division: *division, step };
            let plan = RoundPlan::new(operation, vec![(); division.parts]);
            return self.rounds.run(plan, response);
        }
        if division.params.min_count.is_none() {
            let operation = SampleReads { division: *division, stores: false };
            let plan = self.dividing(operation, inputs.clone(), *division);
            set_cutoff(division, self.rounds.combined(plan, response)?);
        }
        let operation = CompactReads { division: *division, step };
        self.rounds.run(self.dividing(operation, inputs, *division), response)
    }

    /// Plans a round that divides the reads among parts.
    fn dividing<O: Operation>(
        &self,
        operation: O,
        inputs: Vec<O::Input>,
        Division { params, parts }: Division,
    ) -> RoundPlan<O> {
        let bytes = if params.only_solid { 0 } else { params.input_bytes };
        RoundPlan { bytes, parts, ..RoundPlan::new(operation, inputs) }
    }

    /// Adds the results of all parts.
    fn added(&self, results: Vec<PackedResults>) -> Result<WorkerResults<'c>> {
        let lease = |part: &PackedResults| self.lease(part.size_bytes());
        let leases = results.iter().map(lease).collect::<Result<Vec<_>>>()?;
        let mut all = wire::empty_results(self.context.budget);
        for (part, _lease) in results.into_iter().zip(leases) {
            part.add_to(&mut all)?;
        }
        Ok(all)
    }

    /// Plans a round that places reads; `None` where one process is faster or has to do it, as
    /// there are too many paths or unequal files.
    fn placing(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Option<RoundPlan<PlaceReads>>> {
        let bases = graph.paths.bases() as u64;
        let is_small =
            bases / 4 <= PATHS_BYTES_MAX && bases * PLACED_TIMES <= self.resources.worker_bytes();
        if !is_small || self.resources.slots == 1 {
            return Ok(None);
        }
        let mut shares = Vec::new();
        if pairing.has_pairs() {
            let sources = self.sources(pairing, response)?;
            let count = (self.placed_bytes()? / self.source_bytes(pairing)?.max(1)) as usize;
            let divided = sources
                .iter()
                .enumerate()
                .map(|(index, source)| source.divided((index, count), pairing));
            let Some(tasks) = divided.collect::<Option<Vec<_>>>() else { return Ok(None) };
            shares = tasks.concat();
        }
        let (_, singles) = pairing.split_files(&self.context.request.inputs);
        let singles = shares::split(singles, self.placed_bytes()?)?;
        shares.extend(self.singles(singles, pairing, response)?);
        let mut orientations = Vec::new();
        if pairing.has_pairs() {
            let anchors = Anchors::new(&graph.paths, self.context.budget)?;
            let reads = Reads::open(&self.context.request.inputs, pairing)?;
            orientations = place::orientations(&reads, pairing, &anchors)?;
        }
        let plan = RoundPlan::new(PlaceReads::new((pairing, orientations), graph), shares);
        let bytes = input_bytes(&self.context.request.inputs)?;
        Ok(Some(RoundPlan { phase: PAIRS_PHASE.to_owned(), bytes, ..plan }))
    }

    /// Runs the supersteps of a program to its end; returns the remaining vertices. There is an
    /// input for each part.
    fn program<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        mut inputs: Vec<Option<Vec<u8>>>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        let (k, parts) = (control.k, inputs.len());
        let mut state = State::new(self.resources, &self.context.request.scratch);
        while let Some(order) = control.program.order() {
            let vertices = Vertices { k, parts, step: self.next_step() };
            let operation = RunSuperstep::<P> { vertices, is_first: control.is_first(), order };
            let plan = RoundPlan::new(operation, inputs);
            let aggregates = self.rounds.combined(RoundPlan { parts, ..plan }, response)?;
            control.advance(&aggregates.ok_or_else(|| internal("no part told anything"))?)?;
            forget(&mut state, vertices.step - 1, parts)?;
            inputs = vec![None; parts];
        }
        let vertices = Vertices { k, parts, step: self.next_step() };
        let plan = RoundPlan::new(ReturnVertices(vertices), vec![(); parts]);
        let phase = SUPERSTEPS.to_owned();
        let results = self.rounds.run(RoundPlan { phase, ..plan }, response)?;
        forget(&mut state, vertices.step - 1, parts)?;
        Ok(self.added(results)?.fragments)
    }

    fn next_step(&self) -> Step {
        self.steps.set(self.steps.get() + 1);
        self.steps.get()
    }

    /// Leases memory for bytes that are sent to or received from parts.
    fn lease(&self, size_bytes: u64) -> Result<Lease<'c>> {
        self.context.budget.take(size_bytes, "what parts find or are given")
    }
}

/// Sets the cutoff from a sample, unless a cutoff is already set.
fn set_cutoff(Division { params, .. }: &mut Division, sample: Option<Spectrum>) {
    let k = params.k;
    params.min_count.get_or_insert_with(|| sample.unwrap_or_default().fit(k).min_count);
}
