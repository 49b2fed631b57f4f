//! Tips, islands, bubbles and weak connections of a graph that is spread over parts.
//!
//! The ends of paths meet at (k-1)-mers, which are vertices too: each end goes there with what is
//! known of its path, and is told what it meets. All decisions are those of
//! [`crate::kernel::simplify::PathGraph`], by the state before the step.

use cuesta_core::Result;

use super::control::{SuperstepOrder, What};
use super::messages::{Message, MessageKind, Name, Outbox, Side, put_edge};
use super::part::{Vertex, VertexPart, hashed, join_ends};
use crate::kernel::codec::{self, ByteReader};
use crate::kernel::internal;
use crate::kernel::kmer::Base;
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::{PathMeasures, Rules, similar, stronger};

/// The kind of the names of (k-1)-mers.
const JUNCTION: u8 = 9;
const RIGHT: u8 = 1;
const FORWARD: u8 = 2;
const PALINDROME: u8 = 4;
/// What an end is told: that others are met, and that its path is the worse one by a rule.
const MEETS: u8 = 1;
const LOSES: u8 = 2;

/// A place where ends meet: those that leave by one strand meet those that leave by the other.
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

    /// Whether two ends meet the same others.
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
struct Met {
    name: Name,
    side: Side,
    here: Junction,
    path: Option<Judged>,
}

/// What is known of its path.
struct Judged {
    facts: PathMeasures,
    /// Where its other end is.
    other: Junction,
    /// Its bases, if they may matter.
    codes: Vec<Base>,
}

impl Met {
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
        let other = Junction::of_flags(Name::from_le_bytes(body.array()?), flags);
        let mut codes = Vec::new();
        body.codes(&mut codes)?;
        Ok(Self { name, side, here, path: Some(Judged { facts, other, codes }) })
    }

    fn meets(&self, other: &Self) -> bool {
        self.here.is_palindrome || self.here.is_forward != other.here.is_forward
    }

    fn is_rival(&self, other: &Self) -> bool {
        self.name != other.name && self.here.is_same(&other.here)
    }

    /// Whether its path is the worse one of two.
    fn loses(&self, rival: &Self, what: What, rules: &Rules) -> bool {
        let (Some(mine), Some(other)) = (&self.path, &rival.path) else { return false };
        let length = mine.facts.length;
        let is_weaker = || stronger((other.facts, &other.codes), (mine.facts, &mine.codes));
        match what {
            What::Tips => {
                length < rules.tip && is_weaker()
                    || length < rules.weak_tip && other.facts.coverage > 2.0 * mine.facts.coverage
            }
            What::Islands => false,
            What::Bubbles => {
                // Both ends of a bubble say the same.
                self.side == Side::Left
                    && length < rules.bubble
                    && other.facts.length < rules.bubble
                    && is_weaker()
                    && (rules.is_even || mine.facts.coverage < rules.deep * other.facts.coverage)
                    && mine.other.is_same(&other.other)
                    && similar(&mine.codes, (&other.codes, rival.side == Side::Right), rules.edits)
            }
            What::Connections => {
                length < rules.connection
                    && other.facts.coverage >= rules.times * mine.facts.coverage
            }
        }
    }
}

impl VertexPart {
    /// Each end goes to where it meets others; with what is known of its path, if that is judged.
    pub(super) fn meet(
        &mut self,
        what: Option<What>,
        order: &SuperstepOrder,
        out: &mut Outbox,
    ) -> u64 {
        let shown = match (what, &order.rules) {
            (Some(What::Tips), Some(rules)) => rules.tip,
            (Some(What::Bubbles), Some(rules)) => rules.bubble,
            _ => 0,
        };
        for vertex in &self.vertices {
            let junctions = Side::BOTH.map(|side| Junction::of(vertex, side, self.k));
            for side in Side::BOTH {
                let [here, other] = [side, side.other()].map(|side| junctions[side as usize]);
                out.add(here.name, MessageKind::End, |body| {
                    here.put(side as u8 * RIGHT, body);
                    body.extend(vertex.name.to_le_bytes());
                    if what.is_some() {
                        let length = vertex.codes.len();
                        body.extend(vertex.piece.count_sum.to_le_bytes());
                        body.extend((length as u64).to_le_bytes());
                        other.put(0, body);
                        body.extend(other.name.to_le_bytes());
                        codec::put_codes(if length < shown { &vertex.codes } else { &[] }, body);
                    }
                });
            }
        }
        0
    }

