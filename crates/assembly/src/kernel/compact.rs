//! The paths without branches inside one bucket: fragments of unitigs.
//!
//! Two k-mers are joined where they share a (k-1)-mer that no other solid k-mer begins or ends
//! with, on either strand. A (k-1)-mer that is its own reverse complement joins nothing: a path
//! would turn back on itself there.

use cuesta_core::Result;

use crate::kernel::internal;

use crate::kernel::kmer::{Base, Kmer, complement};
use crate::kernel::packed::{LEFT_INSIDE, RIGHT_INSIDE};
use crate::kernel::sequences::{FragmentSummary, Fragments};
use crate::kernel::table::KmerTable;

/// A k-mer as a path reads it, and its other strand.
#[derive(Clone, Copy)]
struct Oriented<K> {
    forward: K,
    backward: K,
}

impl<K: Kmer> Oriented<K> {
    fn canonical(self) -> K {
        self.forward.min(self.backward)
    }

    fn turned(self) -> Self {
        Self { forward: self.backward, backward: self.forward }
    }

    fn right(self, base: Base, k: usize) -> Self {
        let backward = self.backward.prepend(complement(base), k);
        Self { forward: self.forward.append(base, k), backward }
    }

    fn left(self, base: Base, k: usize) -> Self {
        let backward = self.backward.append(complement(base), k);
        Self { forward: self.forward.prepend(base, k), backward }
    }
}

/// What is beyond the right end of a k-mer.
enum Beyond<K> {
    /// Another bucket knows.
    Outside,
    /// Nothing, or a branch.
    End,
    /// The only k-mer there, which has no other before it, and its slot.
    One(Oriented<K>, usize),
}

/// What becomes a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// A path as far as it goes in the bucket.
    Path,
    /// A k-mer.
    Kmer,
}

/// Finds the fragments of the k-mers of a bucket.
pub struct Compactor<'t, 'b, K> {
    table: &'t mut KmerTable<'b, K>,
    k: usize,
    min_count: u32,
    grain: Grain,
}

impl<'t, 'b, K: Kmer> Compactor<'t, 'b, K> {
    /// K-mers counted less than `min_count` times are taken for absent.
    pub fn new(
        table: &'t mut KmerTable<'b, K>,
        k: usize,
        (min_count, grain): (u32, Grain),
    ) -> Self {
        Self { table, k, min_count, grain }
    }

    /// Appends the fragments of the solid k-mers, which are in these slots.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn run(&mut self, solid: &[usize], fragments: &mut Fragments<'_>) -> Result<()> {
        if self.grain == Grain::Kmer {
            return self.push_kmers(solid, fragments);
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for &slot in solid {
            if self.table.visit(slot) {
                continue;
            }
            left.clear();
            right.clear();
            let forward = self.table.key(slot);
            let start = Oriented { forward, backward: forward.reverse_complement(self.k) };
            let count = self.table.count(slot);
            let mut piece = FragmentSummary {
                first_count: count,
                last_count: count,
                ..FragmentSummary::default()
            };
            piece.count_sum = u64::from(count);
            (piece.circular, piece.right_open) =
                self.walk(start, &mut right, (&mut piece.count_sum, &mut piece.last_count))?;
            if !piece.circular {
                (_, piece.left_open) = self.walk(
                    start.turned(),
                    &mut left,
                    (&mut piece.count_sum, &mut piece.first_count),
                )?;
            }
            fragments.push(piece, |codes| {
                codes.extend(left.iter().rev().map(|&base| complement(base)));
                codes.extend((0..self.k).rev().map(|index| forward.last_but(index)));
                codes.extend_from_slice(&right);
            })?;
        }
        Ok(())
    }

    /// Appends each k-mer by itself, in the bucket of its left end.
    fn push_kmers(&self, solid: &[usize], fragments: &mut Fragments<'_>) -> Result<()> {
        for &slot in solid.iter().filter(|&&slot| self.table.inside(slot) & LEFT_INSIDE != 0) {
            let (kmer, count) = (self.table.key(slot), self.table.count(slot));
            let piece =
                FragmentSummary { count_sum: u64::from(count), ..FragmentSummary::default() };
            fragments.push(piece, |codes| {
                codes.extend((0..self.k).rev().map(|index| kmer.last_but(index)));
            })?;
        }
        Ok(())
    }

    /// Goes right from `start` as long as there is one way; whether that led back to `start`, and
    /// whether it may go on in another bucket.
    fn walk(
        &mut self,
        start: Oriented<K>,
        bases: &mut Vec<Base>,
        (count_sum, last_count): (&mut u64, &mut u32),
    ) -> Result<(bool, bool)> {
        let mut at = start;
        loop {
            match self.beyond(at)? {
                Beyond::Outside => return Ok((false, true)),
                Beyond::End => return Ok((false, false)),
                Beyond::One(next, slot) => {
                    if self.table.visit(slot) {
                        return if next.forward == start.forward {
                            Ok((true, false))
                        } else {
                            Err(internal("a path met another one"))
                        };
                    }
                    bases.push(next.forward.last_but(0));
                    *last_count = self.table.count(slot);
                    *count_sum += u64::from(*last_count);
                    at = next;
                }
            }
        }
    }

    fn beyond(&self, at: Oriented<K>) -> Result<Beyond<K>> {
        let canonical = at.canonical();
        let slot = self.table.find(canonical).ok_or_else(|| internal("a k-mer is gone"))?;
        let side = if canonical == at.forward { RIGHT_INSIDE } else { LEFT_INSIDE };
        if self.table.inside(slot) & side == 0 {
            return Ok(Beyond::Outside);
        }
        if at.forward.suffix(self.k) == at.backward.prefix() {
            return Ok(Beyond::End);
        }
        let mut found = None;
        for base in 0..4 {
            let next = at.right(base, self.k);
            if let Some(slot) = self.solid(next) {
                if found.is_some() {
                    return Ok(Beyond::End);
                }
                found = Some((next, slot));
            }
        }
        let Some((next, slot)) = found else { return Ok(Beyond::End) };
        let own = at.forward.last_but(self.k - 1);
        let branches = (0..4)
            .filter(|&base| base != own)
            .any(|base| self.solid(next.left(base, self.k)).is_some());
        if branches {
            return Ok(Beyond::End);
        }
        Ok(Beyond::One(next, slot))
    }

    #[inline(always)]
    fn solid(&self, at: Oriented<K>) -> Option<usize> {
        self.table.find(at.canonical()).filter(|&slot| self.table.solid(slot, self.min_count))
    }
}
