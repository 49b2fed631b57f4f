//! Part of the vertices of a distributed graph, run as in Pregel: a vertex knows only its
//! neighbours; in a superstep it receives messages, changes, and sends messages.
//!
//! Names are hashes of bases, so that supersteps and messages do not depend on
//! which part has which vertex.

use std::borrow::Cow;
use std::hash::Hasher;

use cuesta_core::Result;

use super::messages::{
    Edge, Message, MessageKind, Name, Neighbour, Outbox, Side, put_neighbour, read_neighbour,
    sorted,
};
use super::program::{Aggregates, VertexProgram};
use super::ranking::Rank;
use crate::kernel::codec::{self, ByteReader};
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;
use crate::kernel::kmer::{Base, Mixer};
use crate::kernel::sequences::{FragmentSummary, SequenceSource, reverse_complement};

/// Bytes of a vertex and of the messages about it, without its bases.
pub const VERTEX_BYTES: usize = 768;

/// A fragment or path as a vertex.
pub struct Vertex {
    /// Hash of its bases.
    pub name: Name,
    pub(super) next: [Neighbour; 2],
    /// Counts of its k-mers.
    pub piece: FragmentSummary,
    /// Its bases.
    pub codes: Vec<Base>,
    /// Distances to the ends of its chain, during list ranking.
    pub(super) ranks: Option<Box<[Rank; 2]>>,
    /// Edges of each side, in programs that follow all of them.
    pub edges: [Vec<Edge>; 2],
    /// Whether it is removed before the next superstep.
    pub is_removed: bool,
}

/// A neighbour that is merged into a vertex, and the side on which it is joined.
pub struct Grown {
    /// Side of it that is joined.
    pub side: Side,
    /// Counts of its k-mers.
    pub piece: FragmentSummary,
    /// Its bases.
    pub codes: Vec<Base>,
}

/// Encodes the vertices for each part.
///
/// # Errors
/// `Defect` where a sequence is damaged.
pub fn spread(pieces: &impl SequenceSource, parts: usize) -> Result<Vec<Vec<u8>>> {
    let mut blocks = vec![Vec::new(); parts];
    let mut codes = Vec::new();
    for index in pieces.range() {
        codes.clear();
        let facts = pieces.read(index, &mut codes)?;
        let (piece, codes) = oriented(&facts, &codes);
        let part = (name(&piece, &codes) % parts as u128) as usize;
        codec::put_fragment(&piece, &codes, &mut blocks[part]);
    }
    Ok(blocks)
}

/// A part of the vertices, sorted by name, and its vertices without work left.
pub struct VertexPart {
    /// Bases in a k-mer.
    pub k: usize,
    pub(super) parts: usize,
    /// Vertices with work left.
    pub vertices: Vec<Vertex>,
    pub(super) done: Vec<Vertex>,
}

impl VertexPart {
    /// Creates a part from the blocks that [`spread`] made for it.
    ///
    /// # Errors
    /// `Defect` when bytes are missing, or where two vertices have the same name.
    pub fn begin(k: usize, parts: usize, blocks: &[&[u8]]) -> Result<Self> {
        let mut part = Self { k, parts, vertices: Vec::new(), done: Vec::new() };
        for block in blocks {
            let mut reader = ByteReader(block);
            while !reader.is_empty() {
                let mut codes = Vec::new();
                let piece = reader.fragment(&mut codes)?;
                check(&codes, k)?;
                let name = name(&piece, &codes);
                part.vertices.push(Vertex::new(name, piece, codes));
            }
        }
        part.sort()?;
        Ok(part)
    }

    fn sort(&mut self) -> Result<()> {
        self.vertices.sort_unstable_by_key(|vertex| vertex.name);
        if self.vertices.windows(2).any(|two| two[0].name == two[1].name) {
            return Err(internal("two vertices have one name"));
        }
        Ok(())
    }

    /// Returns the bytes of its vertices and of the messages about them.
    pub fn size_bytes(&self) -> usize {
        let bytes = |vertex: &Vertex| vertex.codes.len() + VERTEX_BYTES;
        self.vertices.iter().chain(&self.done).map(bytes).sum()
    }

    /// Runs a superstep: receives messages, in blocks, and returns the messages to send.
    ///
    /// # Errors
    /// `Defect` when a message is damaged or its vertex does not exist.
    pub fn step<P: VertexProgram>(
        &mut self,
        order: &P::Order,
        messages: &[&[u8]],
    ) -> Result<(Outbox, Aggregates)> {
        let mut out = Outbox::new(self.parts);
        let messages = sorted(messages)?;
        let changed = P::step(order, self, &messages, &mut out)?;
        let aggregates =
            Aggregates { messages: out.messages, bytes: out.bytes(), changed, ..self.aggregates() };
        Ok((out, aggregates))
    }

