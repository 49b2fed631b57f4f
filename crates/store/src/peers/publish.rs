//! Telling directories what this store has: the difference to what each was told before. After a
//! death, or a start, the same rebuilds what was lost.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use cuesta_runtime::parallel::lock;

use super::Peers;
use super::limits::{LATER, LATER_MAX, TELL, TICK, TOLD_MAX};
use super::members::{Member, View};
use super::message::{AloneFile, FileId, PeerQuestion, PeerReply, Telling};
use super::rendezvous::{home, homes, number_of};
use crate::path::StorePath;
use crate::store::Store;
use crate::under::UnderVersion;

/// What a store has that others may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Blocks in memory of files of the under level.
    pub blocks: HashSet<(FileId, u64)>,
    /// Files in memory alone.
    pub names: HashMap<StorePath, AloneFile>,
}

/// Files of this store that were replaced elsewhere.
pub(crate) type Replaced = Vec<(StorePath, FileId)>;

/// What directories were told.
#[derive(Default)]
pub struct Told {
    sent: HashMap<u64, Sent>,
    /// What it was made of: nothing is to be told until that changes.
    by: Option<(u64, u64, Vec<u64>)>,
}

/// What one directory was told.
#[derive(Default)]
struct Sent {
    /// The start of the member that was told.
    incarnation: u64,
    holdings: Holdings,
    all_by: Option<u64>,
}

impl Peers {
    /// Tells directories what changed; files of this store that were replaced elsewhere by now, and
    /// whether all were told.
    pub(crate) fn publish(&self, store: &Store) -> (Replaced, bool) {
        let mut told = lock(&self.told);
        let view = self.view();
        let starts = view.live.iter().map(|member| member.incarnation()).collect();
        let by = Some((store.changes(), view.id, starts));
        if told.by == by {
            return (vec![], true);
        }
        let parts = parts(store.holdings(self.name()), &view);
        let (mut superseded, mut is_all) = (Vec::new(), true);
        for (place, wanted) in parts.into_iter().enumerate() {
            let sent = told.sent.entry(view.numbers[place]).or_default();
            match self.tell(view.at(place), sent, wanted, view.id) {
                Some(found) => superseded.extend(found),
                None => is_all = false,
            }
        }
        told.by = by.filter(|_| is_all);
        (superseded, is_all)
    }

    /// Tells the directories of a path whether a file of it is in this memory alone now; that file,
    /// where it was replaced elsewhere by now. `None` where one of them was not told.
    pub(crate) fn tell_name(&self, store: &Store, path: &StorePath) -> Option<Replaced> {
        // Nothing older is told after this.
        let mut told = lock(&self.told);
        let view = self.view();
        let file = store.own_alone(self.name(), path);
        let mut superseded = Vec::new();
        for place in homes(&view.numbers, number_of(&path.to_string())).into_iter().flatten() {
            let sent = told.sent.entry(view.numbers[place]).or_default();
            let member = view.at(place);
            let incarnation = member.map_or(self.own.incarnation, |one| one.incarnation());
            if sent.incarnation != incarnation {
                return None;
            }
            if sent.holdings.names.get(path) == file.as_ref() {
                continue;
            }
            superseded.extend(match member {
                None => Vec::from_iter(lock(&self.directory).name(self.name(), path, file.clone())),
                Some(member) => {
                    let (path, file) = (path.clone(), file.clone());
                    let question = PeerQuestion::Name { path, file };
                    match member.ask(&question, TELL, |reply, _| reply) {
                        Ok(PeerReply::Heard { superseded }) => superseded,
                        _ => {
                            *sent = Sent::default();
                            return None;
                        }
                    }
                }
            });
            match &file {
                Some(file) => _ = sent.holdings.names.insert(path.clone(), file.clone()),
                None => _ = sent.holdings.names.remove(path),
            }
        }
        Some(superseded)
    }

    /// Tells one directory, until it has heard all; files that were replaced elsewhere by now.
    fn tell(
        &self,
        member: Option<&Arc<Member>>,
        sent: &mut Sent,
        wanted: Holdings,
        view: u64,
    ) -> Option<Replaced> {
        let incarnation = member.map_or(self.own.incarnation, |member| member.incarnation());
        let is_first = sent.incarnation != incarnation;
        if is_first {
            *sent = Sent::default();
        }
        if !is_first && sent.all_by == Some(view) && sent.holdings == wanted {
            return Some(vec![]);
        }
        let mut superseded = Vec::new();
        for telling in difference(&sent.holdings, &wanted, is_first, view) {
            let telling = Telling { start: self.own.incarnation, ..telling };
            superseded.extend(match member {
                None => lock(&self.directory).hear(self.name(), telling),
                Some(member) => {
                    let question = PeerQuestion::Tell { telling };
                    match member.ask(&question, TELL, |reply, _| reply) {
                        Ok(PeerReply::Heard { superseded }) => superseded,
                        _ => {
                            // Part of it may have been heard: all is told again.
                            *sent = Sent::default();
                            return None;
                        }
                    }
                }
            });
        }
        *sent = Sent { incarnation, holdings: wanted, all_by: Some(view) };
        Some(superseded)
    }

    /// Files of this store, of these, that lost their names, as directories know it.
    fn superseded(&self, files: &[AloneFile]) -> Replaced {
        let view = self.view();
        let mut by_place: HashMap<usize, Vec<AloneFile>> = HashMap::new();
        for file in files {
            let places = homes(&view.numbers, number_of(&file.path.to_string()));
            for place in places.into_iter().flatten() {
                by_place.entry(place).or_default().push(file.clone());
            }
        }
        let mut superseded = Vec::new();
        for (place, files) in by_place {
            superseded.extend(match view.at(place) {
                None => lock(&self.directory).superseded(self.name(), &files),
                Some(member) => {
                    let question = PeerQuestion::Later { files };
                    match member.ask(&question, TELL, |reply, _| reply) {
                        Ok(PeerReply::Heard { superseded }) => superseded,
                        _ => vec![],
                    }
                }
            });
        }
        superseded
    }

