//! Compression of chains by list ranking. Each vertex points along its chain in both directions,
//! twice as far in each superstep, until it reaches both ends. Then all vertices of a chain are
//! sent to its end of smaller name, in the order of their distance, so each base travels once.
//!
//! Two vertices that point at each other are equally far apart, so each sends the other the rank of
//! its other side, and no request is needed. A circle has no end; when all other chains have found
//! theirs, its vertex of the least name, which all its vertices know by then, becomes the end.

use cuesta_core::Result;

use super::messages::{
    Message, MessageKind, Name, Neighbour, Outbox, Side, put_neighbour, read_neighbour,
};
use super::part::{Grown, Vertex, VertexPart};
use crate::kernel::codec::{self, ByteReader};

/// Rank of a vertex on a side: its distance to the end of the chain.
#[derive(Clone, Copy)]
pub(super) struct Rank {
    /// Vertex to which it points; none once the end is known.
    to: Neighbour,
    /// The end, once it is known.
    end: Name,
    /// Distance to `to`, or to the end.
    distance: u64,
    /// Least name from this vertex to there.
    least: Name,
}

impl Rank {
    /// Returns whether the end is known.
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
    let [is_some] = reader.array()?;
    let read =
        |reader: &mut ByteReader<'_>| Ok(Box::new([Rank::read(reader)?, Rank::read(reader)?]));
    if is_some == 0 { Ok(None) } else { read(reader).map(Some) }
}

impl VertexPart {
    /// Points vertices to their neighbours, and notifies these.
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
            vertex.send_ranks(out);
        }
        0
    }

    /// Doubles the distance to which vertices point; returns the number of sides that have found
    /// their end or a smaller name.
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
        self.vertices.iter().for_each(|vertex| vertex.send_ranks(out));
        Ok(changed)
    }

    /// Cuts each circle before its vertex of the least name, and resets the ranks of its vertices.
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
            if let Some((before, before_side)) = vertex.next[Side::Left as usize].take() {
                out.add(before, MessageKind::CUT, |body| body.push(before_side as u8));
            }
            vertex.piece.circular = true;
            cut += 1;
        }
        cut
    }

    /// Sends all vertices of a chain to its end of smaller name; returns the number of sent
    /// vertices.
    pub(super) fn send(&mut self, out: &mut Outbox) -> u64 {
        let before = self.vertices.len();
        self.vertices.retain(|vertex| {
            let Some([left, right]) = vertex.ranks.as_deref() else { return true };
            let is_turned = right.end < left.end;
            let nearer = if is_turned { right } else { left };
            if nearer.end == vertex.name {
                return true;
            }
            out.add(nearer.end, MessageKind::SENT, |body| {
                // Messages are received in the order of their bytes: big-endian sorts by distance.
                body.extend(nearer.distance.to_be_bytes());
                body.push(u8::from(is_turned));
                codec::put_fragment(&vertex.piece, &vertex.codes, body);
            });
            false
        });
        (before - self.vertices.len()) as u64
    }

    /// Merges the vertices of each chain into its end.
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
        self.done.extend(gathered.into_iter().map(Vertex::finished));
        Ok(0)
    }
}

impl Vertex {
    /// Sends the rank of each side to the vertex to which the other side points.
    fn send_ranks(&self, out: &mut Outbox) {
        let Some(ranks) = &self.ranks else { return };
        for side in Side::BOTH {
            if let Some((to, to_side)) = ranks[side as usize].to {
                out.add(to, MessageKind::POINTED, |body| {
                    body.push(to_side as u8);
                    ranks[side.other() as usize].put(body);
                });
            }
        }
    }
}
