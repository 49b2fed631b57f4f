//! Unbranched paths inside one bucket: fragments of unitigs.
//!
//! Two k-mers are joined where they share a (k-1)-mer that no other solid k-mer begins or ends
//! with, on either strand. A (k-1)-mer that is its own reverse complement joins nothing, since a
//! path would turn back on itself there. All ends of solid k-mers are grouped by their (k-1)-mers
//! first; walking a path then needs no look-up.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::{Avx2, fastest};
use serde::{Deserialize, Serialize};

use crate::kernel::fragments::Fragments;
use crate::kernel::glue::{End, NOWHERE};
use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer, complement};
use crate::kernel::packed::{LEFT_INSIDE, RIGHT_INSIDE};
use crate::kernel::sequences::FragmentSummary;
use crate::kernel::table::{KmerTable, TOGETHER, first_of};

/// Most k-mers in a bucket: slot numbers of the table of their ends have 31 bits.
const KMERS_MAX: usize = 1 << 29;
/// Slots per k-mer for its two ends, most of which share a slot with an end of another k-mer, and
/// extra slots: those past the range of the hash, and the one of ends without a partner.
const SLOTS_EACH: usize = 3;
const SLOTS_MORE: usize = TOGETHER + 1;
/// Marks a slot with more than one end.
const SEVERAL: End = NOWHERE - 1;

/// Unit of which fragments are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grain {
    /// A path, extended as far as it goes within the bucket.
    Path,
    /// A single k-mer.
    Kmer,
}

/// A (k-1)-mer with two ends of k-mers: the end that is left by its canonical form, and the end
/// that is left by its reverse complement.
#[derive(Clone, Copy)]
struct Junction<K> {
    overlap: K,
    ends: [End; 2],
}

/// A solid k-mer in canonical form. In each pair the left end comes first.
#[derive(Clone, Copy)]
struct Vertex {
    /// Ends of other k-mers to which its two ends are joined.
    partners: [End; 2],
    count: u32,
    /// Base that a path gains when it enters the k-mer by an end.
    bases: [Base; 2],
    inside: [bool; 2],
    /// Whether the k-mer is already part of a fragment.
    is_taken: bool,
}

/// Builds the fragments of one bucket after another.
pub struct Compactor<'a, K> {
    k: usize,
    grain: Grain,
    /// Hash table; the last slot is shared by all ends that are joined to none.
    junctions: Vec<Junction<K>>,
    /// Indexed by the number of the k-mer.
    vertices: Vec<Vertex>,
    /// For each end twice its junction, plus 1 if the end is left by the reverse complement.
    meetings: Vec<u32>,
    /// Bases that a path gains to the left and to the right of its first k-mer.
    bases: [Vec<Base>; 2],
    budget: &'a Budget,
    lease: Option<Lease<'a>>,
}

impl<'a, K: Kmer> Compactor<'a, K> {
    /// Creates a compactor for k-mers of `k` bases.
    pub fn new(k: usize, grain: Grain, budget: &'a Budget) -> Self {
        Self {
            k,
            grain,
            junctions: Vec::new(),
            vertices: Vec::new(),
            meetings: Vec::new(),
            bases: Default::default(),
            budget,
            lease: None,
        }
    }

