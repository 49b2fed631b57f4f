//! Messages between vertices, encoded as kind, recipient, size in bytes, and body.

use cuesta_core::Result;

use crate::kernel::codec::ByteReader;

/// Name of a vertex.
pub type Name = u128;

/// A side of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Side at which its bases begin.
    Left,
    /// Side at which its bases end.
    Right,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// Returns the side of a byte: right if it is odd.
    pub fn of(byte: u8) -> Self {
        Self::BOTH[usize::from(byte & 1)]
    }

    /// Returns the other side.
    pub fn other(self) -> Self {
        Self::BOTH[1 - self as usize]
    }
}

const HAS_NEXT: u8 = 1;

/// Kind of a message of a program. A vertex receives its messages in the order of their kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageKind(pub u8);

impl MessageKind {
    /// An end that is open at a k-mer, or meets other ends at a (k-1)-mer.
    pub const END: Self = Self(0);
    /// The neighbour at an end.
    pub(super) const JOINED: Self = Self(1);
    /// The verdict on an end.
    pub(super) const JUDGED: Self = Self(2);
    /// The rank of a vertex further away than a neighbour.
    pub(super) const POINTED: Self = Self(3);
    /// Notice that the neighbour on a side is cut off.
    pub(super) const CUT: Self = Self(4);
    /// A vertex of the same chain.
    pub(super) const SENT: Self = Self(5);
}

/// Messages by the part that receives them, with their number.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Messages to each part.
    pub parts: Vec<Vec<u8>>,
    /// Number of messages.
    pub messages: u64,
}

impl Outbox {
    pub(super) fn new(parts: usize) -> Self {
        Self { parts: vec![Vec::new(); parts], messages: 0 }
    }

    /// Returns the bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.len() as u64).sum()
    }

    /// Adds a message, whose body `write` appends.
    pub fn add(&mut self, to: Name, kind: MessageKind, write: impl FnOnce(&mut Vec<u8>)) {
        self.messages += 1;
        let part = (to % self.parts.len() as u128) as usize;
        let bytes = &mut self.parts[part];
        bytes.push(kind.0);
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
pub struct Message<'m> {
    /// Recipient.
    pub to: Name,
    /// Kind, by which the recipient decodes it.
    pub kind: MessageKind,
    /// Content.
    pub body: &'m [u8],
}

/// Decodes messages and sorts them by recipient, so that the order of arrival does not matter.
pub(super) fn sorted<'m>(blocks: &[&'m [u8]]) -> Result<Vec<Message<'m>>> {
    let mut messages = Vec::new();
    for block in blocks {
        let mut reader = ByteReader(block);
        while !reader.is_empty() {
            let [kind] = reader.array()?;
            let to = Name::from_le_bytes(reader.array()?);
            let size_bytes = reader.u32()? as usize;
            let body = reader.bytes(size_bytes)?;
            messages.push(Message { to, kind: MessageKind(kind), body });
        }
    }
    messages.sort_unstable();
    Ok(messages)
}

/// Neighbour on a side, if any: a vertex and the side by which it is entered.
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

/// End of an edge: a vertex and the side to which the edge leads.
pub type Edge = (Name, Side);

/// Bytes of an edge in a message.
pub const EDGE_BYTES: usize = size_of::<Name>() + 1;

/// Encodes an edge.
pub fn put_edge((name, side): Edge, bytes: &mut Vec<u8>) {
    bytes.extend(name.to_le_bytes());
    bytes.push(side as u8);
}

/// Decodes an edge.
///
/// # Errors
/// `Defect` when bytes are missing.
pub fn read_edge(reader: &mut ByteReader<'_>) -> Result<Edge> {
    let name = Name::from_le_bytes(reader.array()?);
    let [side] = reader.array()?;
    Ok((name, Side::of(side)))
}
