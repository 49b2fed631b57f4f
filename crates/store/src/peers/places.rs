//! Who has the blocks of a file, by the directories of all members at once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::directory::Directory;
use super::limits::{ASKED_AT_ONCE, PLACES, WHERE_MAX};
use super::members::{Member, View};
use super::message::{FileId, PeerQuestion, PeerReply};
use super::rendezvous::home;
use super::{OPERATION, Peers};
use crate::places::{BlockPlaces, PlacesBuilder};

/// What one member is asked: it keeps where these blocks are.
struct Part {
    /// `None` for this store.
    member: Option<Arc<Member>>,
    indexes: Vec<u64>,
}

impl Directory {
    /// Who has some blocks of a file.
    pub(super) fn where_are(&self, file: FileId, indexes: &[u64]) -> BlockPlaces {
        let mut found = PlacesBuilder::new(indexes.len());
        for (place, &index) in indexes.iter().enumerate() {
            self.places(file, index).iter().for_each(|name| found.add(place, name));
        }
        found.done()
    }
}

impl Peers {
    /// What this member's directory says of blocks, for another.
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

    /// The other live members that have each of some blocks. What a member keeps that does not
    /// answer in time is not found.
    pub(crate) fn holders(&self, file: FileId, blocks: Range<u64>) -> HashMap<u64, Vec<String>> {
        let begun = Instant::now();
        let view = self.view();
        if view.live.is_empty() {
            return HashMap::new();
        }
        let parts = parts(&view, file, blocks);
        let threads = parts.len().min(ASKED_AT_ONCE);
        let (waiting, found) = (Mutex::new(parts), Mutex::new(Vec::new()));
        let ask_all = || {
            // One that hangs has one of the threads until there is no time left.
            while let Some(part) = next(&waiting) {
                let patience = PLACES.checked_sub(begun.elapsed());
                if let Some(places) = self.places_by(&part, file, patience) {
                    lock(&found).push((part.indexes, places));
                }
            }
        };
        thread::scope(|scope| {
            (1..threads).for_each(|_| _ = scope.spawn(ask_all));
            ask_all();
        });
        let mut holders: HashMap<u64, Vec<String>> = HashMap::new();
        // A directory may not have noticed yet who is dead: by now this one has.
        let view = self.view();
        for (indexes, places) in &*lock(&found) {
            for (place, &index) in indexes.iter().enumerate() {
                let live = places.of(place).filter(|name| view.named(name).is_some());
                holders.entry(index).or_default().extend(live.map(str::to_owned));
            }
        }
        holders
    }

    /// What one member says of its part, if there is time to ask it.
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

/// Which member is to be asked for which blocks.
fn parts(view: &View, file: FileId, blocks: Range<u64>) -> Vec<Part> {
    let mut kept = vec![Vec::new(); view.numbers.len()];
    for index in blocks {
        if let Some(place) = home(&view.numbers, file.block(index)) {
            kept[place].push(index);
        }
    }
    let part = |(place, indexes): (usize, &Vec<u64>)| {
        let member = view.at(place).cloned();
        let parts = indexes.chunks(WHERE_MAX);
        let parts = parts.map(|part| Part { member: member.clone(), indexes: part.to_vec() });
        parts.collect::<Vec<_>>()
    };
    kept.iter().enumerate().flat_map(part).collect()
}

/// Not held while it is asked.
fn next(waiting: &Mutex<Vec<Part>>) -> Option<Part> {
    lock(waiting).pop()
}
