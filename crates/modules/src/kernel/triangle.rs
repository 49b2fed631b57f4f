//! Symmetric matrices without their diagonal, stored as the upper triangle by rows.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::{self, lock};
use std::sync::Mutex;

/// Number as it is stored: `f64`, or `f32` for matrices that need half the memory.
pub trait StoredNumber: Copy + Default + Send + Sync {
    /// Returns the nearest stored number.
    fn store(value: f64) -> Self;

    /// Returns the number in double precision.
    fn load(self) -> f64;
}

impl StoredNumber for f64 {
    #[inline(always)]
    fn store(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn load(self) -> f64 {
        self
    }
}

impl StoredNumber for f32 {
    #[inline(always)]
    fn store(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn load(self) -> f64 {
        f64::from(self)
    }
}

/// Distance from 0 to 1 as the similarity of 32 bits: small similarities keep their digits, which a
/// distance near 1 would lose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Similarity32(f32);

impl StoredNumber for Similarity32 {
    #[inline(always)]
    fn store(value: f64) -> Self {
        Self((1.0 - value) as f32)
    }

    #[inline(always)]
    fn load(self) -> f64 {
        1.0 - f64::from(self.0)
    }
}

/// Values of all pairs `i < j` of `count` things, pair (0, 1) first, then (0, 2).
#[derive(Debug)]
pub struct Triangle<'b, T> {
    count: usize,
    values: Vec<T>,
    _lease: Lease<'b>,
}

impl<'b, T: StoredNumber> Triangle<'b, T> {
    /// Creates a triangle of zeros; `purpose` names it in the error.
    ///
    /// # Errors
    /// `Input` when the budget has too little left.
    pub fn zeros(count: usize, budget: &'b Budget, purpose: &str) -> Result<Self> {
        let pairs = count * count.saturating_sub(1) / 2;
        let lease = budget.take((pairs * size_of::<T>()) as u64, purpose)?;
        Ok(Self { count, values: vec![T::default(); pairs], _lease: lease })
    }

    /// Creates a triangle from its values, `pairs` of them in order.
    ///
    /// # Errors
    /// `Input` when the budget has too little left, or the number of values is not that of pairs.
    pub fn from_pairs(
        count: usize,
        pairs: impl Iterator<Item = f64>,
        budget: &'b Budget,
    ) -> Result<Self> {
        let mut triangle = Self::zeros(count, budget, "the triangle of pairs")?;
        let mut filled = 0;
        for (slot, value) in triangle.values.iter_mut().zip(pairs) {
            *slot = T::store(value);
            filled += 1;
        }
        if filled == triangle.values.len() {
            return Ok(triangle);
        }
        let text = format!("{filled} values for the {} pairs", triangle.values.len());
        Err(cuesta_core::Error::input("modules", text))
    }

    /// Returns a copy; `purpose` names it in the error.
    ///
    /// # Errors
    /// `Input` when the budget has too little left.
    pub fn copy<'c>(&self, budget: &'c Budget, purpose: &str) -> Result<Triangle<'c, T>> {
        let mut copy = Triangle::zeros(self.count, budget, purpose)?;
        copy.values.copy_from_slice(&self.values);
        Ok(copy)
    }

    /// Number of things.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the place of the first pair of a row, (i, i + 1).
    #[inline(always)]
    pub fn start(&self, row: usize) -> usize {
        row * (2 * self.count - row - 1) / 2
    }

    #[inline(always)]
    fn place(&self, i: usize, j: usize) -> usize {
        let (i, j) = if i < j { (i, j) } else { (j, i) };
        self.start(i) + j - i - 1
    }

    /// Returns the value of a pair of different things.
    #[inline(always)]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values[self.place(i, j)].load()
    }

    /// Replaces the value of a pair of different things.
    #[inline(always)]
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        let place = self.place(i, j);
        self.values[place] = T::store(value);
    }

    /// Values in order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Values in order, to change.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Returns the values of the pairs (i, i + 1) and on.
    pub fn row(&self, i: usize) -> &[T] {
        &self.values[self.start(i)..][..self.count - i - 1]
    }

    /// Returns the rows, each with its number, to change.
    pub fn rows_mut(&mut self) -> Vec<&mut [T]> {
        let mut rest = &mut self.values[..];
        let mut rows = Vec::with_capacity(self.count);
        for i in 0..self.count {
            let (row, next) = rest.split_at_mut(self.count - i - 1);
            rows.push(row);
            rest = next;
        }
        rows
    }

    /// Replaces each value by its image, on threads.
    pub fn map(&mut self, threads: usize, image: impl Fn(f64) -> f64 + Sync) -> Result<()> {
        const PIECE: usize = 1 << 16;
        let pieces: Vec<_> = self.values.chunks_mut(PIECE).map(Mutex::new).collect();
        let work = |_: &mut (), task: usize| {
            for value in lock(&pieces[task]).iter_mut() {
                *value = T::store(image(value.load()));
            }
            Ok(())
        };
        parallel::run(threads, pieces.len(), || (), work, |_| {}).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_in_the_order_of_rows() {
        let budget = Budget::new(1 << 20);
        let mut triangle = Triangle::<f64>::zeros(4, &budget, "test").unwrap();
        let mut number = 0.0;
        for i in 0..4 {
            for j in i + 1..4 {
                triangle.set(j, i, number);
                number += 1.0;
            }
        }
        assert_eq!(triangle.values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(triangle.row(1), [3.0, 4.0]);
        assert_eq!(triangle.get(2, 3), 5.0);
        triangle.map(2, |value| 2.0 * value).unwrap();
        assert_eq!(triangle.rows_mut()[2], [10.0]);
        assert!(Triangle::<f32>::zeros(1000, &budget, "the pairs").is_err());
    }

    #[test]
    fn fewer_than_two_things_have_no_pairs() {
        let budget = Budget::new(0);
        for count in [0, 1] {
            let mut triangle = Triangle::<f64>::zeros(count, &budget, "test").unwrap();
            triangle.map(2, |value| value).unwrap();
            assert_eq!(triangle.rows_mut().len(), count);
        }
    }
}
