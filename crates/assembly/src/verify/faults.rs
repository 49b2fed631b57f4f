//! Faults of an answer, which any thread may report.

use std::sync::atomic::{AtomicU32, Ordering};

/// A property of the answer that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fault {
    /// A solid k-mer of the reads is missing.
    Unclaimed,
    /// A k-mer of a unitig is not solid.
    NotSolid,
    /// A k-mer occurs twice.
    Twice,
    /// A unitig continues where other k-mers branch off.
    Branches,
    /// A unitig ends where it could continue.
    EndsEarly,
    /// A sequence marked as a circle is not one.
    NoCircle,
    /// A sequence is on the wrong strand, in the wrong rotation or at the wrong position.
    Form,
    /// A count is less than the count in a sample.
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

/// Set of faults, a bit for each.
#[derive(Debug, Default)]
pub struct Faults(AtomicU32);

impl Faults {
    /// Adds a fault.
    #[cold]
    pub fn add(&self, fault: Fault) {
        self.0.fetch_or(1 << fault as u32, Ordering::Relaxed);
    }

    /// Returns the text for the first fault.
    pub fn first(&self) -> Option<&'static str> {
        let bits = self.0.load(Ordering::Relaxed);
        ALL.iter().find(|(fault, _)| bits & 1 << *fault as u32 != 0).map(|(_, words)| *words)
    }
}
