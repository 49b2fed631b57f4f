//! Supersteps of a vertex program, one after the other, until every chain is one vertex.

use std::sync::{Mutex, PoisonError};

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_input::parallel;

use crate::compact::internal;
use crate::counting;
use crate::messages::Outbox;
use crate::sequences::Fragments;
use crate::vertices::{Part, Traffic, spread};

/// So many supersteps are never needed: a round takes a quarter of the vertices.
const SUPERSTEPS_MAX: u64 = 10_000;
/// Bytes of a vertex and of the messages about it, besides its bases.
const VERTEX_BYTES: usize = 256;

/// Who takes messages to other parts.
pub trait Exchange {
    /// Gives out what is for other parts; returns what they have for this one.
    ///
    /// # Errors
    /// Whatever went wrong.
    fn exchange(&mut self, parts: &[Vec<u8>]) -> Result<Vec<u8>>;

    /// The sum of a number over all parts.
    ///
    /// # Errors
    /// Whatever went wrong.
    fn sum(&mut self, number: u64) -> Result<u64>;
}

/// Compresses the fragments of a part among `parts`; what it took is that of all parts.
///
/// # Errors
/// `Input`, `System`; those of `others`.
pub fn part<'a>(
    k: usize,
    parts: usize,
    fragments: Fragments<'a>,
    others: &mut impl Exchange,
) -> Result<(Fragments<'a>, Traffic)> {
    let mut compressed = fragments.none_yet();
    let given = others.exchange(&spread(&fragments, parts))?;
    drop(fragments);
    let mut part = Part::new(k, parts);
    part.begin(&given)?;
    let (mut traffic, mut messages) = (Traffic::default(), Vec::new());
    while traffic.supersteps < SUPERSTEPS_MAX {
        let out = part.step(traffic.supersteps, &messages)?;
        let sent = others.sum(out.messages)?;
        traffic.add(sent, others.sum(out.bytes())?);
        messages = others.exchange(&out.parts)?;
        if ended(&traffic, sent, || others.sum(part.live()))? {
            part.finish(&mut compressed)?;
            return Ok((compressed, traffic));
        }
    }
    Err(internal("chains do not end"))
}

/// Compresses fragments with a part for each thread of this process.
///
/// # Errors
/// `Input` when the vertices do not fit in the budget; `Cancelled`.
pub fn all<'c>(
    context: &Context<'c>,
    k: usize,
    fragments: Fragments<'c>,
) -> Result<(Fragments<'c>, Traffic)> {
    let (threads, budget) = (context.request.threads, context.budget);
    let size_bytes = fragments.bases() + fragments.len() * VERTEX_BYTES;
    let _lease = budget.take(size_bytes as u64, "the vertices of the coin toss")?;
    let given = spread(&fragments, threads);
    drop(fragments);
    let parts: Vec<_> =
        (0..threads).map(|_| Mutex::new((Part::new(k, threads), Outbox::default()))).collect();
    let begin = |_: &mut (), index: usize| {
        let (part, _) = &mut *parallel::lock(&parts[index]);
        part.begin(&given[index])
    };
    parallel::run(threads, threads, || (), begin, |_| {})?;
    drop(given);
    let mut traffic = Traffic::default();
    let mut sent: Vec<Outbox> = Vec::new();
    while traffic.supersteps < SUPERSTEPS_MAX {
        let step = |_: &mut (), index: usize| {
            let (part, out) = &mut *parallel::lock(&parts[index]);
            let messages: Vec<&[u8]> = sent.iter().map(|out| &out.parts[index][..]).collect();
            *out = part.step(traffic.supersteps, &messages.concat())?;
            context.progress.advance(0)
        };
        parallel::run(threads, threads, || (), step, |_| {})?;
        sent = parts.iter().map(|part| std::mem::take(&mut parallel::lock(part).1)).collect();
        let messages = sent.iter().map(|out| out.messages).sum();
        traffic.add(messages, sent.iter().map(Outbox::bytes).sum());
        let live = || Ok(parts.iter().map(|part| parallel::lock(part).0.live()).sum());
        if ended(&traffic, messages, live)? {
            let mut compressed = counting::none(budget);
            for part in parts {
                let (part, _) = part.into_inner().unwrap_or_else(PoisonError::into_inner);
                part.finish(&mut compressed)?;
            }
            return Ok((compressed, traffic));
        }
    }
    Err(internal("chains do not end"))
}

/// Whether nothing is left to do, after a superstep that sent so many messages.
fn ended(traffic: &Traffic, sent: u64, live: impl FnOnce() -> Result<u64>) -> Result<bool> {
    Ok(traffic.is_after_toss() && sent == 0 && live()? == 0)
}
