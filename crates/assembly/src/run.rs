//! The workload: a stage for each size of k-mers, one more for bridges by read pairs, then the
//! answer.

use std::path::Path;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Context, Phase, Request, Response, timed};
use cuesta_core::pages::release_freed;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::buckets::cut::check;
use crate::kernel::depth::Depth;
use crate::kernel::simplify::PathGraph;
use crate::kernel::spectrum::Fit;
use crate::method::{Method, parameters};
use crate::pairs::joins;
use crate::pairs::scaffolds::{self, Scaffolds};
use crate::pairs::{self, Bridged};
use crate::params::{K_MIN, Plan};
use crate::sampling::{self, SampledReads};
use crate::stages::Stage;
use crate::stages::checkpoint::stage::StageCheckpoint;
use crate::stages::checkpoint::{Checkpoint, NextLevel};
use crate::stages::level::Level;
use crate::stages::local::Local;
use crate::stages::short_contigs::ShortContigs;
use crate::stages::workers::Workers;
use crate::stages::write::{self, BEFORE_FOLDER, LastGraph};
use cuesta_input::distinct::Distinct;
use cuesta_input::reads::trim::TrimCounts;
use cuesta_input::reads::{Pairing, ReadBatch, Reads, Sampling, distinct, input_bytes};

/// Runs the workload on the threads of this process.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run<M: Method>(request: &Request, progress: &Progress) -> Result<Response> {
    let context = Context::new(request, progress);
    run_with::<M>(&context, &Local::new(&context))
}

/// Runs the workload with these workers for fragments and reads.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run_with<'c, M: Method>(
    context: &'c Context<'c>,
    workers: &impl Workers<'c>,
) -> Result<Response> {
    release_freed();
    let request = context.request;
    request.require_inputs()?;
    let (plan, method) = plan::<M>(context, sampling::sample)?;
    let text_bytes = input_bytes(&request.inputs)?;
    let first_reads = if plan.options.trims() { None } else { Some(first_reads(context, &plan)?) };
    let min_contig = plan.options.min_contig;
    let mut assembly = Assembly {
        context,
        plan,
        method,
        workers,
        response: Response::default(),
        levels: Vec::new(),
        text_bytes,
    };
    context.progress.expect(assembly.text_bytes_in_all());
    let graph = assembly.run()?;
    let depth = depth(&graph, assembly.levels.last());
    let scaffolds = assembly.scaffolds(&graph, depth)?;
    let (graph, scaffolds) = joins::joined(graph, scaffolds, context.budget)?;
    context.progress.reach(assembly.text_bytes_in_all());
    let Assembly { mut response, levels, method, .. } = assembly;
    let output = &request.output;
    let (short, numbers) = timed(&mut response, "write", || {
        let options = (depth, min_contig);
        let short = short_contigs(output, &graph, (&levels[..], context.budget))?;
        let last = LastGraph { graph: &graph, short: &short, scaffolds: scaffolds.as_ref() };
        let (bytes, numbers) = write::contigs(output, &last, options)?;
        Ok(((short, numbers), bytes, graph.paths.len() as u64))
    })?;
    response.phases = merged(response.phases);
    let results = (&levels[..], numbers.as_ref());
    response.counts = write::stats(output, (&graph, &short), results, min_contig)?;
    if let Some(first) = first_reads.filter(|first| first.adapters.reads > 0) {
        response.counts.insert("first_reads", first.reads);
        response.counts.insert("first_reads_with_adapters", first.adapters.reads);
    }
    if let Some(first) = levels.first() {
        method.add_counts(&first.facts, &mut response.counts);
    }
    Ok(response)
}

/// Files of reads, each of which counts once.
const DISTINCT_READS: Distinct =
    Distinct { operation: "input.reads", noun: "file of reads", compares_content: true };

