//! The vertex program of PGA (Big Data 2015, section IV) on both strands: chains compressed by a
//! coin toss, then tips, then bubbles.
//!
//! A vertex is a k-mer, or a chain of merged k-mers; its edges lead to a side of another vertex. A
//! link has a predecessor and a successor on one strand, which change places on the other. So
//! messages that the paper sends to the predecessor go to both neighbours, and a vertex has no
//! outgoing edge where one of its sides has none.

use cuesta_core::Result;
use cuesta_core::random::Stream;

use cuesta_assembly::kernel::codec::{self, ByteReader};
use cuesta_assembly::kernel::internal;
use cuesta_assembly::kernel::kmer::Base;
use cuesta_assembly::kernel::sequences::reverse_complement;
use cuesta_assembly::kernel::simplify::similar;
use cuesta_assembly::kernel::supersteps::messages::{
    EDGE_BYTES, Edge, Message, MessageKind, Name, Outbox, Side, put_edge, read_edge,
};
use cuesta_assembly::kernel::supersteps::part::{Grown, Vertex, VertexPart};

use super::PgaBounds;

/// All edges of a side.
pub(super) const EDGES: MessageKind = MessageKind(6);
/// The label of the neighbour on a side: tail or head.
const LABEL: MessageKind = MessageKind(7);
/// Notice that the neighbour on a side was merged into another vertex.
const MOVED: MessageKind = MessageKind(8);
/// The neighbour on a side, which merges into the recipient.
const MERGED: MessageKind = MessageKind(9);
/// A vertex that may be a side of a bubble.
const CANDIDATE: MessageKind = MessageKind(10);
/// Notice that an edge is removed.
const EDGE_REMOVED: MessageKind = MessageKind(11);
/// Notice that the recipient is removed.
const REMOVED: MessageKind = MessageKind(12);

/// Returns whether a vertex is labelled tail, not head, in a round of the coin toss.
pub fn is_tail(name: Name, round: u64) -> bool {
    Stream::new(name as u64, (name >> 64) as u64).bits(round) & 1 == 1
}

