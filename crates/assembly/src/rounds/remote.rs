//! Workers of an engine, which do fragments and vertex programs in rounds.

use std::cell::{Cell, OnceCell};
use std::path::PathBuf;

use cuesta_core::budget::{Lease, human};
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{Resources, Round};
use cuesta_runtime::sequential::Rounds;
use cuesta_runtime::state::State;
use cuesta_runtime::wire as values;

use super::divide::BucketPartitioner;
use super::place::{PlaceOrder, PlaceShare, SourceShares};
use super::vertices::forget;
use super::{PartAction, RoundOrder, Step, TaskInput, Vertices};
use crate::kernel::anchors::Anchors;
use crate::kernel::codec;
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;
use crate::kernel::placements::Placements;
use crate::kernel::sequences::Paths;
use crate::kernel::simplify::PathGraph;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::control::{Aggregates, Control};
use crate::kernel::supersteps::part::spread;
use crate::pairs::{SolidSequences, place};
use crate::stages::checkpoint::stage::StageCheckpoint;
use crate::stages::wire;
use crate::stages::workers::{LevelParams, WorkerResults, Workers};
use cuesta_input::reads::shares::{self, Share};
use cuesta_input::reads::{NameSums, Pairing, Reads, input_bytes};

/// Default bytes of reads that a task divides. Workers that keep their parts receive all blocks of
/// such a round of tasks at once, so their tasks are smaller.
const SHARE_BYTES: u64 = 16 << 20;
const KEPT_SHARE_BYTES: u64 = 8 << 20;
/// Approximate bytes of the reads of a part, where workers do not keep parts.
const PART_BYTES: u64 = 64 << 20;
/// Packed bytes of solid sequences that a task divides.
const SOLID_BYTES: usize = 1 << 20;
/// Most packed bytes of paths that are sent to tasks that place reads, and bytes of worker memory
/// that a base of the paths needs.
const PATHS_BYTES_MAX: u64 = 64 << 20;
const PLACED_TIMES: u64 = 16;
/// Tasks that place reads, per slot, and their least bytes: each task indexes all paths.
const PLACED_TASKS: u64 = 2;
const PLACED_SHARE_BYTES: u64 = 8 << 20;

/// Workers that run rounds.
pub(super) struct RemoteWorkers<'r, 'c> {
    pub(super) rounds: &'r Rounds,
    pub(super) context: &'c Context<'c>,
    pub(super) resources: Resources,
    /// Number of rounds so far in which parts stored vertices or messages.
    pub(super) steps: &'r Cell<Step>,
    /// Shares of the placed reads with their numbers of records, once counted.
    pub(super) records: &'r OnceCell<Vec<SourceShares>>,
}