    fn aggregates(&self) -> Aggregates {
        let mut aggregates = Aggregates {
            live: self.vertices.iter().filter(|vertex| vertex.is_live()).count() as u64,
            ..Aggregates::default()
        };
        for vertex in self.vertices.iter().chain(&self.done) {
            let counts = ((vertex.codes.len() + 1 - self.k) as u64, vertex.piece.count_sum);
            aggregates.kmers += counts.0;
            aggregates.count_sum += counts.1;
            aggregates.classes.add(self.k, counts);
        }
        aggregates
    }

    /// Gives all vertices work again.
    pub(super) fn restore_done(&mut self) -> Result<()> {
        self.vertices.append(&mut self.done);
        self.sort()
    }

    /// Sends each open end to the part in charge of its k-mer.
    pub(super) fn announce_ends(&self, out: &mut Outbox) -> u64 {
        for vertex in &self.vertices {
            let open = [vertex.piece.left_open, vertex.piece.right_open];
            for side in Side::BOTH.into_iter().filter(|&side| open[side as usize]) {
                let ends = [&vertex.codes[..self.k], &vertex.codes[vertex.codes.len() - self.k..]];
                let turned: Vec<Base> = reverse_complement(ends[side as usize]).collect();
                let kmer = ends[side as usize].min(&turned);
                out.add(hashed(kmer, 0), MessageKind::END, |body| {
                    body.extend(vertex.name.to_le_bytes());
                    body.push(side as u8);
                });
            }
        }
        0
    }