/// Applies messages to vertices, then removes the vertices that are marked as removed.
pub(super) fn receive(part: &mut VertexPart, messages: &[Message<'_>]) -> Result<()> {
    let k = part.k;
    part.each(messages, |vertex, kind, mut body| {
        if kind == REMOVED {
            vertex.is_removed = true;
            return Ok(());
        }
        let [side] = body.array()?;
        let side = Side::of(side);
        match kind {
            EDGES => {
                let mut edges = Vec::new();
                // Most of millions of vertices have one edge a side.
                edges.reserve_exact(body.0.len() / EDGE_BYTES);
                while !body.is_empty() {
                    edges.push(read_edge(&mut body)?);
                }
                vertex.edges[side as usize] = edges;
            }
            MOVED => {
                let (before, now) = (read_edge(&mut body)?, read_edge(&mut body)?);
                for edge in vertex.edges[side as usize].iter_mut().filter(|e| **e == before) {
                    *edge = now;
                }
            }
            EDGE_REMOVED => {
                let removed = read_edge(&mut body)?;
                vertex.edges[side as usize].retain(|&edge| edge != removed);
            }
            MERGED => {
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
    part.vertices.retain(|vertex| !vertex.is_removed);
    Ok(())
}

/// Labels each vertex with one edge in and one out as head or tail, and sends the label to its
/// neighbours.
pub(super) fn toss(part: &VertexPart, round: u64, out: &mut Outbox) -> u64 {
    for vertex in part.vertices.iter().filter(|vertex| is_compressible(vertex)) {
        let label = u8::from(is_tail(vertex.name, round));
        for &(to, to_side) in vertex.edges.iter().flatten() {
            out.add(to, LABEL, |body| body.extend([to_side as u8, label]));
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
    part: &mut VertexPart,
    messages: &[Message<'_>],
    round: u64,
    out: &mut Outbox,
) -> Result<u64> {
    let mut links = 0;
    for received in messages.chunk_by(|left, right| left.to == right.to) {
        let place = place(part, received[0].to)?;
        let vertex = &mut part.vertices[place];
        if !is_compressible(vertex) {
            continue;
        }
        let mut labels = [None; 2];
        for label in received {
            let [side, is_tail] = ByteReader(label.body).array()?;
            labels[usize::from(side & 1)] = Some(is_tail != 0);
            links += 1;
        }
        if let Some(side) = merge_side(vertex, labels, round) {
            merge_into(vertex, side, out);
        }
    }
    part.vertices.retain(|vertex| !vertex.is_removed);
    Ok(links)
}

/// Marks tips as removed, short vertices without an edge on one side, and notifies their
/// neighbours; returns their number.
pub(super) fn find_tips(part: &mut VertexPart, bounds: &PgaBounds, out: &mut Outbox) -> u64 {
    let mut tips = 0;
    for vertex in &mut part.vertices {
        let is_open = vertex.edges.iter().any(Vec::is_empty);
        if is_open && vertex.codes.len() < bounds.tip {
            vertex.is_removed = true;
            announce_removal(vertex, out);
            tips += 1;
        }
    }
    tips
}

/// Sends short vertices with one edge in and one out, which may be sides of bubbles, to a
/// predecessor: the neighbour with the smaller name.
pub(super) fn find_bubbles(part: &VertexPart, bounds: &PgaBounds, out: &mut Outbox) -> u64 {
    for vertex in part.vertices.iter().filter(|vertex| vertex.codes.len() < bounds.bubble) {
        let ([left], [right]) = (&vertex.edges[0][..], &vertex.edges[1][..]) else { continue };
        let (side, before, after) =
            if left <= right { (Side::Left, left, right) } else { (Side::Right, right, left) };
        out.add(before.0, CANDIDATE, |body| {
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
    part: &mut VertexPart,
    messages: &[Message<'_>],
    bounds: &PgaBounds,
    out: &mut Outbox,
) -> Result<u64> {
    let mut popped = 0;
    for sent in messages.chunk_by(|left, right| left.to == right.to) {
        let place = place(part, sent[0].to)?;
        let mut sides: Vec<Candidate> = sent.iter().map(Candidate::read).collect::<Result<_>>()?;
        sides.sort_unstable_by(|left, right| left.rank().cmp(&right.rank()));
        for bubble in sides.chunk_by(|left, right| left.between == right.between) {
            let mut distinct: Vec<&Candidate> = Vec::new();
            for side in bubble {
                let is_like = |larger: &&Candidate| {
                    similar(&side.codes, (&larger.codes, false), bounds.edits)
                };
                if !distinct.iter().any(is_like) {
                    distinct.push(side);
                    continue;
                }
                let (from_side, after) = side.between;
                part.vertices[place].edges[from_side as usize].retain(|e| *e != side.edge);
                out.add(side.edge.0, REMOVED, |_| ());
                let far = (side.edge.0, side.edge.1.other());
                put_edge_removed(after, far, out);
                popped += 1;
            }
        }
    }
    Ok(popped)
}

/// Returns the index of a vertex.
fn place(part: &VertexPart, name: Name) -> Result<usize> {
    let index = part.vertices.binary_search_by_key(&name, |vertex| vertex.name);
    index.map_err(|_| internal("a message for a vertex that is gone"))
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

/// Returns whether a vertex has one edge in and one out, neither to itself.
fn is_compressible(vertex: &Vertex) -> bool {
    vertex.edges.iter().all(|edges| matches!(edges[..], [(to, _)] if to != vertex.name))
}

/// Returns the side on which a tail merges into a head, by the labels of its neighbours.
fn merge_side(vertex: &Vertex, labels: [Option<bool>; 2], round: u64) -> Option<Side> {
    let waits = Side::BOTH.iter().any(|&side| {
        let neighbour = vertex.edges[side as usize][0].0;
        labels[side as usize] == Some(true) && neighbour < vertex.name
    });
    if waits || !is_tail(vertex.name, round) {
        return None;
    }
    [Side::Right, Side::Left].into_iter().find(|&side| labels[side as usize] == Some(false))
}

/// Merges into the neighbour on a side, and notifies the neighbour on the other side.
fn merge_into(vertex: &mut Vertex, side: Side, out: &mut Outbox) {
    let (head, at) = vertex.edges[side as usize][0];
    let beyond = vertex.edges[side.other() as usize][0];
    out.add(head, MERGED, |body| {
        body.extend([at as u8, side as u8]);
        put_edge(beyond, body);
        codec::put_fragment(&vertex.piece, &vertex.codes, body);
    });
    out.add(beyond.0, MOVED, |body| {
        body.push(beyond.1 as u8);
        put_edge((vertex.name, side.other()), body);
        put_edge((head, at), body);
    });
    vertex.is_removed = true;
}

/// Notifies all neighbours of its removal.
fn announce_removal(vertex: &Vertex, out: &mut Outbox) {
    for side in Side::BOTH {
        for &edge in &vertex.edges[side as usize] {
            put_edge_removed(edge, (vertex.name, side), out);
        }
    }
}

/// Notifies the vertex of the edge `to` that its edge to `removed` no longer exists.
fn put_edge_removed(to: Edge, removed: Edge, out: &mut Outbox) {
    out.add(to.0, EDGE_REMOVED, |body| {
        body.push(to.1 as u8);
        put_edge(removed, body);
    });
}
