//! What is wrong with an answer, found by any thread.

use std::sync::atomic::{AtomicU32, Ordering};

/// A property of the answer that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fault {
    /// A solid k-mer of the reads is missing.
    Unclaimed,
    /// A k-mer of a unitig is not solid.
    NotSolid,
    /// A k-mer is there twice.
    Twice,
    /// A unitig goes on where others branch off.
    Branches,
    /// A unitig ends where it could go on.
    EndsEarly,
    /// A circle is none.
    NoCircle,
    /// A sequence is on the other strand, in another rotation or at another place.
    Form,
    /// A count is less than what was found.
    Count,
}

const ALL: [(Fault, &str); 8] = [
    (Fault::Unclaimed, "a solid k-mer is in no unitig"),
    (Fault::NotSolid, "a unitig has a k-mer that is not solid"),
    (Fault::Twice, "a k-mer is in the unitigs twice"),
    (Fault::Branches, "a unitig goes on where another k-mer branches off"),
    (Fault::EndsEarly, "a unitig ends where it goes on"),
    (Fault::NoCircle, "a unitig that is marked as a circle does not end as it begins"),
    (Fault::Form, "a unitig is on the other strand, in another rotation or at another place"),
    (Fault::Count, "a count is less than what a sample of the k-mers gives"),
];

/// A bit for each fault.
#[derive(Debug, Default)]
pub struct Faults(AtomicU32);

impl Faults {
    /// Adds one.
    #[cold]
    pub fn add(&self, fault: Fault) {
        self.0.fetch_or(1 << fault as u32, Ordering::Relaxed);
    }

    /// The first of them, in words.
    pub fn first(&self) -> Option<&'static str> {
        let bits = self.0.load(Ordering::Relaxed);
        ALL.iter().find(|(fault, _)| bits & 1 << *fault as u32 != 0).map(|(_, words)| *words)
    }
}
