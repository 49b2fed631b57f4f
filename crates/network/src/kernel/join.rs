//! Merge join of two versions, each sorted by (gene1, gene2, cluster).

use std::cmp::Ordering;

use cuesta_core::fixed::Micro;
use serde::{Deserialize, Serialize};

/// Rows that a join outputs.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinKind {
    /// Rows in both versions.
    #[default]
    Inner,
    /// Rows of the first version.
    Left,
    /// Rows of either version.
    Outer,
}

/// Row of a version: its key and its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyed {
    /// Key made by [`key`].
    pub key: u64,
    /// Score in millionths.
    pub score: Micro,
}

/// Row of the answer; the score of a version without the row is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Key made by [`key`].
    pub key: u64,
    /// Score in the first version.
    pub left: Option<Micro>,
    /// Score in the second version.
    pub right: Option<Micro>,
}

/// Returns a 64-bit key that sorts as (gene1, gene2, cluster): 24, 24 and 16 bits.
#[inline]
pub fn key(gene1: u32, gene2: u32, cluster: u32) -> u64 {
    u64::from(gene1) << 40 | u64::from(gene2) << 16 | u64::from(cluster - 1)
}

/// Returns the (gene1, gene2, cluster) of a [`key`].
#[inline]
pub fn unkey(key: u64) -> (u32, u32, u32) {
    ((key >> 40) as u32, (key >> 16) as u32 & 0x00FF_FFFF, (key as u32 & 0xFFFF) + 1)
}

/// Calls `take` for each row of the join of two sorted streams without repeated keys.
///
/// # Errors
/// The first error of either stream or of `take`.
pub fn merge<E>(
    mut left: impl Iterator<Item = Result<Keyed, E>>,
    mut right: impl Iterator<Item = Result<Keyed, E>>,
    how: JoinKind,
    mut take: impl FnMut(Joined) -> Result<(), E>,
) -> Result<(), E> {
    let (mut a, mut b) = (left.next().transpose()?, right.next().transpose()?);
    loop {
        let order = match (&a, &b) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.key.cmp(&b.key),
        };
        let row = match order {
            Ordering::Less => joined(a, None),
            Ordering::Equal => joined(a, b),
            Ordering::Greater => joined(None, b),
        };
        let wanted = match order {
            Ordering::Equal => true,
            Ordering::Less => how != JoinKind::Inner,
            Ordering::Greater => how == JoinKind::Outer,
        };
        if wanted {
            take(row)?;
        }
        if order != Ordering::Greater {
            a = left.next().transpose()?;
        }
        if order != Ordering::Less {
            b = right.next().transpose()?;
        }
    }
}

fn joined(a: Option<Keyed>, b: Option<Keyed>) -> Joined {
    let key = a.or(b).map_or(0, |row| row.key);
    Joined { key, left: a.map(|row| row.score), right: b.map(|row| row.score) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn rows(map: &BTreeMap<u64, i32>) -> impl Iterator<Item = Result<Keyed, ()>> {
        map.iter().map(|(&key, &score)| Ok(Keyed { key, score }))
    }

    proptest! {
        #[test]
        fn merge_and_lookup_agree(
            left in proptest::collection::btree_map(0u64..30, -9i32..9, 0..20),
            right in proptest::collection::btree_map(0u64..30, -9i32..9, 0..20),
        ) {
            for how in [JoinKind::Inner, JoinKind::Left, JoinKind::Outer] {
                let mut output = Vec::new();
                merge(rows(&left), rows(&right), how, |row| {
                    output.push(row);
                    Ok(())
                })
                .unwrap();
                let expected: Vec<_> = (0..30u64)
                    .map(|key| {
                        let (left, right) = (left.get(&key).copied(), right.get(&key).copied());
                        Joined { key, left, right }
                    })
                    .filter(|row| match how {
                        JoinKind::Inner => row.left.is_some() && row.right.is_some(),
                        JoinKind::Left => row.left.is_some(),
                        JoinKind::Outer => row.left.is_some() || row.right.is_some(),
                    })
                    .collect();
                prop_assert_eq!(output, expected);
            }
        }
    }

    #[test]
    fn a_key_keeps_the_order_and_comes_back() {
        let (a, b) = (key(7, 3, 1), key(7, 3, 65_536));
        assert!(a < b && b < key(7, 4, 1) && key(7, 4, 1) < key(8, 1, 1));
        assert_eq!(unkey(b), (7, 3, 65_536));
        assert_eq!(unkey(key(1 << 23, 1 << 22, 5)), (1 << 23, 1 << 22, 5));
    }
}