impl<'c> Workers<'c> for RemoteWorkers<'_, 'c> {
    fn fragments(
        &self,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        _: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>> {
        let mut params = *params;
        if params.pairing.has_pairs() && solid.is_none() {
            self.sources(params.pairing, response)?;
        }
        let parts = self.parts(params.buckets())?;
        let tasks = self.tasks(&params, solid.as_ref())?;
        drop(solid);
        let to = BucketPartitioner { parts, only_sampled: false };
        let step = self.next_step();
        let results = if self.resources.text && params.is_of_paper() {
            self.round(
                "first stage",
                (RoundOrder::Pairs(params, parts, step), parts),
                tasks,
                response,
            )?
        } else if self.resources.keeps {
            let sample =
                self.divide("partition", (&params, to, PartAction::Keep), tasks, response)?;
            self.sampled(&mut params, &sample)?;
            let tasks = stored_tasks(parts)?;
            let round_order = RoundOrder::Compact(params, to, step);
            self.round("compact", (round_order, 0), tasks, response)?
        } else {
            if params.min_count.is_none() {
                let round_order = (&params, to, PartAction::Sample);
                let sample = self.divide("sample", round_order, tasks.clone(), response)?;
                self.sampled(&mut params, &sample)?;
            }
            let round_order = (&params, to, PartAction::Compact(step));
            self.divide("partition and compact", round_order, tasks, response)?
        };
        let lease = |part| self.lease(std::slice::from_ref(part));
        let leases = results.iter().map(lease).collect::<Result<Vec<_>>>()?;
        let mut all = wire::empty_results(self.context.budget);
        for (part, _lease) in results.into_iter().zip(leases) {
            wire::add_results(&part, &mut all)?;
        }
        if let Some(program) = params.program {
            let mut control = Control::new(params.k, program);
            all.fragments = self.program(&mut control, (parts, stored_tasks(parts)?), response)?;
            all.traffic = Some(control.traffic);
        }
        Ok(all)
    }

    fn place(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Placements> {
        if let Some(orders) = self.orders(graph, pairing, response)?
            && let Some(placements) = self.placed(graph.k, orders, response)?
        {
            return Ok(placements.grouped());
        }
        timed(response, "pairs", || {
            let reads = Reads::open(&self.context.request.inputs, pairing)?;
            Ok((place::place(self.context, graph, (&reads, pairing))?, 0, 0))
        })
    }

    fn supersteps(
        &self,
        control: &mut Control,
        paths: Paths<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        let parts = self.parts(usize::MAX)?;
        let vertices = spread(&paths, parts)?;
        drop(paths);
        let _lease = self.lease(&vertices)?;
        let input = |bytes| values::to_bytes(&TaskInput::Vertices(bytes));
        let tasks = vertices.into_iter().map(input).collect::<Result<_>>()?;
        self.program(control, (parts, tasks), response)
    }
}

impl<'r, 'c> RemoteWorkers<'r, 'c> {
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

    /// Returns the tasks that divide the reads and the solid sequences.
    fn tasks(
        &self,
        params: &LevelParams,
        solid: Option<&SolidSequences<'_>>,
    ) -> Result<Vec<Vec<u8>>> {
        let share_bytes = if self.resources.keeps { KEPT_SHARE_BYTES } else { SHARE_BYTES };
        let share_bytes = self.resources.task_bytes.unwrap_or(share_bytes);
        let inputs = if params.only_solid { &[] } else { &self.context.request.inputs[..] };
        let shares = shares::split(inputs, share_bytes)?;
        shares.iter().try_for_each(|share| self.require_room(share))?;
        let reads = shares.into_iter().map(TaskInput::Reads);
        let pieces = solid.map(|solid| wire::solid_pieces(solid, SOLID_BYTES));
        let solid = pieces.into_iter().flatten().map(TaskInput::Solid);
        reads.chain(solid).map(|input| values::to_bytes(&input)).collect()
    }

    /// Checks that a task has memory for its share, where that cannot be divided: its blocks take
    /// about as much as its text.
    fn require_room(&self, share: &Share) -> Result<()> {
        let room_bytes = self.resources.worker_bytes();
        let Some(text_bytes) = shares::unpacked_bytes(share, room_bytes)? else { return Ok(()) };
        let text = format!(
            "{} is packed in pieces too large for a task: one has some {} of reads, and {} of \
             memory; pack it with bgzip, unpack it, raise --memory, or use --engine native",
            share.path.display(),
            human(text_bytes),
            human(room_bytes),
        );
        Err(Error::input("memory", text))
    }

    /// Returns the instructions to tasks that place reads, and the tasks; `None` where one process
    /// is faster or has to do it, as there are too many paths or unequal files.
    fn orders(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Option<(PlaceOrder, Vec<PlaceShare>)>> {
        let bases = graph.paths.bases() as u64;
        let is_small =
            bases / 4 <= PATHS_BYTES_MAX && bases * PLACED_TIMES <= self.resources.worker_bytes();
        if !is_small || self.resources.slots == 1 {
            return Ok(None);
        }
        let mut shares = Vec::new();
        if pairing.has_pairs() {
            let sources = self.sources(pairing, response)?;
            let divided =
                sources.iter().enumerate().map(|(index, source)| source.divided(index, pairing));
            let Some(tasks) = divided.collect::<Option<Vec<_>>>() else { return Ok(None) };
            shares = tasks.concat();
        }
        let (_, singles) = pairing.split_files(&self.context.request.inputs);
        let singles = shares::split(singles, self.placed_bytes()?)?;
        shares.extend(singles.into_iter().map(PlaceShare::Single));
        let mut orientations = Vec::new();
        if pairing.has_pairs() {
            let anchors = Anchors::new(&graph.paths, self.context.budget)?;
            let reads = Reads::open(&self.context.request.inputs, pairing)?;
            orientations = place::orientations(&reads, pairing, &anchors)?;
        }
        Ok(Some((PlaceOrder::new(orientations, graph), shares)))
    }

    /// Returns the shares of all sources of pairs, with their names; tasks count their records
    /// once.
    fn sources(&self, pairing: Pairing, response: &mut Response) -> Result<&'r [SourceShares]> {
        if let Some(sources) = self.records.get() {
            return Ok(sources);
        }
        let (inputs, _) = pairing.split_files(&self.context.request.inputs);
        let (files, size_bytes) = (pairing.files(), self.placed_bytes()?);
        let split = |path: &PathBuf| shares::split(std::slice::from_ref(path), size_bytes);
        let all: Vec<Vec<Share>> = inputs.iter().map(split).collect::<Result<_>>()?;
        let input = |share: &Share| values::to_bytes(&TaskInput::Reads(share.clone()));
        let tasks = all.iter().flatten().map(input).collect::<Result<_>>()?;
        let counted = self.round("pairs", (RoundOrder::Count, 0), tasks, response)?;
        let mut counted = counted.iter().map(|bytes| values::from_bytes::<NameSums>(bytes));
        let (mut shares, mut names) = (Vec::new(), Vec::new());
        for file in all {
            let mut of_file = NameSums::default();
            let with_records: Vec<(Share, u64)> = file
                .into_iter()
                .map(|share| {
                    let sums = counted.next().ok_or_else(|| internal("a share not counted"))??;
                    of_file.append(&sums);
                    Ok((share, sums.reads))
                })
                .collect::<Result<_>>()?;
            shares.push(with_records);
            names.push(of_file);
        }
        let chunks = inputs.chunks(files).zip(shares.chunks(files)).zip(names.chunks(files));
        let sources: Vec<SourceShares> = chunks
            .map(|((paths, shares), names)| SourceShares {
                paths: paths.to_vec(),
                shares: shares.to_vec(),
                names: names.to_vec(),
            })
            .collect();
        sources.iter().try_for_each(|source| source.require_pairs(pairing))?;
        Ok(self.records.get_or_init(|| sources))
    }

    /// Returns the bytes of reads that a task places.
    fn placed_bytes(&self) -> Result<u64> {
        let all_bytes = input_bytes(&self.context.request.inputs)?;
        let tasks = PLACED_TASKS * self.resources.slots as u64;
        let share_bytes = all_bytes.div_ceil(tasks).max(PLACED_SHARE_BYTES);
        Ok(self.resources.task_bytes.unwrap_or(share_bytes))
    }

    /// Runs a round that places reads.
    fn placed(
        &self,
        k: usize,
        (order, shares): (PlaceOrder, Vec<PlaceShare>),
        response: &mut Response,
    ) -> Result<Option<Placements>> {
        let order = [values::to_bytes(&RoundOrder::Place(k))?, values::to_bytes(&order)?].concat();
        let input = |share| values::to_bytes(&TaskInput::Place(share));
        let round = Round {
            phase: "pairs".to_owned(),
            bytes: input_bytes(&self.context.request.inputs)?,
            shared: order,
            tasks: shares.into_iter().map(input).collect::<Result<_>>()?,
            combines: true,
            ..Round::default()
        };
        let placements = self.rounds.round(round, response)?;
        placements.first().map(|bytes| values::from_bytes(bytes)).transpose()
    }

    /// Runs a round that divides super-k-mers among parts.
    fn divide(
        &self,
        phase: &str,
        (params, to, action): (&LevelParams, BucketPartitioner, PartAction),
        tasks: Vec<Vec<u8>>,
        response: &mut Response,
    ) -> Result<Vec<Vec<u8>>> {
        self.round(phase, (RoundOrder::Divide(*params, to, action), to.parts), tasks, response)
    }

    fn round(
        &self,
        phase: &str,
        (round_order, parts): (RoundOrder, usize),
        tasks: Vec<Vec<u8>>,
        response: &mut Response,
    ) -> Result<Vec<Vec<u8>>> {
        let bytes = match round_order {
            RoundOrder::Divide(params, ..) | RoundOrder::Pairs(params, ..)
                if !params.only_solid =>
            {
                params.input_bytes
            }
            _ => 0,
        };
        let combines = match round_order {
            RoundOrder::Divide(_, _, PartAction::Compact(_)) | RoundOrder::Pairs(..) => false,
            RoundOrder::Divide(..) | RoundOrder::Superstep(..) | RoundOrder::Place(_) => true,
            RoundOrder::Compact(..) | RoundOrder::Remaining(_) | RoundOrder::Count => false,
        };
        let round = Round {
            phase: phase.to_owned(),
            bytes,
            shared: values::to_bytes(&round_order)?,
            tasks,
            parts,
            combines,
            is_text: matches!(round_order, RoundOrder::Pairs(..)),
            ..Round::default()
        };
        self.rounds.round(round, response)
    }

    /// Sets the cutoff from a sample, unless a cutoff is already set.
    fn sampled(&self, params: &mut LevelParams, sample: &[Vec<u8>]) -> Result<()> {
        let mut spectrum = Spectrum::default();
        sample.iter().try_for_each(|bytes| codec::add_spectrum(bytes, &mut spectrum))?;
        params.min_count.get_or_insert_with(|| spectrum.fit(params.k).min_count);
        Ok(())
    }

    /// Runs the supersteps of a program to its end; returns the remaining vertices.
    fn program(
        &self,
        control: &mut Control,
        (parts, mut tasks): (usize, Vec<Vec<u8>>),
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        const PHASE: &str = "supersteps";
        let mut state = State::new(self.resources, &self.context.request.scratch);
        while let Some(order) = control.order() {
            let place = Vertices { k: control.k, parts, step: self.next_step() };
            let round_order = (RoundOrder::Superstep(place, order), parts);
            let results = self.round(PHASE, round_order, tasks, response)?;
            let aggregates = results.first().ok_or_else(|| internal("no part told anything"))?;
            control.advance(&Aggregates::of(values::from_bytes(aggregates)?))?;
            forget(&mut state, place.step - 1, parts)?;
            tasks = stored_tasks(parts)?;
        }
        let place = Vertices { k: control.k, parts, step: self.next_step() };
        let results = self.round(PHASE, (RoundOrder::Remaining(place), 0), tasks, response)?;
        forget(&mut state, place.step - 1, parts)?;
        let _lease = self.lease(&results)?;
        let mut remaining = Fragments::none(self.context.budget);
        results.iter().try_for_each(|bytes| remaining.append_bytes(bytes))?;
        Ok(remaining)
    }

    fn next_step(&self) -> Step {
        self.steps.set(self.steps.get() + 1);
        self.steps.get()
    }

    /// Leases memory for bytes that are sent to or received from parts.
    fn lease(&self, bytes: &[Vec<u8>]) -> Result<Lease<'c>> {
        let all = bytes.iter().map(|bytes| bytes.len() as u64).sum();
        self.context.budget.take(all, "what parts find or are given")
    }
}

/// Returns a task for each part, on its stored data.
fn stored_tasks(parts: usize) -> Result<Vec<Vec<u8>>> {
    (0..parts).map(|_| values::to_bytes(&TaskInput::Stored)).collect()
}
