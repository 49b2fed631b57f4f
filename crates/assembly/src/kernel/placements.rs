//! Where reads and pairs of reads lie on the paths of a graph.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::anchors::{Anchors, Located};
use super::glue::End;
use super::kmer::Base;
use super::libraries::{self, Library, Orientation};
use super::sequences::reverse_complement;
use super::simplify::PathGraph;

/// Fewest bases that two paths share where only pairs say that they meet.
pub const OVERLAP_MIN: usize = 31;
/// A read that begins and ends on one path goes around a circle only if that is so many times
/// longer.
const AROUND_TIMES: i64 = 2;

/// Two ends that paths are left by, the smaller one first.
pub type Ends = (End, End);

/// How far a path is from the next: bases that they share, or bases in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Joint {
    /// The last bases of the one are the first of the other.
    Shared(usize),
    /// These are in between.
    Between(Vec<Base>),
}

/// Reads on two paths, or from the end of a path to its beginning, by how these meet as the read
/// has it.
pub type Spans = HashMap<Ends, HashMap<Joint, u64>>;

/// What reads and read pairs say.
#[derive(Default, Serialize, Deserialize)]
pub struct Placements {
    /// What pairs say, by source until they are [`grouped`](Self::grouped), then by library.
    pub libraries: Vec<Library>,
    /// What reads say.
    pub spans: Spans,
}

impl Placements {
    /// Adds a read that goes from one path to another, by where it lies on the one and, turned, on
    /// the other, if it is theirs where they meet.
    pub fn add_span(
        &mut self,
        (graph, anchors): (&PathGraph<'_>, &Anchors<'_>),
        read: &[Base],
        (one, two): (Located, Located),
    ) {
        let bases = read.len() as i64;
        if one.end / 2 == two.end / 2 {
            let is_around = one.end != two.end
                && anchors.length(one.end / 2) > AROUND_TIMES * bases
                && one.left + two.left <= AROUND_TIMES * bases;
            if !is_around {
                return;
            }
        }
        let gap = bases - one.left - two.left;
        let near = |place: i64| (0..=bases).contains(&place).then_some(place as usize);
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

    /// Nothing so far, of sources whose reads lie so.
    pub fn of_sources(orientations: &[Orientation]) -> Self {
        let libraries = orientations.iter().copied().map(Library::new).collect();
        Self { libraries, ..Self::default() }
    }

    /// With sources that are alike as one library each.
    #[must_use]
    pub fn grouped(mut self) -> Self {
        self.libraries = libraries::grouped(self.libraries);
        self
    }

    /// Adds what was placed elsewhere, of the same libraries in the same order.
    pub fn merge(&mut self, other: Self) {
        for (library, more) in self.libraries.iter_mut().zip(other.libraries) {
            library.merge(more);
        }
        for (ends, joints) in other.spans {
            let all = self.spans.entry(ends).or_default();
            for (joint, reads) in joints {
                *all.entry(joint).or_insert(0) += reads;
            }
        }
    }
}
