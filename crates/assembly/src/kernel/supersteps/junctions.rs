//! Tips, islands, bubbles and weak connections of a graph that is distributed over parts.
//!
//! The ends of paths meet at (k-1)-mers, which act as vertices too: each end sends the measures of
//! its path there, and receives a verdict. All decisions are those of
//! [`crate::kernel::simplify::PathGraph`], by the state before the step.

use cuesta_core::Result;

use super::messages::{Message, MessageKind, Name, Outbox, Side, put_edge};
use super::part::{Vertex, VertexPart, hashed, join_ends};
use super::simplifying::{RemovalKind, SuperstepOrder};
use crate::kernel::codec::{self, ByteReader};
use crate::kernel::internal;
use crate::kernel::kmer::Base;
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::{PathMeasures, Rules, similar, stronger};
use crate::kernel::single_copy::GraphDepth;

/// Kind byte in the names of (k-1)-mers.
const JUNCTION: u8 = 9;
const RIGHT: u8 = 1;
const FORWARD: u8 = 2;
const PALINDROME: u8 = 4;
/// Verdict bits of an end: it meets other ends; its path is the worse one by a rule.
const MEETS: u8 = 1;
const LOSES: u8 = 2;

/// A (k-1)-mer where ends meet: ends that leave by one strand meet ends that leave by the other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Junction {
    name: Name,
    is_forward: bool,
    is_palindrome: bool,
}

impl Junction {
    fn of(vertex: &Vertex, side: Side, k: usize) -> Self {
        let codes = &vertex.codes;
        let (first, last) = (&codes[..k - 1], &codes[codes.len() + 1 - k..]);
        let left_by: Vec<Base> = match side {
            Side::Left => reverse_complement(first).collect(),
            Side::Right => last.to_vec(),
        };
        let turned: Vec<Base> = reverse_complement(&left_by).collect();
        Self {
            name: hashed((&left_by).min(&turned), JUNCTION),
            is_forward: left_by <= turned,
            is_palindrome: left_by == turned,
        }
    }

    /// Returns whether two ends meet the same ends.
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && (self.is_palindrome || self.is_forward == other.is_forward)
    }

    fn put(&self, more: u8, bytes: &mut Vec<u8>) {
        let forward = if self.is_forward { FORWARD } else { 0 };
        let palindrome = if self.is_palindrome { PALINDROME } else { 0 };
        bytes.push(forward | palindrome | more);
    }

    fn of_flags(name: Name, flags: u8) -> Self {
        Self { name, is_forward: flags & FORWARD != 0, is_palindrome: flags & PALINDROME != 0 }
    }
}

/// An end at a junction.
struct JunctionEnd {
    name: Name,
    side: Side,
    here: Junction,
    path: Option<MeasuredPath>,
}

/// Measures of the path of an end.
struct MeasuredPath {
    facts: PathMeasures,
    /// Junction of its other end.
    far: Junction,
    /// Bases of the path, if a rule may compare them.
    codes: Vec<Base>,
}

impl JunctionEnd {
    fn read(message: &Message<'_>, k: usize) -> Result<Self> {
        let mut body = ByteReader(message.body);
        let [flags] = body.array()?;
        let name = Name::from_le_bytes(body.array()?);
        let side = Side::of(flags & RIGHT);
        let here = Junction::of_flags(message.to, flags);
        if body.is_empty() {
            return Ok(Self { name, side, here, path: None });
        }
        let (count_sum, length) = (body.u64()?, body.u64()? as usize);
        let kmers = (length + 1).checked_sub(k).ok_or_else(|| internal("a path without k-mers"))?;
        let facts = PathMeasures { coverage: count_sum as f64 / kmers as f64, length };
        let [flags] = body.array()?;
        let far = Junction::of_flags(Name::from_le_bytes(body.array()?), flags);
        let mut codes = Vec::new();
        body.codes(&mut codes)?;
        Ok(Self { name, side, here, path: Some(MeasuredPath { facts, far, codes }) })
    }

    fn meets(&self, other: &Self) -> bool {
        self.here.is_palindrome || self.here.is_forward != other.here.is_forward
    }

    fn is_rival(&self, other: &Self) -> bool {
        self.name != other.name && self.here.is_same(&other.here)
    }

    /// Returns whether its path is worse than that of a rival.
    fn loses(&self, rival: &Self, kind: RemovalKind, (rules, depth): (&Rules, GraphDepth)) -> bool {
        let (Some(path), Some(better)) = (&self.path, &rival.path) else { return false };
        let (length, coverage) = (path.facts.length, path.facts.coverage);
        let is_certain = || rules.is_certain(path.facts, depth);
        let is_weaker = || stronger((better.facts, &better.codes), (path.facts, &path.codes));
        match kind {
            RemovalKind::Tips => {
                let is_tip = length < rules.tip && is_weaker()
                    || length < rules.weak_tip && better.facts.coverage > 2.0 * coverage;
                is_tip && !is_certain()
            }
            RemovalKind::Islands => false,
            RemovalKind::Bubbles => {
                // Both ends of a bubble would decide alike; one is enough.
                self.side == Side::Left
                    && length < rules.bubble
                    && better.facts.length < rules.bubble
                    && is_weaker()
                    && !rules.retains_side(path.facts, better.facts.coverage, depth.mean)
                    && path.far.is_same(&better.far)
                    && similar(&path.codes, (&better.codes, rival.side == Side::Right), rules.edits)
            }
            RemovalKind::Connections => {
                let times = rules.connection_times(path.facts, depth.mean);
                length < rules.connection
                    && better.facts.coverage >= times * coverage
                    && !is_certain()
            }
        }
    }
}

