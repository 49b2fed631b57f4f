//! Strongest pairs: a given number of those with the largest |score|.

use std::cmp::Reverse;

use cuesta_core::fixed::Micro;
use serde::{Deserialize, Serialize};

use super::Match;

/// Collection of the strongest pairs among those that are added. Equal scores go by gene numbers:
/// the pair of smaller triangular rank is the stronger one. The result depends neither on the order
/// of the pairs nor on a division of them into collections that are merged.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct StrongestPairs {
    count: usize,
    pairs: Vec<Match>,
    /// Place of the weakest pair of a full collection; weaker ones are not added.
    weakest: Option<Strength>,
}

/// Place of a pair: smaller is stronger.
type Strength = (Reverse<Micro>, u32, u32);

fn strength(pair: &Match) -> Strength {
    (Reverse(pair.micro.abs()), pair.gene1, pair.gene2)
}

impl StrongestPairs {
    /// An empty collection of `count` pairs, at least 1.
    pub fn new(count: usize) -> Self {
        Self { count, pairs: Vec::with_capacity(2 * count), weakest: None }
    }

    /// Returns the memory of a collection of so many pairs, in bytes.
    pub fn size_bytes(count: u64) -> u64 {
        2 * count * size_of::<Match>() as u64
    }

    /// Adds pairs.
    pub fn extend(&mut self, pairs: impl IntoIterator<Item = Match>) {
        for pair in pairs {
            if self.weakest.is_some_and(|weakest| strength(&pair) > weakest) {
                continue;
            }
            self.pairs.push(pair);
            if self.pairs.len() == 2 * self.count {
                self.reduce();
            }
        }
    }

    /// Adds the pairs of another collection.
    #[must_use]
    pub fn merge(mut self, more: Self) -> Self {
        self.extend(more.pairs);
        self.reduce();
        self
    }

    /// Returns the pairs, in the order of triangular rank.
    pub fn into_pairs(mut self) -> Vec<Match> {
        self.reduce();
        self.pairs.sort_unstable_by_key(|pair| (pair.gene1, pair.gene2));
        self.pairs
    }

    fn reduce(&mut self) {
        if self.count > 0 && self.pairs.len() >= self.count {
            let (_, weakest, _) = self.pairs.select_nth_unstable_by_key(self.count - 1, strength);
            self.weakest = Some(strength(weakest));
            self.pairs.truncate(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_strongest_pairs_are_the_first_of_all_sorted_ones(
            scores in proptest::collection::vec(-5i32..5, 0..200),
            count in 1usize..40,
            cut in 0usize..200,
        ) {
            let pairs = scores.iter().enumerate().map(|(number, micro)| {
                let gene1 = 2 + number as u32 / 7;
                Match { gene1, gene2: number as u32 % 7, micro: *micro }
            });
            let mut pairs: Vec<Match> = pairs.collect();
            let mut expected = pairs.clone();
            expected.sort_by_key(|pair| (-pair.micro.abs(), pair.gene1, pair.gene2));
            expected.truncate(count);
            expected.sort_by_key(|pair| (pair.gene1, pair.gene2));
            pairs.reverse();
            let (first, second) = pairs.split_at(cut.min(pairs.len()));
            let [mut left, mut right] = [StrongestPairs::new(count), StrongestPairs::new(count)];
            left.extend(first.iter().copied());
            right.extend(second.iter().copied());
            prop_assert_eq!(left.merge(right).into_pairs(), expected);
        }
    }
}
