//! Gives the rows of a chunk that pass a filter, and decodes no more than they need: first the
//! score that decides, then columns, then the masks of the rows that passed.

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};

use super::found::{CLUSTER_SAMPLES, Io, SlotRows};
use super::header::{COLUMNS, MaskKind};
use super::limits::{CHUNK_PAIRS, SLOTS_OPEN_MAX};
use super::planes::SCORE_WIDTH;
use super::rank::Walker;
use super::reader::PairMatrix;
use super::select::{join, select};
use super::{damaged, mask};
use crate::filter::Filter;
use crate::limits::SCORES_MAX;
use crate::row::Row;

/// Which fields of the rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Genes, cluster and the one score that the filter looks at (the first one without a
    /// filter); all other numbers are 0 and the mask is empty.
    Edge,
    /// Everything.
    Row,
}

/// What to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Rows that are wanted; all, NaN scores included, when `None`.
    pub filter: Option<Filter>,
    /// Fields that are wanted.
    pub need: Need,
}

/// Buffers of one thread, for one matrix.
pub struct Scratch {
    io: Io,
    scores: Vec<Micro>,
    slots: Vec<SlotRows>,
    /// Rows of all slots in order: place of the pair, slot, number in the slot.
    order: Vec<(u32, u32, u32)>,
    symbols: Vec<u8>,
}

impl PairMatrix {
    /// Buffers for one thread that visits chunks.
    ///
    /// # Errors
    /// When memory is short.
    pub fn scratch(&self) -> Result<Scratch> {
        Ok(Scratch {
            io: Io::new()?,
            scores: Vec::new(),
            slots: self.slots.iter().map(|_| SlotRows::new(&self.header().shape())).collect(),
            order: Vec::new(),
            symbols: Vec::new(),
        })
    }

    /// Memory of a [`Scratch`] when all rows of a chunk are wanted, in bytes.
    pub fn scratch_bytes(&self) -> u64 {
        let scores = self.header().scores as u64;
        let slots = self.slots.len() as u64;
        CHUNK_PAIRS as u64 * (3 * 4 + slots * (4 * scores + 4 * COLUMNS.len() as u64 + 20))
    }

    /// Calls `visit` for each row of chunk `index` that passes, in the order of rank and cluster;
    /// returns how many did.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged or there is no such score; `System`; what `visit`
    /// returns.
    pub fn visit_chunk(
        &self,
        index: usize,
        query: &Query,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let method = query.filter.map_or(0, |filter| filter.score_index);
        if method >= self.header().scores {
            let text = format!(
                "--score-index is {method}, {} has {} scores per row; give a smaller number",
                self.path().display(),
                self.header().scores
            );
            return Err(Error::input("arguments", text));
        }
        for slot in 0..self.slots.len() {
            self.find(slot, index, query, scratch)?;
        }
        let rows: usize = scratch.slots.iter().map(|found| found.hits.len()).sum();
        if rows == 0 {
            return Ok(0);
        }
        scratch.sort_rows();
        let order = std::mem::take(&mut scratch.order);
        let mut walker = Walker::default();
        for &(place, slot, number) in &order {
            let genes = walker.genes_of(index as u64 * CHUNK_PAIRS as u64 + u64::from(place));
            let at = (slot as usize, number as usize);
            match query.need {
                Need::Edge => visit(&scratch.edge(at, method, genes))?,
                Need::Row => self.give_row(index, at, genes, (&mut *scratch, &mut visit))?,
            }
        }
        scratch.order = order;
        scratch.slots.iter_mut().skip(SLOTS_OPEN_MAX).for_each(SlotRows::close);
        Ok(rows as u64)
    }