    /// Calls `deliver` for each message with its recipient.
    ///
    /// # Errors
    /// `Defect` when a recipient does not exist; errors of `deliver`.
    pub fn each(
        &mut self,
        messages: &[Message<'_>],
        mut deliver: impl FnMut(&mut Vertex, MessageKind, ByteReader<'_>) -> Result<()>,
    ) -> Result<()> {
        // Walking the vertices in order is faster than a search for each message.
        let mut vertices = self.vertices.iter_mut().peekable();
        for message in messages {
            while vertices.peek().is_some_and(|vertex| vertex.name < message.to) {
                vertices.next();
            }
            let vertex = vertices.peek_mut().filter(|vertex| vertex.name == message.to);
            let vertex = vertex.ok_or_else(|| internal("a message for a vertex that is gone"))?;
            deliver(vertex, message.kind, ByteReader(message.body))?;
        }
        Ok(())
    }

    /// Sets or cuts neighbours as messages say.
    pub(super) fn update_neighbours(&mut self, messages: &[Message<'_>]) -> Result<()> {
        self.each(messages, |vertex, kind, mut body| {
            let [side] = body.array()?;
            let next = if kind == MessageKind::JOINED { read_neighbour(&mut body)? } else { None };
            vertex.next[Side::of(side) as usize] = next;
            Ok(())
        })
    }

    /// Moves vertices whose only neighbours are themselves, or that have none, to those without
    /// work.
    pub(super) fn set_aside(&mut self, shared: usize) {
        let alone = |vertex: &mut Vertex| match vertex.next {
            [None, None] => vertex.ranks.is_none(),
            [Some((name, _)), _] => name == vertex.name,
            _ => false,
        };
        for mut vertex in self.vertices.extract_if(.., alone) {
            if vertex.next[0].is_some() {
                vertex.close(self.k, shared);
            }
            self.done.push(vertex.finished());
        }
    }

    /// Appends the final vertices to `fragments`.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget; `Defect` when a vertex has work left.
    pub fn finish(self, fragments: &mut Fragments<'_>) -> Result<()> {
        if self.vertices.iter().any(Vertex::is_live) {
            return Err(internal("a chain is not compressed"));
        }
        for vertex in self.vertices.into_iter().chain(self.done) {
            let circular = vertex.piece.circular || vertex.is_loop();
            let (piece, codes) = (FragmentSummary { circular, ..vertex.piece }, vertex.codes);
            fragments.push(piece, |all| all.extend_from_slice(&codes))?;
        }
        Ok(())
    }
}

impl Vertex {
    fn new(name: Name, piece: FragmentSummary, codes: Vec<Base>) -> Self {
        let edges = Default::default();
        Self { name, next: [None; 2], piece, codes, ranks: None, edges, is_removed: false }
    }

    /// Returns whether it has a neighbour and list ranking has not found both ends.
    fn is_live(&self) -> bool {
        let is_ranked = |ranks: &[Rank; 2]| ranks.iter().all(Rank::is_end);
        self.next != [None; 2] && !self.ranks.as_deref().is_some_and(is_ranked)
    }

    /// Returns whether its two sides are joined to each other.
    fn is_loop(&self) -> bool {
        self.edges[0] == [(self.name, Side::Right)] && self.edges[1] == [(self.name, Side::Left)]
    }

    /// Merges a neighbour into the vertex, on one side; they share `shared` bases.
    ///
    /// # Errors
    /// `Defect` where the neighbour has no k-mer.
    pub fn grow(&mut self, side: Side, tail: Grown, (k, shared): (usize, usize)) -> Result<()> {
        let Grown { side: tail_side, piece, codes } = tail;
        check(&codes, k)?;
        let far_count = if tail_side == Side::Left { piece.last_count } else { piece.first_count };
        let near_count = match side {
            Side::Left => &mut self.piece.first_count,
            Side::Right => &mut self.piece.last_count,
        };
        let shared_count = if shared == k { u64::from(*near_count) } else { 0 };
        self.piece.count_sum += piece.count_sum - shared_count;
        *near_count = far_count;
        // The joined side of the neighbour must face this vertex.
        let turned = side == tail_side;
        let codes = if turned { reverse_complement(&codes).collect() } else { codes };
        if side == Side::Right {
            self.codes.extend_from_slice(&codes[shared..]);
        } else {
            self.codes.splice(..shared, codes);
        }
        Ok(())
    }

    /// Closes a chain whose ends are joined to a circle.
    pub(super) fn close(&mut self, k: usize, shared: usize) {
        if shared == k {
            // The first k bases are also the last k.
            self.codes.truncate(self.codes.len() - 1);
            self.piece.count_sum -= u64::from(self.piece.last_count);
        }
        self.piece.circular = true;
    }

    /// Returns the vertex without neighbours, on the strand whose bases are smaller.
    pub(super) fn finished(self) -> Self {
        let piece = FragmentSummary { left_open: false, right_open: false, ..self.piece };
        let (piece, codes) = match oriented(&piece, &self.codes) {
            (piece, Cow::Owned(codes)) => (piece, codes),
            (piece, Cow::Borrowed(_)) => (piece, self.codes),
        };
        Self { next: [None; 2], ranks: None, piece, codes, ..self }
    }

    /// Replaces the vertex by its reverse complement.
    pub(super) fn turn(&mut self) {
        self.codes = reverse_complement(&self.codes).collect();
        self.piece = self.piece.turned();
        self.next.swap(0, 1);
    }
}

/// Checks that a vertex has at least one k-mer.
pub(super) fn check(codes: &[Base], k: usize) -> Result<()> {
    if codes.len() < k { Err(internal("a vertex without k-mers")) } else { Ok(()) }
}

/// Joins two ends that are open at one k-mer.
pub(super) fn pair(messages: &[Message<'_>], out: &mut Outbox) -> Result<u64> {
    for pair in messages.chunks(2) {
        let [left, right] = pair else { return Err(internal("an open end has no counterpart")) };
        if left.to != right.to {
            return Err(internal("an open end has no counterpart"));
        }
        let end = |message: &Message<'_>| -> Result<(Name, Side)> {
            let mut body = ByteReader(message.body);
            let name = Name::from_le_bytes(body.array()?);
            let [side] = body.array()?;
            Ok((name, Side::of(side)))
        };
        join_ends(end(left)?, end(right)?, out);
    }
    Ok(0)
}

/// Notifies two ends of each other.
pub(super) fn join_ends(left: (Name, Side), right: (Name, Side), out: &mut Outbox) {
    for ((to, side), next) in [(left, right), (right, left)] {
        out.add(to, MessageKind::JOINED, |body| {
            body.push(side as u8);
            put_neighbour(Some(next), body);
        });
    }
}

/// Returns a fragment on the strand whose bases are smaller.
fn oriented<'f>(piece: &FragmentSummary, codes: &'f [Base]) -> (FragmentSummary, Cow<'f, [Base]>) {
    let turned: Vec<Base> = reverse_complement(codes).collect();
    if *codes <= *turned {
        (*piece, Cow::Borrowed(codes))
    } else {
        (piece.turned(), Cow::Owned(turned))
    }
}

/// Returns the name of a vertex without open ends, from its bases on the smaller strand.
pub fn name_of(codes: &[Base]) -> Name {
    name(&FragmentSummary::default(), codes)
}

/// Returns the name of an oriented fragment.
fn name(piece: &FragmentSummary, codes: &[Base]) -> Name {
    hashed(codes, 1 + u8::from(piece.left_open) + 2 * u8::from(piece.right_open))
}

/// Hashes bases to 128 bits.
pub(super) fn hashed(codes: &[Base], kind: u8) -> Name {
    let half = |seed: u8| {
        let mut mixer = Mixer::default();
        mixer.write(&[seed, kind]);
        mixer.write(codes);
        mixer.write_u64(codes.len() as u64);
        mixer.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}
