//! Where reads and pairs of reads lie on the paths of a graph.

use std::collections::HashMap;

use super::anchors::{Anchors, Located};
use super::glue::End;
use super::kmer::Base;
use super::sequences::reverse_complement;
use super::simplify::PathGraph;

/// Fewest bases that two paths share where only pairs say that they meet.
pub const OVERLAP_MIN: usize = 31;
/// Reads further apart than this are not taken for a pair.
const INSERT_MAX: i64 = 2000;

/// Two ends that paths are left by, the smaller one first.
pub type Ends = (End, End);

/// How far a path is from the next: bases that they share, or bases in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Joint {
    /// The last bases of the one are the first of the other.
    Shared(usize),
    /// These are in between.
    Between(Vec<Base>),
}

/// What reads and read pairs say.
pub struct Placements {
    /// By length of what a pair on one path spans.
    pub inserts: Vec<u64>,
    /// Pairs on two paths, and the bases from reads to ends added up.
    pub across: HashMap<Ends, (u64, i64)>,
    /// Reads on two paths, by how these meet as the read has it.
    pub spans: HashMap<Ends, HashMap<Joint, u64>>,
}

impl Default for Placements {
    fn default() -> Self {
        Self {
            inserts: vec![0; INSERT_MAX as usize + 1],
            across: HashMap::new(),
            spans: HashMap::new(),
        }
    }
}

impl Placements {
    /// Adds a pair by where its reads lie.
    pub fn add_pair(&mut self, anchors: &Anchors<'_>, one: Located, two: Located) {
        let both = one.left + two.left;
        if one.end / 2 == two.end / 2 {
            let insert = both - anchors.length(one.end / 2);
            if one.end != two.end && (1..=INSERT_MAX).contains(&insert) {
                self.inserts[insert as usize] += 1;
            }
        } else if both <= INSERT_MAX {
            let ends = (one.end.min(two.end), one.end.max(two.end));
            let entry = self.across.entry(ends).or_insert((0, 0));
            *entry = (entry.0 + 1, entry.1 + both);
        }
    }

    /// A read that goes from one path to another, if it is theirs where they meet.
    pub fn add_span(&mut self, graph: &PathGraph<'_>, read: &[Base], one: Located, two: Located) {
        let gap = read.len() as i64 - one.left - two.left;
        let near = |place: i64| (0..=read.len() as i64).contains(&place).then_some(place as usize);
        let Some((end, start)) = near(one.left).zip(near(one.left + gap)) else { return };
        let before = end.checked_sub(OVERLAP_MIN).map(|from| &read[from..end]);
        let after = read.get(start..start + OVERLAP_MIN);
        if before != Some(&graph.last(one.end, OVERLAP_MIN))
            || after != Some(&graph.first(two.end, OVERLAP_MIN))
        {
            return;
        }
        let joint = if start <= end {
            Joint::Shared(end - start)
        } else {
            let between = &read[end..start];
            // What a read does not know, it cannot say of the gap.
            if between.iter().any(|&base| base > 3) {
                return;
            }
            if one.end < two.end {
                Joint::Between(between.to_vec())
            } else {
                Joint::Between(reverse_complement(between).collect())
            }
        };
        let ends = (one.end.min(two.end), one.end.max(two.end));
        *self.spans.entry(ends).or_default().entry(joint).or_insert(0) += 1;
    }

    /// Adds what was placed elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.inserts.iter_mut().zip(other.inserts).for_each(|(sum, more)| *sum += more);
        for (ends, (pairs, bases)) in other.across {
            let entry = self.across.entry(ends).or_insert((0, 0));
            *entry = (entry.0 + pairs, entry.1 + bases);
        }
        for (ends, joints) in other.spans {
            let all = self.spans.entry(ends).or_default();
            for (joint, reads) in joints {
                *all.entry(joint).or_insert(0) += reads;
            }
        }
    }

    /// The length below which this part of the pairs on one path spans.
    pub fn quantile(&self, part: f64) -> f64 {
        let all: u64 = self.inserts.iter().sum();
        let mut below = 0;
        for (insert, pairs) in self.inserts.iter().enumerate() {
            below += pairs;
            if below as f64 >= part * all as f64 {
                return insert as f64;
            }
        }
        0.0
    }
}
