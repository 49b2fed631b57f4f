//! What vertices send each other, as bytes: first what it is, then for whom.

use cuesta_core::Result;

use crate::compact::internal;
use crate::kmer::Base;
use crate::sequences::Piece;
use crate::wire::Reader;

/// The name of a vertex.
pub type Name = u128;

/// A side of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Left, Self::Right];

    pub(crate) fn of(byte: u8) -> Self {
        Self::BOTH[usize::from(byte & 1)]
    }

    pub(crate) fn other(self) -> Self {
        Self::BOTH[1 - self as usize]
    }
}

const HAS_NEXT: u8 = 1;
/// Messages say what they are first.
pub(crate) const OPEN: u8 = 0;
pub(crate) const JOINED: u8 = 1;
pub(crate) const MERGED: u8 = 2;

/// Messages by the part they are for, and what they were.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Bytes for each part.
    pub parts: Vec<Vec<u8>>,
    /// How many messages there are.
    pub messages: u64,
}

impl Outbox {
    pub(crate) fn new(parts: usize) -> Self {
        Self { parts: vec![Vec::new(); parts], messages: 0 }
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.len() as u64).sum()
    }

    pub(crate) fn message(&mut self, to: Name, kind: u8) -> &mut Vec<u8> {
        self.messages += 1;
        let part = (to % self.parts.len() as u128) as usize;
        let bytes = &mut self.parts[part];
        bytes.push(kind);
        bytes.extend(to.to_le_bytes());
        bytes
    }
}

pub(crate) type Neighbour = Option<(Name, Side)>;

/// What a head is sent: a tail, with its side that is joined and its other neighbour.
pub(crate) struct Merged {
    pub(crate) side: Side,
    pub(crate) beyond: Neighbour,
    pub(crate) piece: Piece,
    pub(crate) codes: Vec<Base>,
}

/// Two ends that are open at one k-mer are joined.
pub(crate) fn join(messages: &[u8], out: &mut Outbox) -> Result<()> {
    let mut reader = Reader(messages);
    let mut open = Vec::new();
    while !reader.is_empty() {
        let [_] = reader.array()?;
        let kmer = Name::from_le_bytes(reader.array()?);
        let name = Name::from_le_bytes(reader.array()?);
        let [side] = reader.array()?;
        open.push((kmer, name, Side::of(side)));
    }
    open.sort_unstable();
    for pair in open.chunks(2) {
        let &[(kmer, one, one_side), (other_kmer, two, two_side)] = pair else {
            return Err(internal("an open end has no counterpart"));
        };
        if kmer != other_kmer {
            return Err(internal("an open end has no counterpart"));
        }
        for (to, side, next) in [(one, one_side, (two, two_side)), (two, two_side, (one, one_side))]
        {
            let bytes = out.message(to, JOINED);
            bytes.push(side as u8);
            put_neighbour(Some(next), bytes);
        }
    }
    Ok(())
}

pub(crate) fn put_neighbour(next: Neighbour, bytes: &mut Vec<u8>) {
    match next {
        None => bytes.push(0),
        Some((name, side)) => {
            bytes.push(HAS_NEXT | (side as u8) << 1);
            bytes.extend(name.to_le_bytes());
        }
    }
}

pub(crate) fn read_neighbour(reader: &mut Reader<'_>) -> Result<Neighbour> {
    let [flags] = reader.array()?;
    if flags & HAS_NEXT == 0 {
        return Ok(None);
    }
    Ok(Some((Name::from_le_bytes(reader.array()?), Side::of(flags >> 1))))
}

/// Passes over what [`read_merged`] reads.
pub(crate) fn skip_merged(reader: &mut Reader<'_>) -> Result<()> {
    reader.array::<1>()?;
    read_neighbour(reader)?;
    reader.skip_fragment()
}

pub(crate) fn read_merged(reader: &mut Reader<'_>) -> Result<Merged> {
    let [side] = reader.array()?;
    let beyond = read_neighbour(reader)?;
    let mut codes = Vec::new();
    let piece = reader.fragment(&mut codes)?;
    Ok(Merged { side: Side::of(side), beyond, piece, codes })
}
