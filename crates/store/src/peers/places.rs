//! Lookup of the members that have the blocks of a file, through the directories of all members at
//! once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::directory::Directory;
use super::limits::{CONCURRENT_QUERIES_MAX, PLACES_TIMEOUT, WHERE_MAX};
use super::members::{Member, View};
use super::message::{PeerQuestion, PeerReply};
use super::rendezvous::home;
use super::{OPERATION, Peers};
use crate::places::{BlockPlaces, PlacesBuilder};
use crate::sharing::FileId;

/// Question to one member: its directory covers these blocks.
struct Part {
    /// `None` for this store.
    member: Option<Arc<Member>>,
    indexes: Vec<u64>,
}

impl Directory {
    /// Returns the members that have each of some blocks of a file.
    pub(super) fn where_are(&self, file: FileId, indexes: &[u64]) -> BlockPlaces {
        let mut builder = PlacesBuilder::new(indexes.len());
        for (place, &index) in indexes.iter().enumerate() {
            self.places(file, index).iter().for_each(|name| builder.add(place, name));
        }
        builder.done()
    }
}

impl Peers {
    /// Returns the holders of blocks by this member's directory, for another member.
    ///
    /// # Errors
    /// `Input` for too many of them.
    pub(super) fn where_are(&self, file: FileId, indexes: &[u64]) -> Result<BlockPlaces> {
        if indexes.len() > WHERE_MAX {
            let text = format!("{} blocks are more than {WHERE_MAX} at once", indexes.len());
            return Err(Error::input(OPERATION, text));
        }
        Ok(lock(&self.directory).where_are(file, indexes))
    }

    /// Returns the other live members that have each of some blocks. Blocks whose directory does
    /// not answer in time are left out.
    pub(super) fn holders_of(&self, file: FileId, blocks: Range<u64>) -> HashMap<u64, Vec<String>> {
        let begun = Instant::now();
        let view = self.view();
        if view.live.is_empty() {
            return HashMap::new();
        }
        let parts = parts(&view, file, blocks);
        let threads = parts.len().min(CONCURRENT_QUERIES_MAX);
        let (waiting, results) = (Mutex::new(parts), Mutex::new(Vec::new()));
        let ask_all = || {
            // A member that hangs occupies one of the threads until the time is over.
            while let Some(part) = next(&waiting) {
                let patience = PLACES_TIMEOUT.checked_sub(begun.elapsed());
                if let Some(places) = self.places_by(&part, file, patience) {
                    lock(&results).push((part.indexes, places));
                }
            }
        };
        thread::scope(|scope| {
            (1..threads).for_each(|_| _ = scope.spawn(ask_all));
            ask_all();
        });
        let mut holders: HashMap<u64, Vec<String>> = HashMap::new();
        // A directory may not have noticed yet that a member is dead: by now this member has.
        let view = self.view();
        for (indexes, places) in &*lock(&results) {
            for (place, &index) in indexes.iter().enumerate() {
                let live = places.of(place).filter(|name| view.named(name).is_some());
                holders.entry(index).or_default().extend(live.map(str::to_owned));
            }
        }
        holders
    }

    /// Returns one directory's answer for its part, if there is time left to ask it.
    fn places_by(
        &self,
        part: &Part,
        file: FileId,
        patience: Option<Duration>,
    ) -> Option<BlockPlaces> {
        let Some(member) = &part.member else {
            return Some(lock(&self.directory).where_are(file, &part.indexes));
        };
        let question = PeerQuestion::Where { file, indexes: part.indexes.clone() };
        match member.ask(&question, patience?, |reply, _| reply) {
            Ok(PeerReply::Places { places }) if places.answers(part.indexes.len()) => Some(places),
            _ => None,
        }
    }
}

/// Splits blocks by the member whose directory covers them.
fn parts(view: &View, file: FileId, blocks: Range<u64>) -> Vec<Part> {
    let mut by_member = vec![Vec::new(); view.numbers.len()];
    for index in blocks {
        if let Some(place) = home(&view.numbers, file.block(index)) {
            by_member[place].push(index);
        }
    }
    let part = |(place, indexes): (usize, &Vec<u64>)| {
        let member = view.at(place).cloned();
        let parts = indexes.chunks(WHERE_MAX);
        let parts = parts.map(|part| Part { member: member.clone(), indexes: part.to_vec() });
        parts.collect::<Vec<_>>()
    };
    by_member.iter().enumerate().flat_map(part).collect()
}

/// Takes the next part; the lock is released before its member is asked.
fn next(waiting: &Mutex<Vec<Part>>) -> Option<Part> {
    lock(waiting).pop()
}
