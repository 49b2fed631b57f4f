//! Chains compressed by list ranking: every vertex points along its chain in both directions, twice
//! as far in every superstep, until it knows both ends. Then all vertices of a chain go to its end
//! of the smaller name, in the order of their distance, so each base travels once.
//!
//! Two that point at each other are equally far apart, so each can send the other what it knows
//! of its other side, and none has to ask. A circle has no end; when all others have found theirs,
//! its vertex of the least name, which all of them know by then, becomes one.

use cuesta_core::Result;

use super::messages::{
    Message, MessageKind, Name, Neighbour, Outbox, Side, put_neighbour, read_neighbour,
};
use super::part::{Grown, Vertex, VertexPart};
use crate::kernel::codec::{self, ByteReader};

/// What a vertex knows of a side.
#[derive(Clone, Copy)]
pub(super) struct Rank {
    /// Where it points; nowhere once the end is known.
    to: Neighbour,
    /// The end, once it is known.
    end: Name,
    /// How far away that is.
    distance: u64,
    /// The least name from here to there.
    least: Name,
}

impl Rank {
    /// Whether the end is known.
    pub(super) fn is_end(&self) -> bool {
        self.to.is_none()
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        put_neighbour(self.to, bytes);
        bytes.extend(self.end.to_le_bytes());
        bytes.extend(self.distance.to_le_bytes());
        bytes.extend(self.least.to_le_bytes());
    }

    fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        Ok(Self {
            to: read_neighbour(reader)?,
            end: Name::from_le_bytes(reader.array()?),
            distance: reader.u64()?,
            least: Name::from_le_bytes(reader.array()?),
        })
    }
}

pub(super) fn put_ranks(ranks: Option<&[Rank; 2]>, bytes: &mut Vec<u8>) {
    bytes.push(u8::from(ranks.is_some()));
    ranks.into_iter().flatten().for_each(|rank| rank.put(bytes));
}

pub(super) fn read_ranks(reader: &mut ByteReader<'_>) -> Result<Option<Box<[Rank; 2]>>> {
    let [is_there] = reader.array()?;
    let read =
        |reader: &mut ByteReader<'_>| Ok(Box::new([Rank::read(reader)?, Rank::read(reader)?]));
    if is_there == 0 { Ok(None) } else { read(reader).map(Some) }
}

impl VertexPart {
    /// Vertices point at their neighbours, and tell them.
    pub(super) fn point(&mut self, out: &mut Outbox) -> u64 {
        for vertex in self.vertices.iter_mut().filter(|vertex| vertex.ranks.is_none()) {
            let name = vertex.name;
            let rank = |to: Neighbour| Rank {
                to,
                end: name,
                distance: u64::from(to.is_some()),
                least: name,
            };
            vertex.ranks = Some(Box::new(vertex.next.map(rank)));
            vertex.tell_far(out);
        }
        0
    }

    /// Vertices point twice as far; how many sides have found their end or a lesser name.
    pub(super) fn double(&mut self, messages: &[Message<'_>], out: &mut Outbox) -> Result<u64> {
        let mut changed = 0;
        self.each(messages, |vertex, _, mut body| {
            let [side] = body.array()?;
            let further = Rank::read(&mut body)?;
            let Some(ranks) = &mut vertex.ranks else { return Ok(()) };
            let rank = &mut ranks[usize::from(side & 1)];
            changed += u64::from(further.to.is_none() || further.least < rank.least);
            *rank = Rank {
                to: further.to,
                end: further.end,
                distance: rank.distance + further.distance,
                least: rank.least.min(further.least),
            };
            Ok(())
        })?;
        self.vertices.iter().for_each(|vertex| vertex.tell_far(out));
        Ok(changed)
    }

    /// Cuts each circle before its vertex of the least name, and forgets where its vertices point.
    pub(super) fn cut(&mut self, out: &mut Outbox) -> u64 {
        let mut cut = 0;
        for vertex in &mut self.vertices {
            let Some([left, right]) = vertex.ranks.as_deref().copied() else { continue };
            if left.is_end() && right.is_end() {
                continue;
            }
            vertex.ranks = None;
            if vertex.name != left.least {
                continue;
            }
            if let Some((before, its_side)) = vertex.next[Side::Left as usize].take() {
                out.add(before, MessageKind::Cut, |body| body.push(its_side as u8));
            }
            vertex.piece.circular = true;
            cut += 1;
        }
        cut
    }

    /// Every vertex but the end of the smaller name goes there; how many.
    pub(super) fn send(&mut self, out: &mut Outbox) -> u64 {
        let before = self.vertices.len();
        self.vertices.retain(|vertex| {
            let Some([left, right]) = vertex.ranks.as_deref() else { return true };
            let is_turned = right.end < left.end;
            let nearer = if is_turned { right } else { left };
            if nearer.end == vertex.name {
                return true;
            }
            out.add(nearer.end, MessageKind::Sent, |body| {
                // Messages are taken in the order of their bytes.
                body.extend(nearer.distance.to_be_bytes());
                body.push(u8::from(is_turned));
                codec::put_fragment(&vertex.piece, &vertex.codes, body);
            });
            false
        });
        (before - self.vertices.len()) as u64
    }

    /// Ends take in the vertices of their chains.
    pub(super) fn gather(&mut self, messages: &[Message<'_>], shared: usize) -> Result<u64> {
        let k = self.k;
        for vertex in &mut self.vertices {
            if vertex.next[Side::Left as usize].is_some() {
                vertex.turn();
            }
        }
        self.each(messages, |vertex, _, mut body| {
            body.array::<{ size_of::<u64>() }>()?;
            let [is_turned] = body.array()?;
            let mut codes = Vec::new();
            let piece = body.fragment(&mut codes)?;
            let side = if is_turned == 0 { Side::Left } else { Side::Right };
            vertex.grow(Side::Right, Grown { side, piece, codes }, (k, shared))
        })?;
        let mut gathered = std::mem::take(&mut self.vertices);
        for vertex in gathered.iter_mut().filter(|vertex| vertex.piece.circular) {
            vertex.close(k, shared);
        }
        self.done.extend(gathered.into_iter().map(Vertex::at_rest));
        Ok(0)
    }
}

impl Vertex {
    /// Tells those that it points at what it knows of its other side.
    fn tell_far(&self, out: &mut Outbox) {
        let Some(ranks) = &self.ranks else { return };
        for side in Side::BOTH {
            if let Some((to, its_side)) = ranks[side as usize].to {
                out.add(to, MessageKind::Pointed, |body| {
                    body.push(its_side as u8);
                    ranks[side.other() as usize].put(body);
                });
            }
        }
    }
}