impl VertexPart {
    /// Sends each end to its junction; if paths are judged, with the measures of its path, and the
    /// bases of those that are shorter than `compared`.
    pub fn send_ends(&self, compared: Option<usize>, out: &mut Outbox) -> u64 {
        for vertex in &self.vertices {
            let junctions = Side::BOTH.map(|side| Junction::of(vertex, side, self.k));
            for side in Side::BOTH {
                let [here, far] = [side, side.other()].map(|side| junctions[side as usize]);
                out.add(here.name, MessageKind::END, |body| {
                    here.put(side as u8 * RIGHT, body);
                    body.extend(vertex.name.to_le_bytes());
                    if let Some(compared) = compared {
                        let length = vertex.codes.len();
                        body.extend(vertex.piece.count_sum.to_le_bytes());
                        body.extend((length as u64).to_le_bytes());
                        far.put(0, body);
                        body.extend(far.name.to_le_bytes());
                        codec::put_codes(if length < compared { &vertex.codes } else { &[] }, body);
                    }
                });
            }
        }
        0
    }

    /// Removes paths that are taken for errors; returns their number.
    pub(super) fn remove_errors(
        &mut self,
        messages: &[Message<'_>],
        kind: RemovalKind,
        order: &SuperstepOrder,
    ) -> Result<u64> {
        let Some(rules) = &order.rules else { return Err(internal("no rules")) };
        let mut removed = Vec::new();
        let k = self.k;
        let mut verdicts = [None; 2];
        self.each(messages, |vertex, _, mut body| {
            let [side, bits] = body.array()?;
            verdicts[usize::from(side & 1)] = Some(bits);
            let [Some(left), Some(right)] = verdicts else { return Ok(()) };
            verdicts = [None; 2];
            if is_error(vertex, [left, right], kind, (rules, order.depth, k)) {
                removed.push(vertex.name);
            }
            Ok(())
        })?;
        let mut names = removed.iter().peekable();
        self.vertices.retain(|vertex| names.next_if(|&&name| name == vertex.name).is_none());
        Ok(removed.len() as u64)
    }
}

/// Returns whether a path is an error, by the verdicts on its ends.
fn is_error(
    vertex: &Vertex,
    [left, right]: [u8; 2],
    kind: RemovalKind,
    (rules, depth, k): (&Rules, GraphDepth, usize),
) -> bool {
    let length = vertex.codes.len();
    let meet = [left & MEETS != 0, right & MEETS != 0];
    let lose = [left & LOSES != 0, right & LOSES != 0];
    let coverage = vertex.piece.count_sum as f64 / (length + 1 - k) as f64;
    match kind {
        RemovalKind::Tips => meet[0] != meet[1] && (meet[0] && lose[0] || meet[1] && lose[1]),
        RemovalKind::Islands => {
            length < rules.island
                && rules.times * coverage < depth.mean
                && meet == [false; 2]
                && !rules.is_certain(PathMeasures { coverage, length }, depth)
        }
        RemovalKind::Bubbles => lose[0] && meet[1],
        RemovalKind::Connections => lose == [true; 2],
    }
}

/// Sends each end the verdict of its junction.
pub(super) fn judge(
    messages: &[Message<'_>],
    kind: RemovalKind,
    (k, order): (usize, &SuperstepOrder),
    out: &mut Outbox,
) -> Result<u64> {
    let Some(rules) = &order.rules else { return Err(internal("no rules")) };
    let rules = (rules, order.depth);
    for ends in messages.chunk_by(|left, right| left.to == right.to) {
        let ends: Vec<JunctionEnd> =
            ends.iter().map(|end| JunctionEnd::read(end, k)).collect::<Result<_>>()?;
        for end in &ends {
            let meets = ends.iter().any(|other| end.meets(other));
            let loses = meets
                && ends.iter().any(|rival| end.is_rival(rival) && end.loses(rival, kind, rules));
            let bits = if meets { MEETS } else { 0 } | if loses { LOSES } else { 0 };
            out.add(end.name, MessageKind::JUDGED, |body| body.extend([end.side as u8, bits]));
        }
    }
    Ok(0)
}

/// Sends each end the ends that it meets, in a message of this kind: a side, and the edges of it.
///
/// # Errors
/// `Defect` when bytes are missing.
pub fn link(messages: &[Message<'_>], kind: MessageKind, out: &mut Outbox) -> Result<u64> {
    for ends in messages.chunk_by(|left, right| left.to == right.to) {
        // The size of k-mers does not matter where the ends come without measures.
        let ends: Vec<JunctionEnd> =
            ends.iter().map(|end| JunctionEnd::read(end, 1)).collect::<Result<_>>()?;
        for end in &ends {
            out.add(end.name, kind, |body| {
                body.push(end.side as u8);
                for other in ends.iter().filter(|other| end.meets(other)) {
                    put_edge((other.name, other.side), body);
                }
            });
        }
    }
    Ok(0)
}

/// Notifies two ends of each other that meet only each other.
pub(super) fn join(messages: &[Message<'_>], out: &mut Outbox) -> Result<u64> {
    for ends in messages.chunk_by(|left, right| left.to == right.to) {
        let [left, right] = ends else { continue };
        // The size of k-mers does not matter where the ends come without measures.
        let (left, right) = (JunctionEnd::read(left, 1)?, JunctionEnd::read(right, 1)?);
        if !left.here.is_palindrome && left.meets(&right) {
            join_ends((left.name, left.side), (right.name, right.side), out);
        }
    }
    Ok(0)
}
