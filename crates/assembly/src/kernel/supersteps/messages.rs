//! What vertices send each other, as bytes: what it is, for whom, how many bytes, and these.

use cuesta_core::Result;

use crate::kernel::codec::ByteReader;

/// The name of a vertex.
pub type Name = u128;

/// A side of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Where its bases begin.
    Left,
    /// Where they end.
    Right,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    pub(super) fn of(byte: u8) -> Self {
        Self::BOTH[usize::from(byte & 1)]
    }

    pub(super) fn other(self) -> Self {
        Self::BOTH[1 - self as usize]
    }
}

const HAS_NEXT: u8 = 1;

/// What a message is. Where a vertex has several they are taken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageKind {
    /// An end is open at a k-mer, or meets others at a (k-1)-mer.
    End,
    /// An end has a neighbour.
    Joined,
    /// What an end meets.
    Judged,
    /// What is further away than a neighbour.
    Pointed,
    /// The neighbour on this side is no longer one.
    Cut,
    /// A vertex of the same chain.
    Sent,
    /// The edges of a side.
    Edges,
    /// Whether the neighbour on a side is tail or head.
    Label,
    /// The neighbour on a side has gone into another vertex.
    Moved,
    /// The neighbour on a side has gone into the vertex.
    Merged,
    /// A vertex that may be a side of a bubble.
    Candidate,
    /// An edge is none any more.
    Gone,
    /// The vertex is removed.
    Removed,
}

impl MessageKind {
    const ALL: [Self; 13] = [
        Self::End,
        Self::Joined,
        Self::Judged,
        Self::Pointed,
        Self::Cut,
        Self::Sent,
        Self::Edges,
        Self::Label,
        Self::Moved,
        Self::Merged,
        Self::Candidate,
        Self::Gone,
        Self::Removed,
    ];
}

/// Messages by the part they are for, and what they were.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Bytes for each part.
    pub parts: Vec<Vec<u8>>,
    /// How many messages there are.
    pub messages: u64,
}

impl Outbox {
    pub(super) fn new(parts: usize) -> Self {
        Self { parts: vec![Vec::new(); parts], messages: 0 }
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.len() as u64).sum()
    }

    /// Adds a message, whose body `write` appends.
    pub(super) fn add(&mut self, to: Name, kind: MessageKind, write: impl FnOnce(&mut Vec<u8>)) {
        self.messages += 1;
        let part = (to % self.parts.len() as u128) as usize;
        let bytes = &mut self.parts[part];
        bytes.push(kind as u8);
        bytes.extend(to.to_le_bytes());
        let place = bytes.len();
        bytes.extend([0; size_of::<u32>()]);
        write(bytes);
        let size_bytes = (bytes.len() - place - size_of::<u32>()) as u32;
        bytes[place..place + size_of::<u32>()].copy_from_slice(&size_bytes.to_le_bytes());
    }
}

/// A message for a vertex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Message<'m> {
    pub(super) to: Name,
    pub(super) kind: MessageKind,
    pub(super) body: &'m [u8],
}

/// Messages by whom they are for, whatever the order in which they came.
pub(super) fn sorted<'m>(blocks: &[&'m [u8]]) -> Result<Vec<Message<'m>>> {
    let mut found = Vec::new();
    for block in blocks {
        let mut reader = ByteReader(block);
        while !reader.is_empty() {
            let [kind] = reader.array()?;
            let to = Name::from_le_bytes(reader.array()?);
            let size_bytes = reader.u32()? as usize;
            let kind = MessageKind::ALL[usize::from(kind) % MessageKind::ALL.len()];
            found.push(Message { to, kind, body: reader.bytes(size_bytes)? });
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Where a side leads: to a vertex, which is entered on a side.
pub type Neighbour = Option<Edge>;

pub(super) fn put_neighbour(next: Neighbour, bytes: &mut Vec<u8>) {
    match next {
        None => bytes.push(0),
        Some((name, side)) => {
            bytes.push(HAS_NEXT | (side as u8) << 1);
            bytes.extend(name.to_le_bytes());
        }
    }
}

pub(super) fn read_neighbour(reader: &mut ByteReader<'_>) -> Result<Neighbour> {
    let [flags] = reader.array()?;
    if flags & HAS_NEXT == 0 {
        return Ok(None);
    }
    Ok(Some((Name::from_le_bytes(reader.array()?), Side::of(flags >> 1))))
}

/// A side of a vertex, to which an edge leads.
pub type Edge = (Name, Side);

/// Bytes of an edge in a message.
pub(super) const EDGE_BYTES: usize = size_of::<Name>() + 1;

pub(super) fn put_edge((name, side): Edge, bytes: &mut Vec<u8>) {
    bytes.extend(name.to_le_bytes());
    bytes.push(side as u8);
}

pub(super) fn read_edge(reader: &mut ByteReader<'_>) -> Result<Edge> {
    let name = Name::from_le_bytes(reader.array()?);
    let [side] = reader.array()?;
    Ok((name, Side::of(side)))
}
