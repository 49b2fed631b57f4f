//! Chains compressed by a vertex program, as Pregel runs them: fragments are vertices that know
//! their neighbours and nothing else; in supersteps they take messages, change, and send messages.
//!
//! A round of the coin toss has two supersteps. In the first every vertex is head or tail; a tail
//! beside a head sends itself there, and tells its other neighbour. In the second heads grow. A
//! tail waits where a smaller neighbour is a tail too, so that of two neighbours one goes at most.
//! About a quarter of the vertices go in a round. Names and coins are made of the bases, so that
//! rounds and messages do not depend on who holds which vertex.

use std::borrow::Cow;
use std::hash::Hasher;

use cuesta_core::Result;
use cuesta_core::random::Stream;
use serde::{Deserialize, Serialize};

use crate::compact::internal;
use crate::kmer::{Base, Mixer};
use crate::messages::{
    JOINED, MERGED, Merged, Name, Neighbour, OPEN, Outbox, Side, join, put_neighbour, read_merged,
    read_neighbour, skip_merged,
};
use crate::sequences::{Fragments, Piece, reverse_complement};
use crate::wire::{self, Reader};

/// What a compression took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Supersteps, those that find the neighbours included.
    pub supersteps: u64,
    /// Messages between vertices.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds a superstep.
    pub fn add(&mut self, messages: u64, bytes: u64) {
        self.supersteps += 1;
        self.messages += messages;
        self.bytes += bytes;
    }

    /// Whether the last superstep was one in which tails go.
    pub fn is_after_toss(&self) -> bool {
        self.supersteps > 2 && self.supersteps % 2 == 1
    }
}

struct Vertex {
    name: Name,
    next: [Neighbour; 2],
    piece: Piece,
    codes: Vec<Base>,
}

/// The fragments for each part.
pub fn spread(fragments: &Fragments<'_>, parts: usize) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new(); parts];
    for index in 0..fragments.len() {
        let (piece, codes) = oriented(fragments.facts(index), fragments.codes(index));
        let part = (name(&piece, &codes) % parts as u128) as usize;
        wire::put_fragment(&piece, &codes, &mut found[part]);
    }
    found
}

/// Some of the vertices, in the order of their names, and those that are compressed.
pub struct Part {
    k: usize,
    parts: usize,
    vertices: Vec<Vertex>,
    done: Vec<(Piece, Vec<Base>)>,
}

impl Part {
    /// None yet.
    pub fn new(k: usize, parts: usize) -> Self {
        Self { k, parts, vertices: Vec::new(), done: Vec::new() }
    }

    /// Takes the fragments that [`spread`] has for this part.
    ///
    /// # Errors
    /// `Input` when bytes are missing, or where two fragments have the same name.
    pub fn begin(&mut self, fragments: &[u8]) -> Result<()> {
        let mut reader = Reader(fragments);
        while !reader.is_empty() {
            let mut codes = Vec::new();
            let piece = reader.fragment(&mut codes)?;
            let name = name(&piece, &codes);
            self.vertices.push(Vertex { name, next: [None; 2], piece, codes });
        }
        self.vertices.sort_unstable_by_key(|vertex| vertex.name);
        if self.vertices.windows(2).any(|two| two[0].name == two[1].name) {
            return Err(internal("two vertices have one name"));
        }
        Ok(())
    }

    /// Vertices that still have a neighbour.
    pub fn live(&self) -> u64 {
        self.vertices.len() as u64
    }

    /// Takes messages and sends others. The first three supersteps find the neighbours; the third
    /// and every other one after it are the first of a round.
    ///
    /// # Errors
    /// `Input` when a message is damaged or its vertex is gone.
    pub fn step(&mut self, superstep: u64, messages: &[u8]) -> Result<Outbox> {
        let mut out = Outbox::new(self.parts);
        match superstep {
            0 => self.tell_open(&mut out),
            1 => join(messages, &mut out)?,
            _ => {
                self.take(messages)?;
                if superstep.is_multiple_of(2) {
                    self.settle();
                    self.toss(superstep, &mut out);
                }
            }
        }
        Ok(out)
    }

    /// Each open end goes to who decides about its k-mer.
    fn tell_open(&self, out: &mut Outbox) {
        for vertex in &self.vertices {
            let open = [vertex.piece.left_open, vertex.piece.right_open];
            for side in Side::BOTH.into_iter().filter(|&side| open[side as usize]) {
                let ends = [&vertex.codes[..self.k], &vertex.codes[vertex.codes.len() - self.k..]];
                let turned: Vec<Base> = reverse_complement(ends[side as usize]).collect();
                let kmer = ends[side as usize].min(&turned);
                let bytes = out.message(hashed(kmer, 0), OPEN);
                bytes.extend(vertex.name.to_le_bytes());
                bytes.push(side as u8);
            }
        }
    }

    /// Changes neighbours first, then grows: a message about a side is one or the other.
    fn take(&mut self, messages: &[u8]) -> Result<()> {
        let (k, mut reader, mut changes) = (self.k, Reader(messages), Vec::new());
        while !reader.is_empty() {
            let [kind] = reader.array()?;
            let name = Name::from_le_bytes(reader.array()?);
            let [side] = reader.array()?;
            let merged = kind == MERGED;
            let place = reader.0;
            if merged {
                skip_merged(&mut reader)?;
            } else {
                read_neighbour(&mut reader)?;
            }
            changes.push((name, merged, side, place));
        }
        // In the order of the vertices, which is faster than to search for each.
        changes.sort_unstable_by_key(|&(name, merged, side, _)| (name, merged, side));
        let mut vertices = self.vertices.iter_mut().peekable();
        for (name, merged, side, place) in changes {
            while vertices.peek().is_some_and(|vertex| vertex.name < name) {
                vertices.next();
            }
            let vertex = vertices.peek_mut().filter(|vertex| vertex.name == name);
            let vertex = vertex.ok_or_else(|| internal("a message for a vertex that is gone"))?;
            let (side, mut reader) = (Side::of(side), Reader(place));
            if merged {
                vertex.grow(side, read_merged(&mut reader)?, k);
            } else {
                vertex.next[side as usize] = read_neighbour(&mut reader)?;
            }
        }
        Ok(())
    }