    /// The scores of all pairs of a chunk, [`super::ABSENT`] where there is no row; `None` when no
    /// pair has a row in this slot. Slot 0 holds the first cluster of each pair.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged; `System`.
    ///
    /// # Panics
    /// When there is no such chunk, slot or method.
    pub fn read_scores<'a>(
        &self,
        index: usize,
        slot: usize,
        method: usize,
        scratch: &'a mut Scratch,
    ) -> Result<Option<&'a [Micro]>> {
        assert!(method < self.header().scores, "there is no method {method}");
        let from = &self.slots[slot];
        if from.zones[index].rows == 0 {
            return Ok(None);
        }
        let reader = &mut scratch.slots[slot].readers[method];
        let size = CHUNK_PAIRS * SCORE_WIDTH;
        let planes = scratch.io.read(reader, &from.arrays[method], index as u64, size)?;
        join(planes, &mut scratch.scores);
        scratch.scores.truncate((self.header().pairs() as usize) - index * CHUNK_PAIRS);
        Ok(Some(&scratch.scores))
    }

    /// Finds the rows of one slot that pass, and their values.
    fn find(&self, slot: usize, index: usize, query: &Query, scratch: &mut Scratch) -> Result<()> {
        scratch.slots[slot].hits.clear();
        let from = &self.slots[slot];
        if !from.zones[index].may_pass(query.filter.as_ref()) {
            return Ok(());
        }
        let method = query.filter.map_or(0, |filter| filter.score_index);
        if self.read_scores(index, slot, method, scratch)?.is_none() {
            return Err(damaged(self.path(), "its chunk ranges and rows do not fit together"));
        }
        let Scratch { io, scores, slots, .. } = scratch;
        let found = &mut slots[slot];
        match &query.filter {
            Some(filter) => {
                select(scores, filter, &mut found.hits);
                found.keep_samples(self, (from, index), filter, io)?;
            }
            None => found.hits_of_all(scores),
        }
        if found.hits.is_empty() {
            return Ok(());
        }
        found.scores[method].clear();
        found.scores[method].extend(found.hits.iter().map(|&hit| scores[hit as usize]));
        if query.need == Need::Edge {
            return found.read_column(self, (from, index), 0, io);
        }
        found.count_positions(scores, from, index);
        if found.positions.len() != found.hits.len() {
            return Err(damaged(self.path(), "a chunk has other rows than its side array says"));
        }
        for other in (0..self.header().scores).filter(|&other| other != method) {
            found.read_score(from, index, other, io)?;
        }
        let columns = if self.header().counts_match_masks { 2 } else { COLUMNS.len() };
        (0..columns).try_for_each(|c| found.read_column(self, (from, index), c, io))
    }

    /// Gives one whole row.
    fn give_row<V: FnMut(&Row<'_>) -> Result<()>>(
        &self,
        index: usize,
        at: (usize, usize),
        (gene1, gene2): (u32, u32),
        (scratch, visit): (&mut Scratch, &mut V),
    ) -> Result<()> {
        let Scratch { slots, symbols, .. } = scratch;
        let found = &mut slots[at.0];
        let number = at.1;
        let mut columns = [0; COLUMNS.len()];
        for (value, column) in columns.iter_mut().zip(&found.columns) {
            *value = column.get(number).copied().unwrap_or(0);
        }
        symbols.clear();
        let samples = self.header().samples as usize;
        match self.header().masks {
            MaskKind::None => {}
            MaskKind::Genes => {
                let bytes = mask::plane_bytes(samples);
                let bits = |gene: u32| &self.gene_missing[(gene as usize - 1) * bytes..][..bytes];
                mask::unpack_missing(bits(gene1), bits(gene2), samples, symbols);
            }
            MaskKind::Stored => {
                let planes = found.read_mask(self, (&self.slots[at.0], index), number)?;
                mask::unpack(planes, samples, symbols);
                if self.header().counts_match_masks {
                    columns[CLUSTER_SAMPLES..].copy_from_slice(&mask::tally(planes));
                }
            }
        }
        let mut scores = [0; SCORES_MAX];
        for (score, values) in scores.iter_mut().zip(&found.scores) {
            *score = values[number];
        }
        let [cluster, num_clusters, cluster_samples, missing, outliers, pair_outliers, threshold] =
            columns;
        visit(&Row {
            gene1,
            gene2,
            cluster,
            num_clusters,
            cluster_samples,
            missing,
            outliers,
            pair_outliers,
            threshold,
            scores: &scores[..self.header().scores],
            mask: symbols,
        })
    }
}

impl Scratch {
    /// Brings the rows of all slots into the order of rank, then cluster.
    fn sort_rows(&mut self) {
        self.order.clear();
        for (slot, found) in self.slots.iter().enumerate() {
            let rows = found.hits.iter().zip(0..);
            self.order.extend(rows.map(|(&hit, number)| (hit, slot as u32, number)));
        }
        if self.slots.iter().skip(1).any(|found| !found.hits.is_empty()) {
            self.order.sort_unstable();
        }
    }

    fn edge(&self, at: (usize, usize), method: usize, genes: (u32, u32)) -> Row<'_> {
        let found = &self.slots[at.0];
        Row {
            gene1: genes.0,
            gene2: genes.1,
            cluster: found.columns[0][at.1],
            num_clusters: 0,
            cluster_samples: 0,
            missing: 0,
            outliers: 0,
            pair_outliers: 0,
            threshold: 0,
            scores: std::slice::from_ref(&found.scores[method][at.1]),
            mask: &[],
        }
    }
}
