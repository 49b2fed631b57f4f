//! The vertex program of PGA (Big Data 2015, section IV) on both strands: chains compressed by a
//! coin toss, then tips, then bubbles.
//!
//! A vertex is a k-mer, or a chain of merged k-mers; its edges lead to a side of another vertex. A
//! link has a predecessor and a successor on one strand, which change places on the other. So
//! messages that the paper sends to the predecessor go to both neighbours, and a vertex has no
//! outgoing edge where one of its sides has none.

use cuesta_core::Result;
use cuesta_core::random::Stream;

use super::control::Paper;
use super::messages::{
    EDGE_BYTES, Edge, Message, MessageKind, Name, Outbox, Side, put_edge, read_edge,
};
use super::part::{Grown, Vertex, VertexPart};
use crate::kernel::codec::{self, ByteReader};
use crate::kernel::internal;
use crate::kernel::kmer::Base;
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::similar;

/// Returns whether a vertex is labelled tail, not head, in a round of the coin toss.
pub fn is_tail(name: Name, round: u64) -> bool {
    Stream::new(name as u64, (name >> 64) as u64).bits(round) & 1 == 1
}

impl VertexPart {
    /// Applies messages to vertices, then removes the vertices that are marked as removed.
    pub(super) fn receive(&mut self, messages: &[Message<'_>]) -> Result<u64> {
        let k = self.k;
        self.each(messages, |vertex, kind, mut body| {
            if kind == MessageKind::Removed {
                vertex.is_removed = true;
                return Ok(());
            }
            let [side] = body.array()?;
            let side = Side::of(side);
            match kind {
                MessageKind::Edges => {
                    let mut edges = Vec::new();
                    // Most of millions of vertices have one edge a side.
                    edges.reserve_exact(body.0.len() / EDGE_BYTES);
                    while !body.is_empty() {
                        edges.push(read_edge(&mut body)?);
                    }
                    vertex.edges[side as usize] = edges;
                }
                MessageKind::Moved => {
                    let (before, now) = (read_edge(&mut body)?, read_edge(&mut body)?);
                    for edge in vertex.edges[side as usize].iter_mut().filter(|e| **e == before) {
                        *edge = now;
                    }
                }
                MessageKind::EdgeRemoved => {
                    let removed = read_edge(&mut body)?;
                    vertex.edges[side as usize].retain(|&edge| edge != removed);
                }
                MessageKind::Merged => {
                    let [tail_side] = body.array()?;
                    vertex.edges[side as usize] = vec![read_edge(&mut body)?];
                    let mut codes = Vec::new();
                    let piece = body.fragment(&mut codes)?;
                    let tail = Grown { side: Side::of(tail_side), piece, codes };
                    vertex.grow(side, tail, (k, k - 1))?;
                    vertex.piece.merges += 1;
                }
                _ => return Err(internal("a message that nobody waits for")),
            }
            Ok(())
        })?;
        self.vertices.retain(|vertex| !vertex.is_removed);
        Ok(0)
    }

    /// Labels each vertex with one edge in and one out as head or tail, and sends the label to its
    /// neighbours.
    pub(super) fn toss(&self, round: u64, out: &mut Outbox) -> u64 {
        for vertex in self.vertices.iter().filter(|vertex| vertex.is_compressible()) {
            let label = u8::from(is_tail(vertex.name, round));
            for &(to, to_side) in vertex.edges.iter().flatten() {
                out.add(to, MessageKind::Label, |body| body.extend([to_side as u8, label]));
            }
        }
        0
    }

    /// Merges tails into neighbouring heads; returns the number of labels that reached vertices
    /// with a label.
    ///
    /// If two tails are neighbours, only that with the smaller name may merge: both strands know
    /// them as neighbours, and neither may merge into a vertex that has just left.
    pub(super) fn merge(
        &mut self,
        messages: &[Message<'_>],
        round: u64,
        out: &mut Outbox,
    ) -> Result<u64> {
        let mut links = 0;
        for received in messages.chunk_by(|left, right| left.to == right.to) {
            let place = self.place(received[0].to)?;
            let vertex = &mut self.vertices[place];
            if !vertex.is_compressible() {
                continue;
            }
            let mut labels = [None; 2];
            for label in received {
                let [side, is_tail] = ByteReader(label.body).array()?;
                labels[usize::from(side & 1)] = Some(is_tail != 0);
                links += 1;
            }
            if let Some(side) = vertex.merge_side(labels, round) {
                vertex.merge_into(side, out);
            }
        }
        self.vertices.retain(|vertex| !vertex.is_removed);
        Ok(links)
    }

    /// Marks tips as removed, short vertices without an edge on one side, and notifies their
    /// neighbours; returns their number.
    pub(super) fn find_tips(&mut self, paper: &Paper, out: &mut Outbox) -> u64 {
        let mut tips = 0;
        for vertex in &mut self.vertices {
            let is_open = vertex.edges.iter().any(Vec::is_empty);
            if is_open && vertex.codes.len() < paper.tip {
                vertex.is_removed = true;
                vertex.announce_removal(out);
                tips += 1;
            }
        }
        tips
    }

    /// Sends short vertices with one edge in and one out, which may be sides of bubbles, to a
    /// predecessor: the neighbour with the smaller name.
    pub(super) fn find_bubbles(&self, paper: &Paper, out: &mut Outbox) -> u64 {
        for vertex in self.vertices.iter().filter(|vertex| vertex.codes.len() < paper.bubble) {
            let ([left], [right]) = (&vertex.edges[0][..], &vertex.edges[1][..]) else { continue };
            let (side, before, after) =
                if left <= right { (Side::Left, left, right) } else { (Side::Right, right, left) };
            out.add(before.0, MessageKind::Candidate, |body| {
                body.push(before.1 as u8);
                put_edge((vertex.name, side), body);
                put_edge(*after, body);
                body.extend(vertex.piece.merges.to_le_bytes());
                let turned: Vec<Base>;
                let codes = if side == Side::Left {
                    &vertex.codes
                } else {
                    turned = reverse_complement(&vertex.codes).collect();
                    &turned
                };
                codec::put_codes(codes, body);
            });
        }
        0
    }

    /// Compares the sides of bubbles at their predecessors, and removes those that are similar to a
    /// more frequent side; returns their number.
    pub(super) fn pop_bubbles(
        &mut self,
        messages: &[Message<'_>],
        paper: &Paper,
        out: &mut Outbox,
    ) -> Result<u64> {
        let mut popped = 0;
        for sent in messages.chunk_by(|left, right| left.to == right.to) {
            let place = self.place(sent[0].to)?;
            let mut sides: Vec<Candidate> =
                sent.iter().map(Candidate::read).collect::<Result<_>>()?;
            sides.sort_unstable_by(|left, right| left.rank().cmp(&right.rank()));
            for bubble in sides.chunk_by(|left, right| left.between == right.between) {
                let mut distinct: Vec<&Candidate> = Vec::new();
                for side in bubble {
                    let is_like = |larger: &&Candidate| {
                        similar(&side.codes, (&larger.codes, false), paper.edits)
                    };
                    if !distinct.iter().any(is_like) {
                        distinct.push(side);
                        continue;
                    }
                    let (from_side, after) = side.between;
                    self.vertices[place].edges[from_side as usize].retain(|e| *e != side.edge);
                    out.add(side.edge.0, MessageKind::Removed, |_| ());
                    let far = (side.edge.0, side.edge.1.other());
                    put_edge_removed(after, far, out);
                    popped += 1;
                }
            }
        }
        Ok(popped)
    }

    /// Returns the index of a vertex.
    fn place(&self, name: Name) -> Result<usize> {
        let index = self.vertices.binary_search_by_key(&name, |vertex| vertex.name);
        index.map_err(|_| internal("a message for a vertex that is gone"))
    }
}

/// A possible side of a bubble, as its predecessor receives it.
struct Candidate {
    /// Side by which the predecessor is left, and the edge to the successor.
    between: (Side, Edge),
    /// The vertex, and its side that the predecessor enters.
    edge: Edge,
    /// Number of vertices that were merged into it.
    merges: u32,
    /// Its bases, as read from the predecessor on.
    codes: Vec<Base>,
}

impl Candidate {
    fn read(message: &Message<'_>) -> Result<Self> {
        let mut body = ByteReader(message.body);
        let [side] = body.array()?;
        let (edge, after) = (read_edge(&mut body)?, read_edge(&mut body)?);
        let merges = body.u32()?;
        let mut codes = Vec::new();
        body.codes(&mut codes)?;
        Ok(Self { between: (Side::of(side), after), edge, merges, codes })
    }

    /// Returns the sort key: sides of one bubble together, then the most frequent first, the
    /// longest first, and by bases.
    fn rank(&self) -> impl Ord {
        use std::cmp::Reverse;
        (
            self.between,
            Reverse(self.merges),
            Reverse(self.codes.len()),
            self.codes.clone(),
            self.edge,
        )
    }
}

impl Vertex {
    /// Returns whether it has one edge in and one out, neither to itself.
    fn is_compressible(&self) -> bool {
        self.edges.iter().all(|edges| matches!(edges[..], [(to, _)] if to != self.name))
    }

    /// Returns whether its two sides are joined to each other.
    pub(super) fn is_loop(&self) -> bool {
        self.edges[0] == [(self.name, Side::Right)] && self.edges[1] == [(self.name, Side::Left)]
    }

    /// Returns the side on which a tail merges into a head, by the labels of its neighbours.
    fn merge_side(&self, labels: [Option<bool>; 2], round: u64) -> Option<Side> {
        let waits = Side::BOTH.iter().any(|&side| {
            let neighbour = self.edges[side as usize][0].0;
            labels[side as usize] == Some(true) && neighbour < self.name
        });
        if waits || !is_tail(self.name, round) {
            return None;
        }
        [Side::Right, Side::Left].into_iter().find(|&side| labels[side as usize] == Some(false))
    }

    /// Merges into the neighbour on a side, and notifies the neighbour on the other side.
    fn merge_into(&mut self, side: Side, out: &mut Outbox) {
        let (head, at) = self.edges[side as usize][0];
        let beyond = self.edges[side.other() as usize][0];
        out.add(head, MessageKind::Merged, |body| {
            body.extend([at as u8, side as u8]);
            put_edge(beyond, body);
            codec::put_fragment(&self.piece, &self.codes, body);
        });
        out.add(beyond.0, MessageKind::Moved, |body| {
            body.push(beyond.1 as u8);
            put_edge((self.name, side.other()), body);
            put_edge((head, at), body);
        });
        self.is_removed = true;
    }

    /// Notifies all neighbours of its removal.
    fn announce_removal(&self, out: &mut Outbox) {
        for side in Side::BOTH {
            for &edge in &self.edges[side as usize] {
                put_edge_removed(edge, (self.name, side), out);
            }
        }
    }
}

/// Notifies the vertex of the edge `to` that its edge to `removed` no longer exists.
fn put_edge_removed(to: Edge, removed: Edge, out: &mut Outbox) {
    out.add(to.0, MessageKind::EdgeRemoved, |body| {
        body.push(to.1 as u8);
        put_edge(removed, body);
    });
}
