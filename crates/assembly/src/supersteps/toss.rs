//! Chains compressed by the coin toss of the paper, in rounds of two supersteps.
//!
//! In the first every vertex is head or tail; a tail beside a head sends itself there, and tells
//! its other neighbour. In the second heads grow. A tail waits where a smaller neighbour is a tail
//! too, so that of two neighbours one goes at most. About a quarter of the vertices go in a round.

use cuesta_core::random::Stream;

use super::messages::{Kind, Name, Outbox, Side, put_neighbour};
use super::part::{Part, Vertex};
use crate::wire;

impl Part {
    /// Tails that are beside heads go; how many.
    pub(super) fn toss(&mut self, superstep: u64, out: &mut Outbox) -> u64 {
        let is_tail = |name: Name| coin(name, superstep);
        let goes_to = |vertex: &Vertex| -> Option<Side> {
            let waits = |&(name, _): &(Name, Side)| is_tail(name) && name < vertex.name;
            if !is_tail(vertex.name) || vertex.next.iter().flatten().any(waits) {
                return None;
            }
            let beside_head =
                |side: &Side| vertex.next[*side as usize].is_some_and(|(name, _)| !is_tail(name));
            [Side::Right, Side::Left].into_iter().find(beside_head)
        };
        let mut gone = 0;
        for vertex in self.vertices.extract_if(.., |vertex| goes_to(vertex).is_some()) {
            let Some(side) = goes_to(&vertex) else { continue };
            if let Some((head, at)) = vertex.next[side as usize] {
                vertex.send_to((head, at), side, out);
                gone += 1;
            }
        }
        gone
    }
}

impl Vertex {
    fn send_to(&self, (head, at): (Name, Side), side: Side, out: &mut Outbox) {
        let beyond = self.next[side.other() as usize];
        out.add(head, Kind::Merged, |body| {
            body.extend([at as u8, side as u8]);
            put_neighbour(beyond, body);
            wire::put_fragment(&self.piece, &self.codes, body);
        });
        if let Some((other, its_side)) = beyond {
            out.add(other, Kind::Joined, |body| {
                body.push(its_side as u8);
                put_neighbour(Some((head, at)), body);
            });
        }
    }
}

/// Whether a vertex is a tail.
fn coin(name: Name, superstep: u64) -> bool {
    Stream::new(name as u64, (name >> 64) as u64).bits(superstep) & 1 == 1
}
