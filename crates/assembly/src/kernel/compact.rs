//! The paths without branches inside one bucket: fragments of unitigs.
//!
//! Two k-mers are joined where they share a (k-1)-mer that no other solid k-mer begins or ends
//! with, on either strand. A (k-1)-mer that is its own reverse complement joins nothing: a path
//! would turn back on itself there. So all ends of solid k-mers are put together by their
//! (k-1)-mers; paths then go from end to end, and nothing is looked up on the way.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::{Avx2, fastest};

use crate::kernel::fragments::Fragments;
use crate::kernel::glue::{End, NOWHERE};
use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer, complement};
use crate::kernel::packed::{LEFT_INSIDE, RIGHT_INSIDE};
use crate::kernel::sequences::FragmentSummary;
use crate::kernel::table::{KmerTable, TOGETHER, first_of};

/// Most k-mers of a bucket: the slots of the table of their ends have numbers of 31 bits.
const KMERS_MAX: usize = 1 << 29;
/// Slots for the two ends of a k-mer, most of which share theirs with an end of another k-mer, and
/// slots besides: those of the table that no hash chooses, and that of ends without a partner.
const SLOTS_EACH: usize = 3;
const SLOTS_MORE: usize = TOGETHER + 1;
/// More than one end.
const SEVERAL: End = NOWHERE - 1;

/// What becomes a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// A path as far as it goes in the bucket.
    Path,
    /// A k-mer.
    Kmer,
}

/// A (k-1)-mer, the end of a k-mer that is left by its canonical form, and that of one which is
/// left by its other strand.
#[derive(Clone, Copy)]
struct Junction<K> {
    overlap: K,
    ends: [End; 2],
}

/// A solid k-mer in canonical form; the left one of two things comes first.
#[derive(Clone, Copy)]
struct Vertex {
    /// The ends that its ends are joined to.
    partners: [End; 2],
    count: u32,
    /// The base that a path gets when it enters the k-mer by an end.
    bases: [Base; 2],
    inside: [bool; 2],
    /// Whether it is in a fragment.
    is_taken: bool,
}

/// Finds the fragments of the k-mers of buckets, one after the other.
pub struct Compactor<'a, K> {
    k: usize,
    grain: Grain,
    /// By hash; the last one is that of all ends that are joined to none.
    junctions: Vec<Junction<K>>,
    /// By number of the k-mer.
    vertices: Vec<Vertex>,
    /// Of each end its junction, twice, and 1 where it is left by the other strand.
    meetings: Vec<u32>,
    /// What a path gets to the left and to the right of the k-mer that it begins with.
    bases: [Vec<Base>; 2],
    budget: &'a Budget,
    lease: Option<Lease<'a>>,
}

impl<'a, K: Kmer> Compactor<'a, K> {
    /// For k-mers of `k` bases.
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

    /// Appends the fragments of the solid k-mers of a bucket, which are in these slots; others are
    /// taken for absent.
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

    /// Makes room for the ends of so many k-mers, each of which may be alone.
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

    /// Puts the ends of all k-mers together by the (k-1)-mers there.
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
            // The (k-1)-mer by which an end is left, and its other strand.
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

    /// Adds an end to those at a (k-1)-mer.
    #[inline(always)]
    fn meet(&mut self, (overlap, strand): (K, usize), end: End, vectors: Option<Avx2>) -> u32 {
        let chosen = (self.junctions.len() - SLOTS_MORE) as u64;
        let start = ((u64::from(overlap.mixed() as u32) * chosen) >> 32) as usize;
        let here = &self.junctions[start..start + TOGETHER];
        let others = std::array::from_fn(|place| here[place].overlap);
        let slot = match first_of(overlap, others, vectors) {
            Some(place) => start + place,
            None => self.slot_from(start + TOGETHER, overlap),
        };
        let junction = &mut self.junctions[slot];
        junction.overlap = overlap;
        let there = &mut junction.ends[strand];
        *there = if *there == NOWHERE { end } else { SEVERAL };
        (2 * slot + strand) as u32
    }

    /// Where a (k-1)-mer is, or would be, from a slot on.
    #[inline(never)]
    fn slot_from(&self, mut slot: usize, overlap: K) -> usize {
        let slots = self.junctions.len() - 1;
        loop {
            slot = if slot == slots { 0 } else { slot };
            let other = self.junctions[slot].overlap;
            if other == overlap || other == K::NONE {
                return slot;
            }
            slot += 1;
        }
    }

    /// Joins each two ends that are alone at a (k-1)-mer, one on either strand.
    fn join(&mut self) {
        let (meetings, _) = self.meetings.as_chunks::<2>();
        for (vertex, meetings) in self.vertices.iter_mut().zip(meetings) {
            vertex.partners = meetings.map(|meeting| {
                let (slot, strand) = (meeting as usize / 2, meeting as usize % 2);
                let ends = self.junctions[slot].ends;
                let (own, other) = (ends[strand], ends[1 - strand]);
                if own < SEVERAL && other < SEVERAL { other } else { NOWHERE }
            });
        }
    }

    /// Appends the path through a k-mer.
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

    /// Goes on from an end of `start` as long as there is one way; whether that led back to
    /// `start`, and whether it may go on in another bucket.
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

/// Appends each k-mer by itself, in the bucket of its left end.
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
