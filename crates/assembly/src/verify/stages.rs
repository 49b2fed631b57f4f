//! Verification of the sizes of k-mers of an answer, one after another.

use std::path::Path;

use cuesta_core::Result;
use cuesta_core::digest::Digest;

use super::error_lengths::ErrorLengths;
use super::faults::Fault;
use super::files::Compared;
use super::last_paths::LastPaths;
use super::level::{self, Proven};
use super::packed_reads::PackedReads;
use super::paths::Paths;
use super::repeats::RepeatFilter;
use super::{LATER_MIN_COUNT, State, Verification, wrong_file};
use super::{answer, branches, bridges, continuations, tandem};
use crate::kernel::depth::Depth;
use crate::kernel::kmer::Kmer;
use crate::kernel::placements::Placements;
use crate::kernel::sequences;
use crate::kernel::simplify::PathGraph;
use crate::method::MethodFacts;
use crate::pairs::{self, PairFacts, SolidSequences, joins, place};
use crate::run;
use crate::stages::level::Level;
use crate::stages::scaffold_rows::ScaffoldRows;
use crate::stages::short_contigs::ShortContigs;
use crate::stages::write::{
    CONTIGS_FILE, GRAPH_FILE, SCAFFOLDS_FILE, SPECTRUM_FILE, STATS_FILE, UNITIGS_FILE, before_file,
    unitigs_before_file,
};
use cuesta_input::reads::cached::CachedReads;
use cuesta_input::reads::input_bytes;
use cuesta_runtime::parallel;

/// A size of k-mers that is to be verified.
pub struct PendingLevel {
    /// Bases in a k-mer.
    pub k: usize,
    /// Results of read pairs, where all k-mers come from contigs and bridges.
    pub pair_facts: Option<PairFacts>,
}

/// Continuation after a size of k-mers.
enum After<'a> {
    /// Another size, or the end.
    Next(Option<PendingLevel>),
    /// Bridges between these paths, which determine the next size.
    Bridges { spelled: sequences::Paths<'a>, depth: Depth },
}