    /// Appends the fragments of the solid k-mers of a bucket, which are in these slots; all other
    /// k-mers count as absent.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn run(
        &mut self,
        table: &KmerTable<'_, K>,
        solid: &[usize],
        fragments: &mut Fragments<'_>,
    ) -> Result<()> {
        if self.grain == Grain::Kmer {
            return push_kmers((table, self.k), solid, fragments);
        }
        self.reserve(solid.len())?;
        self.find_junctions(table, solid);
        self.join();
        for (start, &slot) in solid.iter().enumerate() {
            if !self.vertices[start].is_taken {
                self.push_path((start, table.key(slot)), fragments)?;
            }
        }
        Ok(())
    }

    /// Makes room for the ends of `kmers` k-mers, enough even if no two share a junction.
    fn reserve(&mut self, kmers: usize) -> Result<()> {
        if kmers > KMERS_MAX {
            return Err(internal("a bucket has more k-mers than can be numbered"));
        }
        let slots = SLOTS_EACH * kmers + SLOTS_MORE;
        if slots > self.junctions.capacity() {
            self.junctions = Vec::new();
            self.vertices = Vec::new();
            self.meetings = Vec::new();
            self.lease = None;
            let each = size_of::<Vertex>() + 2 * size_of::<u32>();
            let size_bytes = slots * size_of::<Junction<K>>() + kmers * each;
            let purpose = "joining the k-mers of a bucket, which have a minimizer in common,";
            self.lease = Some(self.budget.take(size_bytes as u64, purpose)?);
            self.junctions.reserve_exact(slots);
            self.vertices.reserve_exact(kmers);
            self.meetings.reserve_exact(2 * kmers);
        }
        self.junctions.clear();
        self.junctions.resize(slots, Junction { overlap: K::NONE, ends: [NOWHERE; 2] });
        self.junctions[slots - 1].ends = [SEVERAL; 2];
        self.vertices.clear();
        self.meetings.clear();
        Ok(())
    }

    /// Groups the ends of all k-mers by their (k-1)-mers.
    fn find_junctions(&mut self, table: &KmerTable<'_, K>, solid: &[usize]) {
        let vectors = Avx2::get();
        fastest(
            #[inline(always)]
            || self.find_junctions_by(table, solid, vectors),
        );
    }

    #[inline(always)]
    fn find_junctions_by(
        &mut self,
        table: &KmerTable<'_, K>,
        solid: &[usize],
        vectors: Option<Avx2>,
    ) {
        let k = self.k;
        let alone = 2 * (self.junctions.len() as u32 - 1);
        for (index, &slot) in solid.iter().enumerate() {
            let (kmer, inside) = (table.key(slot), table.inside(slot));
            let turned = kmer.reverse_complement(k);
            let inside = [LEFT_INSIDE, RIGHT_INSIDE].map(|side| inside & side != 0);
            // The (k-1)-mer by which an end is left, and its reverse complement.
            let left_by = [[turned.suffix(k), kmer.prefix()], [kmer.suffix(k), turned.prefix()]];
            for (side, [ahead, behind]) in left_by.into_iter().enumerate() {
                let meeting = if inside[side] && ahead != behind {
                    let strand = usize::from(behind < ahead);
                    let end = (2 * index + side) as End;
                    self.meet((ahead.min(behind), strand), end, vectors)
                } else {
                    alone
                };
                self.meetings.push(meeting);
            }
            self.vertices.push(Vertex {
                partners: [NOWHERE; 2],
                count: table.count(slot),
                bases: [kmer.last_but(0), complement(kmer.last_but(k - 1))],
                inside,
                is_taken: false,
            });
        }
    }

    /// Adds an end to its junction; returns its entry in `meetings`.
    #[inline(always)]
    fn meet(&mut self, (overlap, strand): (K, usize), end: End, vectors: Option<Avx2>) -> u32 {
        let chosen = (self.junctions.len() - SLOTS_MORE) as u64;
        let start = ((u64::from(overlap.mixed() as u32) * chosen) >> 32) as usize;
        let here = &self.junctions[start..start + TOGETHER];
        let overlaps = std::array::from_fn(|place| here[place].overlap);
        let slot = match first_of(overlap, overlaps, vectors) {
            Some(place) => start + place,
            None => self.slot_from(start + TOGETHER, overlap),
        };
        let junction = &mut self.junctions[slot];
        junction.overlap = overlap;
        let joined = &mut junction.ends[strand];
        *joined = if *joined == NOWHERE { end } else { SEVERAL };
        (2 * slot + strand) as u32
    }

    /// Returns the slot of a (k-1)-mer, or the free one where it would be, searching from `slot`
    /// on.
    #[inline(never)]
    fn slot_from(&self, mut slot: usize, overlap: K) -> usize {
        let slots = self.junctions.len() - 1;
        loop {
            slot = if slot == slots { 0 } else { slot };
            let candidate = self.junctions[slot].overlap;
            if candidate == overlap || candidate == K::NONE {
                return slot;
            }
            slot += 1;
        }
    }

    /// Joins two ends if they are the only ones at a (k-1)-mer, one on either strand.
    fn join(&mut self) {
        let (meetings, _) = self.meetings.as_chunks::<2>();
        for (vertex, meetings) in self.vertices.iter_mut().zip(meetings) {
            vertex.partners = meetings.map(|meeting| {
                let (slot, strand) = (meeting as usize / 2, meeting as usize % 2);
                let ends = self.junctions[slot].ends;
                let (this, other) = (ends[strand], ends[1 - strand]);
                if this < SEVERAL && other < SEVERAL { other } else { NOWHERE }
            });
        }
    }

    /// Appends the path through a k-mer as a fragment.
    fn push_path(
        &mut self,
        (start, kmer): (usize, K),
        fragments: &mut Fragments<'_>,
    ) -> Result<()> {
        let count = self.vertices[start].count;
        let mut piece = FragmentSummary {
            count_sum: u64::from(count),
            first_count: count,
            last_count: count,
            ..FragmentSummary::default()
        };
        self.vertices[start].is_taken = true;
        self.bases.iter_mut().for_each(Vec::clear);
        (piece.circular, piece.right_open) =
            self.walk((start, 1), (&mut piece.count_sum, &mut piece.last_count))?;
        if !piece.circular {
            (_, piece.left_open) =
                self.walk((start, 0), (&mut piece.count_sum, &mut piece.first_count))?;
        }
        let ([left, right], k) = (&self.bases, self.k);
        fragments.push(piece, |codes| {
            codes.extend(left.iter().rev().map(|&base| complement(base)));
            codes.extend((0..k).rev().map(|index| kmer.last_but(index)));
            codes.extend_from_slice(right);
        })
    }

    /// Follows joined k-mers from an end of `start`; returns whether the path came back to `start`,
    /// and whether it may continue in another bucket.
    fn walk(
        &mut self,
        (start, side): (usize, usize),
        (count_sum, last_count): (&mut u64, &mut u32),
    ) -> Result<(bool, bool)> {
        let (mut at, mut by) = (start, side);
        loop {
            let vertex = &self.vertices[at];
            let next = vertex.partners[by];
            if next == NOWHERE {
                return Ok((false, !vertex.inside[by]));
            }
            let entered = next as usize % 2;
            (at, by) = (next as usize / 2, 1 - entered);
            let vertex = &mut self.vertices[at];
            if vertex.is_taken {
                return if (at, by) == (start, side) {
                    Ok((true, false))
                } else {
                    Err(internal("a path met another one"))
                };
            }
            vertex.is_taken = true;
            self.bases[side].push(vertex.bases[entered]);
            *last_count = vertex.count;
            *count_sum += u64::from(vertex.count);
        }
    }
}

/// Appends each k-mer as a fragment of its own, in the bucket of its left end.
fn push_kmers<K: Kmer>(
    (table, k): (&KmerTable<'_, K>, usize),
    solid: &[usize],
    fragments: &mut Fragments<'_>,
) -> Result<()> {
    for &slot in solid.iter().filter(|&&slot| table.inside(slot) & LEFT_INSIDE != 0) {
        let (kmer, count) = (table.key(slot), table.count(slot));
        let piece = FragmentSummary { count_sum: u64::from(count), ..FragmentSummary::default() };
        fragments.push(piece, |codes| {
            codes.extend((0..k).rev().map(|index| kmer.last_but(index)));
        })?;
    }
    Ok(())
}
