//! The vertex program of PGA (Big Data 2015, section IV) on both strands: chains compressed by a
//! coin toss, then tips, then bubbles.
//!
//! A vertex is a k-mer, or what k-mers were merged into; it knows its edges, which lead to a side
//! of another vertex. On one strand a link has a predecessor and a successor, on the other strand
//! they change places. So what the paper sends to the predecessor goes to both neighbours, and a
//! vertex has no outgoing edge where one of its sides has none.

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

/// Whether a vertex is labelled tail, not head, in a round of the coin toss.
pub fn is_tail(name: Name, round: u64) -> bool {
    Stream::new(name as u64, (name >> 64) as u64).bits(round) & 1 == 1
}

impl VertexPart {
    /// Vertices change as messages say; those that leave are gone.
    pub(super) fn receive(&mut self, messages: &[Message<'_>]) -> Result<u64> {
        let k = self.k;
        self.each(messages, |vertex, kind, mut body| {
            if kind == MessageKind::Removed {
                vertex.leaves = true;
                return Ok(());
            }
            let [side] = body.array()?;
            let side = Side::of(side);
            match kind {
                MessageKind::Edges => {
                    let mut edges = Vec::new();
                    // Of millions of vertices most have one edge a side.
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
                MessageKind::Gone => {
                    let gone = read_edge(&mut body)?;
                    vertex.edges[side as usize].retain(|&edge| edge != gone);
                }
                MessageKind::Merged => {
                    let [its_side] = body.array()?;
                    vertex.edges[side as usize] = vec![read_edge(&mut body)?];
                    let mut codes = Vec::new();
                    let piece = body.fragment(&mut codes)?;
                    let tail = Grown { side: Side::of(its_side), piece, codes };
                    vertex.grow(side, tail, (k, k - 1))?;
                    vertex.piece.merges += 1;
                }
                _ => return Err(internal("a message that nobody waits for")),
            }
            Ok(())
        })?;
        self.vertices.retain(|vertex| !vertex.leaves);
        Ok(0)
    }

    /// Each vertex with one edge in and one out is labelled head or tail, and sends its label to
    /// its neighbours.
    pub(super) fn toss(&self, round: u64, out: &mut Outbox) -> u64 {
        for vertex in self.vertices.iter().filter(|vertex| vertex.is_compressible()) {
            let label = u8::from(is_tail(vertex.name, round));
            for &(to, its_side) in vertex.edges.iter().flatten() {
                out.add(to, MessageKind::Label, |body| body.extend([its_side as u8, label]));
            }
        }
        0
    }

    /// Tails go into heads beside them; how many labels came to vertices that have one.
    ///
    /// Of two tails side by side that with the smaller name may go: both strands know them as
    /// neighbours, and neither may go to where the other has left.
    pub(super) fn merge(
        &mut self,
        messages: &[Message<'_>],
        round: u64,
        out: &mut Outbox,
    ) -> Result<u64> {
        let mut links = 0;
        for labels in messages.chunk_by(|one, two| one.to == two.to) {
            let place = self.place(labels[0].to)?;
            let vertex = &mut self.vertices[place];
            if !vertex.is_compressible() {
                continue;
            }
            let mut heard = [None; 2];
            for label in labels {
                let [side, is_tail] = ByteReader(label.body).array()?;
                heard[usize::from(side & 1)] = Some(is_tail != 0);
                links += 1;
            }
            if let Some(side) = vertex.goes_to(heard, round) {
                vertex.go(side, out);
            }
        }
        self.vertices.retain(|vertex| !vertex.leaves);
        Ok(links)
    }

    /// Finds tips: short vertices without an edge on one side. They tell their neighbours.
    pub(super) fn find_tips(&mut self, paper: &Paper, out: &mut Outbox) -> u64 {
        let mut found = 0;
        for vertex in &mut self.vertices {
            let is_open = vertex.edges.iter().any(Vec::is_empty);
            if is_open && vertex.codes.len() < paper.tip {
                vertex.leaves = true;
                vertex.tell_gone(out);
                found += 1;
            }
        }
        found
    }

    /// Short vertices with one edge in and one out, which may be sides of bubbles, send themselves
    /// to a predecessor: of their two neighbours that of the smaller name.
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

    /// Predecessors compare the sides of bubbles, and remove those that are like a more frequent
    /// one; how many.
    pub(super) fn pop_bubbles(
        &mut self,
        messages: &[Message<'_>],
        paper: &Paper,
        out: &mut Outbox,
    ) -> Result<u64> {
        let mut popped = 0;
        for sent in messages.chunk_by(|one, two| one.to == two.to) {
            let place = self.place(sent[0].to)?;
            let mut sides: Vec<Candidate> =
                sent.iter().map(Candidate::read).collect::<Result<_>>()?;
            sides.sort_unstable_by(|one, two| one.rank().cmp(&two.rank()));
            for bubble in sides.chunk_by(|one, two| one.between == two.between) {
                let mut left: Vec<&Candidate> = Vec::new();
                for side in bubble {
                    let is_like = |other: &&Candidate| {
                        similar(&side.codes, (&other.codes, false), paper.edits)
                    };
                    if !left.iter().any(is_like) {
                        left.push(side);
                        continue;
                    }
                    let (own_side, after) = side.between;
                    self.vertices[place].edges[own_side as usize].retain(|e| *e != side.edge);
                    out.add(side.edge.0, MessageKind::Removed, |_| ());
                    let far = (side.edge.0, side.edge.1.other());
                    put_gone(after, far, out);
                    popped += 1;
                }
            }
        }
        Ok(popped)
    }

    /// Where a vertex is.
    fn place(&self, name: Name) -> Result<usize> {
        let found = self.vertices.binary_search_by_key(&name, |vertex| vertex.name);
        found.map_err(|_| internal("a message for a vertex that is gone"))
    }
}

/// A vertex that may be a side of a bubble, as it is sent to its predecessor.
struct Candidate {
    /// The predecessor's side that it leaves by, and the successor's that it leads to.
    between: (Side, Edge),
    /// The vertex, and its side that is entered first.
    edge: Edge,
    /// How many vertices were merged into it.
    merges: u32,
    /// Its bases, from the predecessor on.
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

    /// Sides of one bubble together, the most frequent first; of equals the longest, then that
    /// whose bases come first.
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
    /// Whether it has one edge in and one out, neither to itself.
    fn is_compressible(&self) -> bool {
        self.edges.iter().all(|edges| matches!(edges[..], [(to, _)] if to != self.name))
    }

    /// Whether its one edge out leads to where its one edge in comes from.
    pub(super) fn is_loop(&self) -> bool {
        self.edges[0] == [(self.name, Side::Right)] && self.edges[1] == [(self.name, Side::Left)]
    }

    /// The side by which a tail goes to a head, by the labels of its neighbours.
    fn goes_to(&self, heard: [Option<bool>; 2], round: u64) -> Option<Side> {
        let waits = Side::BOTH.iter().any(|&side| {
            let neighbour = self.edges[side as usize][0].0;
            heard[side as usize] == Some(true) && neighbour < self.name
        });
        if waits || !is_tail(self.name, round) {
            return None;
        }
        [Side::Right, Side::Left].into_iter().find(|&side| heard[side as usize] == Some(false))
    }

    /// Goes into the neighbour on a side; the one on the other side is told.
    fn go(&mut self, side: Side, out: &mut Outbox) {
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
        self.leaves = true;
    }

    /// Tells all neighbours that it is gone.
    fn tell_gone(&self, out: &mut Outbox) {
        for side in Side::BOTH {
            for &edge in &self.edges[side as usize] {
                put_gone(edge, (self.name, side), out);
            }
        }
    }
}

/// Tells the vertex that `to` leads to that its edge to `gone` is none any more.
fn put_gone(to: Edge, gone: Edge, out: &mut Outbox) {
    out.add(to.0, MessageKind::Gone, |body| {
        body.push(to.1 as u8);
        put_edge(gone, body);
    });
}