    /// Puts aside what has no neighbour but itself.
    fn settle(&mut self) {
        let k = self.k;
        let settled = |vertex: &mut Vertex| match vertex.next {
            [None, None] => true,
            [Some((name, _)), _] if name == vertex.name => {
                // The first k bases are the last k too.
                vertex.codes.truncate(vertex.codes.len() - 1);
                vertex.piece.count_sum -= u64::from(vertex.piece.last_count);
                vertex.piece.circular = true;
                debug_assert!(vertex.codes.len() >= k);
                true
            }
            _ => false,
        };
        for vertex in self.vertices.extract_if(.., settled) {
            let (left_open, right_open) = (false, false);
            self.done.push((Piece { left_open, right_open, ..vertex.piece }, vertex.codes));
        }
    }

    fn toss(&mut self, superstep: u64, out: &mut Outbox) {
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
        for vertex in self.vertices.extract_if(.., |vertex| goes_to(vertex).is_some()) {
            let Some(side) = goes_to(&vertex) else { continue };
            if let Some((head, at)) = vertex.next[side as usize] {
                vertex.send_to((head, at), side, out);
            }
        }
    }

    /// Appends what is compressed to `fragments`.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget, or something is not compressed.
    pub fn finish(self, fragments: &mut Fragments<'_>) -> Result<()> {
        if !self.vertices.is_empty() {
            return Err(internal("a chain is not compressed"));
        }
        for (piece, codes) in self.done {
            fragments.push(piece, |all| all.extend_from_slice(&codes))?;
        }
        Ok(())
    }

    /// The part as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((self.vertices.len() as u64).to_le_bytes());
        for vertex in &self.vertices {
            bytes.extend(vertex.name.to_le_bytes());
            vertex.next.iter().for_each(|&next| put_neighbour(next, &mut bytes));
            wire::put_fragment(&vertex.piece, &vertex.codes, &mut bytes);
        }
        self.done.iter().for_each(|(piece, codes)| wire::put_fragment(piece, codes, &mut bytes));
        bytes
    }

    /// The part that [`Part::to_bytes`] gave.
    ///
    /// # Errors
    /// `Input` when bytes are missing.
    pub fn from_bytes(k: usize, parts: usize, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let mut part = Self::new(k, parts);
        for _ in 0..reader.u64()? {
            let name = Name::from_le_bytes(reader.array()?);
            let next = [read_neighbour(&mut reader)?, read_neighbour(&mut reader)?];
            let mut codes = Vec::new();
            let piece = reader.fragment(&mut codes)?;
            part.vertices.push(Vertex { name, next, piece, codes });
        }
        while !reader.is_empty() {
            let mut codes = Vec::new();
            part.done.push((reader.fragment(&mut codes)?, codes));
        }
        Ok(part)
    }
}

impl Vertex {
    fn send_to(&self, (head, at): (Name, Side), side: Side, out: &mut Outbox) {
        let beyond = self.next[side.other() as usize];
        let bytes = out.message(head, MERGED);
        bytes.extend([at as u8, side as u8]);
        put_neighbour(beyond, bytes);
        wire::put_fragment(&self.piece, &self.codes, bytes);
        if let Some((other, its_side)) = beyond {
            let bytes = out.message(other, JOINED);
            bytes.push(its_side as u8);
            put_neighbour(Some((head, at)), bytes);
        }
    }

    /// Takes a tail in on one side.
    fn grow(&mut self, side: Side, tail: Merged, k: usize) {
        let Merged { side: its_side, beyond, piece, codes } = tail;
        let far_count = if its_side == Side::Left { piece.last_count } else { piece.first_count };
        let own = match side {
            Side::Left => &mut self.piece.first_count,
            Side::Right => &mut self.piece.last_count,
        };
        self.piece.count_sum += piece.count_sum - u64::from(*own);
        *own = far_count;
        self.next[side as usize] = beyond;
        // Its joined side must face this one.
        let turned = side == its_side;
        let codes = if turned { reverse_complement(&codes).collect() } else { codes };
        if side == Side::Right {
            self.codes.extend_from_slice(&codes[k..]);
        } else {
            self.codes.splice(..k, codes);
        }
    }
}

/// A fragment on the strand whose bases come first.
fn oriented<'f>(piece: &Piece, codes: &'f [Base]) -> (Piece, Cow<'f, [Base]>) {
    let turned: Vec<Base> = reverse_complement(codes).collect();
    if *codes <= *turned {
        (*piece, Cow::Borrowed(codes))
    } else {
        (piece.turned(), Cow::Owned(turned))
    }
}

/// The name of an oriented fragment.
fn name(piece: &Piece, codes: &[Base]) -> Name {
    hashed(codes, 1 + u8::from(piece.left_open) + 2 * u8::from(piece.right_open))
}

/// 128 bits of some bases.
fn hashed(codes: &[Base], kind: u8) -> Name {
    let half = |seed: u8| {
        let mut mixer = Mixer::default();
        mixer.write(&[seed, kind]);
        mixer.write(codes);
        mixer.write_u64(codes.len() as u64);
        mixer.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

/// Whether a vertex is a tail.
fn coin(name: Name, superstep: u64) -> bool {
    Stream::new(name as u64, (name >> 64) as u64).bits(superstep) & 1 == 1
}