impl<'a> Verification<'_, 'a> {
    /// Verifies a size of k-mers; returns the next one.
    ///
    /// # Errors
    /// `Input` where a file cannot be read or memory is too little; `System`; `Cancelled`.
    pub fn stage<K: Kmer>(
        &self,
        stage: &PendingLevel,
        state: &mut State,
    ) -> Result<Option<PendingLevel>> {
        match self.compare::<K>(stage, state)? {
            After::Next(next) => Ok(next),
            After::Bridges { spelled, depth } => {
                let graph = PathGraph::new::<K>(spelled, stage.k, self.context.budget)?;
                self.bridged(&graph, depth, state)
            }
        }
    }

    /// Compares the unitigs, the graph and other files of a size of k-mers with their expected
    /// content.
    fn compare<K: Kmer>(&self, stage: &PendingLevel, state: &mut State) -> Result<After<'a>> {
        let (k, place) = (stage.k, state.levels.len());
        let Some(claimed) = self.claimed.get(place).filter(|claimed| claimed.k == k) else {
            state.require(false, || format!("{STATS_FILE} lacks the k-mers of size {k}"));
            return Ok(After::Next(None));
        };
        let is_last = place + 1 == self.claimed.len();
        let unitigs =
            if is_last { self.output(UNITIGS_FILE) } else { self.before(&unitigs_before_file(k)) };
        let mut proven = self.prove::<K>(stage, (place, claimed), &unitigs)?;
        if !self.is_full() {
            self.take_claims(&mut proven, place)?;
        }
        let mut unread = Digest::default();
        let all = if is_last { &mut state.digest } else { &mut unread };
        let mut compared = || answer::unitigs(&unitigs, (&proven, k), (all, &self.faults));
        let bounds = ErrorLengths::of_plan(self.plan, k).filter(|_| stage.pair_facts.is_none());
        let simplified = || -> Result<_> {
            let graph = (&proven.text, &proven.links);
            let mut paths = Paths::new(graph, k, &proven.sums, self.context.budget)?;
            let rounds = bounds.map_or(Vec::new(), |bounds| paths.simplify(&bounds));
            Ok((paths, rounds))
        };
        let (is_same, simplified) = if self.repetition.is_some() {
            (compared()?, None)
        } else {
            let threads = self.context.request.threads;
            let (is_same, simplified) = parallel::both(threads, compared, simplified);
            (is_same?, Some(simplified?))
        };
        state.require(is_same, || wrong_file(&unitigs));
        if place == 0 {
            let path = self.output(SPECTRUM_FILE);
            let is_same = answer::spectrum(&path, &proven.spectra.all)?;
            state.require(is_same, || wrong_file(&path));
        }
        let mut level = self.level(stage, (claimed, state.levels.last()), &proven);
        let Some((paths, rounds)) = simplified else {
            state.levels.push(level);
            let next = self.claimed.get(place + 1);
            return Ok(After::Next(
                next.map(|next| PendingLevel { k: next.k, pair_facts: next.pair_facts }),
            ));
        };
        level.rounds = rounds;
        state.levels.push(level);
        let depth = match stage.pair_facts {
            Some(_) => Depth::counted(),
            None => {
                let counts = paths.all.iter().map(|path| path.count_sum).sum();
                Depth::shared_out(proven.reads.bases, counts)
            }
        };
        if is_last {
            self.last_graph::<K>((&paths, k), depth, state)?;
        }
        if stage.pair_facts.is_some() || self.later(k).is_none() && !self.places_pairs() {
            return Ok(After::Next(None));
        }
        if self.has_bridges(k, state) && self.is_full() {
            let spelled = bridges::spelled(&paths, self.context.budget)?;
            return Ok(After::Bridges { spelled, depth });
        }
        self.claimed_next((&paths, k, depth), is_last, state).map(After::Next)
    }

    /// Returns the size of k-mers in the plan that follows one.
    fn later(&self, k: usize) -> Option<usize> {
        self.plan.kmer_sizes.iter().copied().find(|&size| size > k)
    }

    /// Returns whether read pairs are placed.
    fn places_pairs(&self) -> bool {
        self.plan.options.places_pairs()
    }

    /// Returns whether there may be bridges after a size of k-mers, the last one so far.
    fn has_bridges(&self, k: usize, state: &State) -> bool {
        let first = run::only(&state.levels);
        self.places_pairs() || self.later(k).is_some() && self.plan.options.bridges_by_reads(first)
    }

    /// Proves the unitigs of a size of k-mers.
    fn prove<K: Kmer>(
        &self,
        stage: &PendingLevel,
        (place, claimed): (usize, &Level),
        unitigs: &Path,
    ) -> Result<Proven<'a>> {
        let is_read = stage.pair_facts.is_none();
        let proof = level::LevelCheck {
            request: self.context.request,
            budget: self.context.budget,
            progress: self.context.progress,
            amount: self.amount,
            k: stage.k,
            // Trusted k-mers are solid, and there are no others.
            min_count: if is_read { claimed.min_count } else { 1 },
            with_sample: place == 0 && self.plan.options.min_count.is_none(),
            drop_ambiguous: self.plan.options.drop_reads_with_n,
            pairing: self.plan.options.pairing(),
            chosen: self.chosen,
            unitigs: unitigs.to_owned(),
            trusted: (place > 0).then(|| self.before(&before_file(stage.k))),
            only_solid: !is_read,
            repeats: self.repeats(stage, place)?,
            packed: self.packed(),
        };
        proof.prove::<K>(&self.faults)
    }

    /// Returns the filter of repeated k-mers of the first size, where all of the answer is verified
    /// and has other sizes, and the filter fits in the memory.
    fn repeats(&self, stage: &PendingLevel, place: usize) -> Result<Option<&RepeatFilter<'a>>> {
        if place > 0 || !self.is_full() || self.plan.kmer_sizes.len() == 1 {
            return Ok(self.repeats.get());
        }
        let bytes = input_bytes(&self.context.request.inputs)?;
        let empty = RepeatFilter::new(stage.k, bytes, self.context.budget);
        Ok(empty.map(|empty| self.repeats.get_or_init(|| empty)))
    }

    /// Returns the cache of the reads, where more than one size of k-mers is counted in them.
    fn packed(&self) -> Option<&PackedReads<'a>> {
        let read = self.claimed.iter().filter(|level| level.pair_facts.is_none()).count();
        let packed = || PackedReads::new(self.amount, self.context.budget);
        (read > 1).then(|| self.packed.get_or_init(packed))
    }

    /// Adopts the claims that were only checked by a sample.
    fn take_claims(&self, proven: &mut Proven<'_>, place: usize) -> Result<()> {
        for (index, sum) in proven.sums.iter_mut().enumerate() {
            let claimed = proven.text.claim(index).count;
            if *sum > claimed {
                self.faults.add(Fault::Count);
            }
            *sum = claimed;
        }
        if place == 0 {
            let claimed = answer::read_spectrum(&self.output(SPECTRUM_FILE))?;
            let observed = proven.spectra.all.kmers();
            if observed.iter().zip(claimed.kmers()).any(|(observed, claimed)| observed > claimed) {
                self.faults.add(Fault::Count);
            }
            proven.spectra.all = claimed;
        }
        Ok(())
    }

    /// Returns the expected report on a level in `stats.json`.
    fn level(
        &self,
        stage: &PendingLevel,
        (claimed, before): (&Level, Option<&Level>),
        proven: &Proven<'_>,
    ) -> Level {
        let (k, spectra) = (stage.k, &proven.spectra);
        let is_known = self.is_full() || before.is_none();
        let min_count = match (self.plan.options.min_count, before) {
            (Some(min_count), _) => min_count,
            (None, Some(_)) => LATER_MIN_COUNT,
            (None, None) if self.is_full() => spectra.sample.fit(k).min_count,
            (None, None) => claimed.min_count,
        };
        let fit = match (stage.pair_facts, before) {
            (Some(_), Some(before)) => before.fit,
            _ if is_known => spectra.all.fit(k),
            _ => claimed.fit,
        };
        let (plan, is_first) = (&self.plan, before.is_none());
        let is_chosen = plan.is_chosen && is_first;
        let lengths = is_chosen.then(|| proven.reads.lengths(plan, claimed));
        Level {
            k,
            min_count,
            fit,
            distinct: if is_known { spectra.all.distinct(1) } else { claimed.distinct },
            solid: if is_known { spectra.all.distinct(min_count) } else { claimed.solid },
            read_bases: proven.reads.bases,
            longest_read: lengths.map(|lengths| lengths.0),
            common_stretch: lengths.and_then(|lengths| lengths.1),
            trimmed: (plan.options.trims() && is_first).then_some(proven.reads.trimmed),
            sampled: plan.sampled.filter(|_| is_first),
            facts: MethodFacts::new(),
            traffic: None,
            unitigs: proven.text.len(),
            rounds: Vec::new(),
            pair_facts: stage.pair_facts,
        }
    }

    /// Compares the graph and the contigs with their files.
    fn graph(
        &self,
        paths: (&LastPaths<'_, '_, '_>, usize),
        depth: Depth,
        (short, lines): (&ShortContigs, Option<&[String]>),
        state: &mut State,
    ) -> Result<()> {
        let files = [CONTIGS_FILE, GRAPH_FILE].map(|name| self.output(name));
        let options = (depth, self.plan.options.min_contig);
        let names = [&*files[0], &*files[1]];
        let digest = &mut state.digest;
        let (are_same, contigs) = answer::graph(names, paths, options, (short, lines, digest))?;
        for (is_same, path) in are_same.into_iter().zip(&files) {
            state.require(is_same, || wrong_file(path));
        }
        state.contigs = contigs;
        Ok(())
    }

    /// Recomputes the scaffolds of the last graph, and the contigs that they join or that are too
    /// short for it; compares them with their files.
    fn last_graph<K: Kmer>(
        &self,
        (paths, k): (&Paths<'_, '_>, usize),
        depth: Depth,
        state: &mut State,
    ) -> Result<()> {
        if !self.places_pairs() {
            let none = (&ShortContigs::default(), None);
            return self.graph((&LastPaths::Proven(paths), k), depth, none, state);
        }
        let (budget, options) = (self.context.budget, &self.plan.options);
        let graph = PathGraph::new::<K>(bridges::spelled(paths, budget)?, k, budget)?;
        let output = &self.context.request.output;
        let short = run::short_contigs(output, &graph, (&state.levels[..], budget))?;
        let repeats = short.ends_in_repeats(&graph, depth);
        let evidence = (options.profile, depth, &repeats);
        let (scaffolds, are_certain) =
            tandem::checked(self.context, &graph, self.place(&graph)?, evidence)?;
        state.require(are_certain, || "the copies of a tandem repeat are joined".into());
        let (graph, scaffolds) = joins::joined(graph, scaffolds, budget)?;
        let short = run::short_contigs(output, &graph, (&state.levels[..], budget))?;
        let last = (&LastPaths::Joined(&graph), k);
        let Some(scaffolds) = scaffolds else {
            return self.graph(last, depth, (&short, None), state);
        };
        let path = self.output(SCAFFOLDS_FILE);
        let mut file = Compared::open(&path)?;
        let rows = ScaffoldRows::new((&graph, &short), (depth, options.min_contig));
        let (lines, numbers) = rows.put(&scaffolds, |row| file.put(row))?;
        let is_same = file.finish()?;
        state.require(is_same, || wrong_file(&path));
        state.scaffolds = Some(numbers);
        self.graph(last, depth, (&short, Some(&lines)), state)
    }

    /// Returns the next size of k-mers where read pairs yield none, or the claim is adopted; all
    /// contigs must be solid there.
    fn claimed_next(
        &self,
        (paths, k, depth): (&Paths<'_, '_>, usize, Depth),
        is_last: bool,
        state: &mut State,
    ) -> Result<Option<PendingLevel>> {
        let claimed = self.claimed.get(state.levels.len());
        let later = self.later(k);
        if is_last {
            // Read pairs may yield no further size; a missing size of the plan is a fault.
            state.require(later.is_none(), || format!("{STATS_FILE} lacks a size of k-mers"));
            return Ok(None);
        }
        let (size, pair_facts) = match (later, claimed) {
            (Some(later), _) => (later, None),
            (None, Some(level)) => (level.k, level.pair_facts),
            (None, None) => return Ok(None),
        };
        let path = self.before(&before_file(size));
        let weight = |count_sum: u64, kmers: u64| match later {
            Some(_) => 0,
            None => pairs::weight(depth, count_sum, kmers as usize).into(),
        };
        let follow = (later.is_some(), self.has_bridges(k, state));
        let is_same = continuations::contigs_before(&path, (paths, k, size), weight, follow)?;
        state.require(is_same, || wrong_file(&path));
        Ok(Some(PendingLevel { k: size, pair_facts }))
    }

    /// Places all reads on a graph.
    fn place(&self, graph: &PathGraph<'_>) -> Result<Placements> {
        let (context, pairing) = (self.context, self.plan.options.pairing());
        let cached = self.cached.get_or_init(|| match self.placings() {
            0 | 1 => CachedReads::none(),
            _ => CachedReads::new(self.amount, context.budget),
        });
        let reads = cached.open(&context.request.inputs, pairing)?;
        place::place(context, graph, (&reads, pairing))
    }

    /// Recomputes the bridges of reads and read pairs for the next size of k-mers, and compares
    /// them with their file; a difference is a fault in `state`. Returns that size, if there is
    /// one.
    fn bridged(
        &self,
        graph: &PathGraph<'_>,
        depth: Depth,
        state: &mut State,
    ) -> Result<Option<PendingLevel>> {
        let (context, options, later) = (self.context, &self.plan.options, self.later(graph.k));
        let placements = self.place(graph)?;
        let (size, solid, pair_facts): (usize, SolidSequences<'_>, Option<PairFacts>) =
            match pairs::bridged(context, graph, placements, (later, depth))? {
                Some(bridged) => {
                    (bridged.k, bridged.solid, bridged.pair_facts.filter(|_| later.is_none()))
                }
                None => {
                    let Some(size) = later else { return Ok(None) };
                    (size, pairs::continued_contigs(graph, context.budget, size)?, None)
                }
            };
        let is_hidden = later.is_none() && !branches::are_retained(graph, &solid, size);
        state.require(!is_hidden, || "a bridge hides where another path branches off".into());
        let path = self.before(&before_file(size));
        let is_same = bridges::is_file_of(&path, &solid)?;
        state.require(is_same, || wrong_file(&path));
        let shape = (graph.k, options.drop_reads_with_n);
        let reads = (context.request, options.pairing());
        let are_supported = bridges::are_supported(&solid, shape, reads, context.progress)?;
        state.require(are_supported, || "a bridge is made neither of contigs nor of reads".into());
        Ok(Some(PendingLevel { k: size, pair_facts }))
    }
}