    /// Whether another member wrote its file of a path to replace this one here.
    pub(crate) fn replaces(&self, owner: &str, path: &StorePath, file: FileId) -> bool {
        let Some(member) = self.member(owner) else { return false };
        let question = PeerQuestion::Replaces { path: path.clone(), file };
        let reply = member.ask(&question, TELL, |reply, _| reply);
        matches!(reply, Ok(PeerReply::Done))
    }

    /// Whether another live member wrote this version of a file of the under level.
    pub(crate) fn wrote(&self, path: &StorePath, version: &UnderVersion) -> bool {
        let question = PeerQuestion::Wrote { path: path.clone(), version: *version };
        self.view().live.iter().any(|member| {
            let reply = member.ask(&question, TELL, |reply, _| reply);
            matches!(reply, Ok(PeerReply::Done))
        })
    }

    /// Publishes what changes, until the store ends. For a thread of its own.
    pub fn publish_all(self: &Arc<Self>, store: &Store) {
        let (mut looked, mut last) = (Instant::now(), None);
        while !self.has_ended() {
            self.watch();
            let begun = Instant::now();
            let (superseded, _) = self.publish(store);
            store.forget_superseded(&superseded);
            // A later file may have been told after the one here.
            if looked.elapsed() > LATER {
                let files = store.own_alone_from(self.name(), last.as_ref(), LATER_MAX);
                store.forget_superseded(&self.superseded(&files));
                last = files.last().map(|file| file.path.clone());
                looked = Instant::now();
            }
            // A store with very many blocks that change all the time has other things to do.
            thread::sleep(TICK.max(begun.elapsed() * 10));
        }
    }
}

/// What each member of a view is to be told.
fn parts(holdings: Holdings, view: &View) -> Vec<Holdings> {
    let mut parts = vec![Holdings::default(); view.numbers.len()];
    for (file, index) in holdings.blocks {
        if let Some(place) = home(&view.numbers, file.block(index)) {
            parts[place].blocks.insert((file, index));
        }
    }
    for (path, file) in holdings.names {
        let places = homes(&view.numbers, number_of(&path.to_string()));
        for place in places.into_iter().flatten() {
            parts[place].names.insert(path.clone(), file.clone());
        }
    }
    parts
}

/// What is to be said for a directory that was told one thing to know another; at least one part.
fn difference(before: &Holdings, now: &Holdings, is_first: bool, view: u64) -> Vec<Telling> {
    let here: Vec<_> = now.blocks.difference(&before.blocks).copied().collect();
    let gone: Vec<_> = before.blocks.difference(&now.blocks).copied().collect();
    let is_new = |file: &&AloneFile| before.names.get(&file.path) != Some(*file);
    let names: Vec<_> = now.names.values().filter(is_new).cloned().collect();
    let left = before.names.keys().filter(|path| !now.names.contains_key(*path));
    let no_names: Vec<_> = left.cloned().collect();
    let mut tellings = Vec::new();
    tellings.extend(gone.chunks(TOLD_MAX).map(|part| Telling { gone: part.to_vec(), ..none() }));
    tellings.extend(here.chunks(TOLD_MAX).map(|part| Telling { here: part.to_vec(), ..none() }));
    let no_names = no_names.chunks(TOLD_MAX / 4);
    tellings.extend(no_names.map(|part| Telling { no_names: part.to_vec(), ..none() }));
    let names = names.chunks(TOLD_MAX / 4);
    tellings.extend(names.map(|part| Telling { names: part.to_vec(), ..none() }));
    tellings.push(none());
    if let Some(first) = tellings.first_mut() {
        first.is_first = is_first;
    }
    if let Some(last) = tellings.last_mut() {
        last.all_by = Some(view);
    }
    tellings
}

fn none() -> Telling {
    Telling::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::directory::Directory;
    use crate::peers::message::Known;
    use proptest::prelude::*;

    fn holdings(numbers: &[u8]) -> Holdings {
        let mut found = Holdings::default();
        for &number in numbers {
            let version = UnderVersion {
                device: 0,
                inode: u64::from(number >> 2),
                size_bytes: 1,
                modified_ns: 1,
                changed_ns: 1,
            };
            let path: StorePath = format!("f{}", number >> 2).parse().unwrap();
            let id = FileId::of_alone("x", &version);
            found.blocks.insert((id, u64::from(number & 3)));
            if number & 1 == 0 {
                let file = AloneFile {
                    path: path.clone(),
                    id,
                    size_bytes: 1,
                    closed_ns: 1,
                    permissions: 0o600,
                };
                found.names.insert(path, file);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn a_directory_knows_what_it_is_to_know_after_any_differences(
            steps in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6),
        ) {
            let mut directory = Directory::default();
            let mut before = Holdings::default();
            for (index, numbers) in steps.iter().enumerate() {
                let now = holdings(numbers);
                for telling in difference(&before, &now, index == 0, 7) {
                    directory.hear("x", telling);
                }
                prop_assert!(directory.is_whole(["x"].into_iter(), 7));
                prop_assert_eq!(directory.blocks(), now.blocks.len());
                for &(file, index) in &now.blocks {
                    prop_assert_eq!(directory.places(file, index), ["x"]);
                }
                for number in 0..64 {
                    let path = format!("f{number}").parse().unwrap();
                    let is_there = directory.find(&path, |_| true) != Known::Nothing;
                    prop_assert_eq!(is_there, now.names.contains_key(&path));
                }
                before = now;
            }
        }
    }
}