/// Function that returns which reads of a pairing give a depth, and the facts of all.
pub type Sampler = fn(&Context<'_>, (Pairing, u64)) -> Result<(Sampling, SampledReads)>;

/// Plans the run, by the parameters and the first reads; `sampler` finds the reads of a depth.
///
/// # Errors
/// `Input` naming a parameter that is out of range, or a file without reads; `System`.
pub fn plan<M: Method>(context: &Context<'_>, sampler: Sampler) -> Result<(Plan, M)> {
    let inputs = &context.request.inputs;
    let (mut options, method) = parameters::<M>(&context.request.parameters)?;
    DISTINCT_READS.require(inputs)?;
    distinct::require(inputs)?;
    if options.pairing().has_pairs() && options.singles >= inputs.len() {
        let text = format!(
            "--singles is {}, of {} files; give fewer, so that files of pairs remain",
            options.singles,
            inputs.len()
        );
        return Err(Error::input("assemble", text));
    }
    let mut sampled = None;
    if let Some(depth) = options.depth {
        let (sampling, facts) = sampler(context, (options.pairing(), depth))?;
        (options.sampling, sampled) = (sampling, Some(facts));
    }
    let is_alone = !options.trims() && options.sampling.is_all();
    let pairing = if is_alone { Pairing::NONE } else { options.pairing() };
    let (longest, trimmed) = longest_read((context, pairing), options.read_bases_wanted())?;
    if longest < K_MIN && trimmed.cut_letters() > 0 {
        return Err(Error::input("assemble", cut_away(longest, &trimmed)));
    }
    Ok((Plan { sampled, ..options.check(longest)? }, method))
}

/// Returns the contigs that are too short for the last graph, if its k-mers come from contigs and
/// bridges.
///
/// # Errors
/// `Input` when they do not fit in the budget; `System`.
pub fn short_contigs(
    output: &Path,
    graph: &PathGraph<'_>,
    (levels, budget): (&[Level], &Budget),
) -> Result<ShortContigs> {
    match levels {
        [.., before, last] if last.pair_facts.is_some() => {
            let folder = output.join(BEFORE_FOLDER);
            ShortContigs::find(graph, (folder.as_path(), before.k), budget)
        }
        _ => Ok(ShortContigs::default()),
    }
}

/// Returns the fit to the spectrum of the only size of k-mers so far; `None` after more sizes.
pub fn only(levels: &[Level]) -> Option<&Fit> {
    if let [level] = levels { Some(&level.fit) } else { None }
}

/// Returns the conversion of k-mer counts of a graph to the depth of the reads.
fn depth(graph: &PathGraph<'_>, level: Option<&Level>) -> Depth {
    match level {
        Some(level) if level.pair_facts.is_none() => {
            Depth::of_reads(level.read_bases, &graph.paths)
        }
        _ => Depth::counted(),
    }
}

/// Merges phases of the same name, in the order in which they first occurred.
fn merged(phases: Vec<Phase>) -> Vec<Phase> {
    let mut merged: Vec<Phase> = Vec::new();
    for phase in phases {
        match merged.iter_mut().find(|earlier| earlier.name == phase.name) {
            Some(earlier) => {
                earlier.seconds += phase.seconds;
                earlier.bytes += phase.bytes;
                earlier.rows += phase.rows;
            }
            None => merged.push(phase),
        }
    }
    merged
}

/// Returns the length of the longest of the first reads of each file, or of each two whose reads
/// are pairs, which must be reads of nucleotides; continues with all reads, until one has at least
/// `enough` letters. Also returns what was cut off the reads that it continued with.
fn longest_read(
    (context, pairing): (&Context<'_>, Pairing),
    enough: usize,
) -> Result<(usize, TrimCounts)> {
    let paths = &context.request.inputs;
    let mut batch = ReadBatch::default();
    let longest_of = |batch: &ReadBatch| batch.reads().map(<[u8]>::len).max().unwrap_or(0);
    let all = Reads::open(paths, pairing)?;
    let mut longest = 0;
    for (files, pairing) in pairing.sources(paths) {
        let reads = Reads::open_source(files, pairing)?;
        if reads.next(&mut batch)? {
            check(&reads, &batch)?;
            longest = longest_of(&batch).max(longest);
        }
    }
    let mut trimmed = TrimCounts::default();
    while longest < enough && all.next(&mut batch)? {
        longest = longest_of(&batch).max(longest);
        trimmed.add(batch.trimmed());
        context.progress.advance(0)?;
    }
    Ok((longest, trimmed))
}

/// Message about reads of which trimming leaves at most `longest` bases.
fn cut_away(longest: usize, trimmed: &TrimCounts) -> String {
    let TrimCounts { reads, adapters, poly_g, quality, .. } = trimmed;
    let reasons = [("adapters", adapters), ("tails of G", poly_g), ("low quality", quality)];
    let reasons: Vec<String> = reasons
        .iter()
        .filter(|(_, cut)| cut.reads > 0)
        .map(|(reason, cut)| format!("{reason} off {}", cut.reads))
        .collect();
    let rest = match longest {
        0 => format!("all {reads} reads were cut off whole"),
        _ => format!("{longest} bases at most remain of each of {reads} reads"),
    };
    format!(
        "{rest} by trimming ({}); give reads of at least {K_MIN} bases of the genome, or --trim \
         none, which takes them as they are",
        reasons.join(", ")
    )
}

/// Returns what trimming would cut off the first reads of each file, or of each two whose reads are
/// pairs.
fn first_reads(context: &Context<'_>, plan: &Plan) -> Result<TrimCounts> {
    let all = plan.options.pairing();
    let pairing = Pairing { is_trimmed: true, sampling: Sampling::ALL, ..all };
    let (mut batch, mut counts) = (ReadBatch::default(), TrimCounts::default());
    for (files, pairing) in pairing.sources(&context.request.inputs) {
        if Reads::open_source(files, pairing)?.next(&mut batch)? {
            counts.add(batch.trimmed());
        }
    }
    Ok(counts)
}

/// A running assembly.
struct Assembly<'p, 'c, M, W> {
    context: &'c Context<'c>,
    plan: Plan,
    method: M,
    workers: &'p W,
    response: Response,
    levels: Vec<Level>,
    /// Approximate bytes of the reads.
    text_bytes: u64,
}

impl<'c, M: Method, W: Workers<'c>> Assembly<'_, 'c, M, W> {
    /// Runs all stages; returns the graph of the last one.
    fn run(&mut self) -> Result<PathGraph<'c>> {
        let request = self.context.request;
        let checkpoint = match &self.plan.options.resume {
            Some(folder) => Some(Checkpoint::open(folder, request)?),
            None => None,
        };
        let first = self.plan.kmer_sizes[0];
        let mut next = NextLevel { k: first, solid: None, pair_facts: None };
        if let Some(checkpoint) = &checkpoint
            && let Some(saved) = checkpoint.load(&request.output, self.context.budget)?
        {
            (next, self.levels) = saved;
            self.choose()?;
        }
        loop {
            let last = next.pair_facts.is_some();
            let stage = checkpoint.as_ref().map(|checkpoint| checkpoint.stage(self.levels.len()));
            let graph = self.stage(next, stage)?;
            self.choose()?;
            if last {
                return Ok(graph);
            }
            let Some(following) = self.after(&graph)? else { return Ok(graph) };
            next = following;
            write::keep_unitigs(&request.output, graph.k)?;
            drop(graph);
            if let Some(checkpoint) = &checkpoint {
                checkpoint.save(&next, &self.levels, &request.output)?;
            }
        }
    }

    /// Chooses the sizes of k-mers once the lengths of all reads are known.
    fn choose(&mut self) -> Result<()> {
        if let Some(first) = self.levels.first()
            && let Some(longest) = first.longest_read
        {
            let before = self.text_bytes_in_all();
            self.plan.choose(longest, first.common_stretch)?;
            self.context.progress.expect(self.text_bytes_in_all().saturating_sub(before));
        }
        Ok(())
    }

    /// Returns the level after that of `graph`; `None` at the end.
    fn after(&mut self, graph: &PathGraph<'_>) -> Result<Option<NextLevel<'c>>> {
        let later = self.plan.kmer_sizes.iter().copied().find(|&k| k > graph.k);
        let bridged = self.bridged(graph, later)?;
        let Some(k) = later else {
            let last =
                |Bridged { k, solid, pair_facts }| NextLevel { k, solid: Some(solid), pair_facts };
            return Ok(bridged.map(last));
        };
        let solid = match bridged {
            Some(bridged) => bridged.solid,
            None => pairs::continued_contigs(graph, self.context.budget, k)?,
        };
        Ok(Some(NextLevel { k, solid: Some(solid), pair_facts: None }))
    }

    /// Returns the solid sequences after `graph`, with bridges by reads and read pairs.
    fn bridged(
        &mut self,
        graph: &PathGraph<'_>,
        next: Option<usize>,
    ) -> Result<Option<Bridged<'c>>> {
        let (context, options, levels) = (self.context, &self.plan.options, &self.levels);
        if !options.places_pairs() {
            if next.is_none() || !options.bridges_by_reads(only(levels)) {
                return Ok(None);
            }
            context.progress.expect(self.text_bytes);
        }
        let placements = self.workers.place(graph, options.pairing(), &mut self.response)?;
        timed(&mut self.response, "pairs", || {
            let depth = depth(graph, levels.last());
            let bridged = pairs::bridged(context, graph, placements, (next, depth))?;
            let facts = bridged.as_ref().and_then(|bridged| bridged.pair_facts);
            Ok((bridged, 0, facts.map_or(0, |facts| facts.pairs)))
        })
    }

    /// Returns the scaffolds of the contigs of the last graph.
    fn scaffolds(&mut self, graph: &PathGraph<'_>, depth: Depth) -> Result<Option<Scaffolds>> {
        let (context, options) = (self.context, &self.plan.options);
        if !options.places_pairs() {
            return Ok(None);
        }
        let placements = self.workers.place(graph, options.pairing(), &mut self.response)?;
        let output = &context.request.output;
        let short = short_contigs(output, graph, (&self.levels[..], context.budget))?;
        let repeats = short.ends_in_repeats(graph, depth);
        timed(&mut self.response, "pairs", || {
            let scaffolds =
                scaffolds::find(context, graph, placements, (options.profile, depth, &repeats))?;
            let count = scaffolds.as_ref().map_or(0, |scaffolds| scaffolds.chains.len()) as u64;
            Ok((scaffolds, 0, count))
        })
    }

    fn stage(
        &mut self,
        next: NextLevel<'c>,
        checkpoint: Option<StageCheckpoint<'_>>,
    ) -> Result<PathGraph<'c>> {
        let NextLevel { k, solid, pair_facts } = next;
        let (context, plan, method, workers) =
            (self.context, &self.plan, &self.method, self.workers);
        if let Some(solid) = &solid {
            write::solid(&context.request.output, k, solid)?;
        }
        let stage =
            Stage { context, plan, method, k, only_solid: pair_facts.is_some(), checkpoint };
        let response = &mut self.response;
        let (graph, mut level) = stage.run(workers, solid, response)?;
        if let (Some(_), Some(before)) = (pair_facts, self.levels.last()) {
            level.fit = before.fit;
        }
        level.pair_facts = pair_facts;
        self.levels.push(level);
        let sizes = plan.kmer_sizes.iter().filter(|&&size| size <= k).count();
        let placed = if self.plan.options.places_pairs() { self.text_bytes } else { 0 };
        context.progress.reach(self.text_bytes_until(sizes).saturating_sub(placed));
        Ok(graph)
    }

    /// Returns the bytes of text that progress counts in all.
    fn text_bytes_in_all(&self) -> u64 {
        let last = if self.plan.options.places_pairs() { self.text_bytes } else { 0 };
        self.text_bytes_until(self.plan.kmer_sizes.len()) + last
    }

    /// Returns the progress when `sizes` sizes are done: reads are read, counted, and placed where
    /// they are pairs.
    fn text_bytes_until(&self, sizes: usize) -> u64 {
        self.text_bytes * sizes as u64 * if self.plan.options.places_pairs() { 3 } else { 2 }
    }
}