    /// Paths that are taken for errors go; how many.
    pub(super) fn leave(
        &mut self,
        messages: &[Message<'_>],
        what: What,
        order: &SuperstepOrder,
    ) -> Result<u64> {
        let Some(rules) = &order.rules else { return Err(internal("no rules")) };
        let mut gone = Vec::new();
        let k = self.k;
        let mut told = [None; 2];
        self.each(messages, |vertex, _, mut body| {
            let [side, bits] = body.array()?;
            told[usize::from(side & 1)] = Some(bits);
            let [Some(left), Some(right)] = told else { return Ok(()) };
            told = [None; 2];
            if goes(vertex, [left, right], what, (rules, order.mean, k)) {
                gone.push(vertex.name);
            }
            Ok(())
        })?;
        let mut names = gone.iter().peekable();
        self.vertices.retain(|vertex| names.next_if(|&&name| name == vertex.name).is_none());
        Ok(gone.len() as u64)
    }
}

/// Whether a path goes, by what its ends were told.
fn goes(
    vertex: &Vertex,
    [left, right]: [u8; 2],
    what: What,
    (rules, mean, k): (&Rules, f64, usize),
) -> bool {
    let length = vertex.codes.len();
    let meet = [left & MEETS != 0, right & MEETS != 0];
    let lose = [left & LOSES != 0, right & LOSES != 0];
    let coverage = vertex.piece.count_sum as f64 / (length + 1 - k) as f64;
    match what {
        What::Tips => meet[0] != meet[1] && (meet[0] && lose[0] || meet[1] && lose[1]),
        What::Islands => {
            length < rules.island && rules.times * coverage < mean && meet == [false; 2]
        }
        What::Bubbles => lose[0] && meet[1] && (!rules.is_even || coverage < rules.deep * mean),
        What::Connections => lose == [true; 2],
    }
}

/// Tells each end what it meets.
pub(super) fn judge(
    messages: &[Message<'_>],
    what: What,
    (k, order): (usize, &SuperstepOrder),
    out: &mut Outbox,
) -> Result<u64> {
    let Some(rules) = &order.rules else { return Err(internal("no rules")) };
    for ends in messages.chunk_by(|one, two| one.to == two.to) {
        let ends: Vec<Met> = ends.iter().map(|end| Met::read(end, k)).collect::<Result<_>>()?;
        for end in &ends {
            let meets = ends.iter().any(|other| end.meets(other));
            let loses = meets
                && ends.iter().any(|rival| end.is_rival(rival) && end.loses(rival, what, rules));
            let bits = if meets { MEETS } else { 0 } | if loses { LOSES } else { 0 };
            out.add(end.name, MessageKind::Judged, |body| body.extend([end.side as u8, bits]));
        }
    }
    Ok(0)
}

/// Tells each end those that it meets.
pub(super) fn link(messages: &[Message<'_>], out: &mut Outbox) -> Result<u64> {
    for ends in messages.chunk_by(|one, two| one.to == two.to) {
        // A size of k-mers does not matter where nothing is told of paths.
        let ends: Vec<Met> = ends.iter().map(|end| Met::read(end, 1)).collect::<Result<_>>()?;
        for end in &ends {
            out.add(end.name, MessageKind::Edges, |body| {
                body.push(end.side as u8);
                for other in ends.iter().filter(|other| end.meets(other)) {
                    put_edge((other.name, other.side), body);
                }
            });
        }
    }
    Ok(0)
}

/// Tells two ends of each other that meet nothing else.
pub(super) fn join(messages: &[Message<'_>], out: &mut Outbox) -> Result<u64> {
    for ends in messages.chunk_by(|one, two| one.to == two.to) {
        let [one, two] = ends else { continue };
        // A size of k-mers does not matter where nothing is told of paths.
        let (one, two) = (Met::read(one, 1)?, Met::read(two, 1)?);
        if !one.here.is_palindrome && one.meets(&two) {
            join_ends((one.name, one.side), (two.name, two.side), out);
        }
    }
    Ok(0)
}
