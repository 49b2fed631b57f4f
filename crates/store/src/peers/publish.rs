//! Publishing to directories which blocks and files this store has, as differences to the last
//! state published. After a death or a start, the same code rebuilds what was lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use cuesta_runtime::parallel::lock;

use super::Peers;
use super::limits::{
    DIRECTORY_TIMEOUT, NAMED_TIMEOUT, SUPERSEDED_CHECK, SUPERSEDED_FILES_MAX, TICK,
    UPDATE_BLOCKS_MAX,
};
use super::members::{Member, View};
use super::message::{DirectoryUpdate, PeerQuestion, PeerReply};
use super::rendezvous::{home, homes, number_of};
use crate::path::StorePath;
use crate::sharing::{AloneFile, FileId, Holdings, LocalStore, RemoteStores};

/// Files of this store that have been replaced on another store.
type Replaced = Vec<(StorePath, FileId)>;

/// State that directories have been sent.
#[derive(Default)]
pub struct Published {
    /// When directories were last assured that their state is complete.
    confirmed: Option<Instant>,
    sent: HashMap<u64, Sent>,
    /// Store changes, view and starts that `sent` was made from: nothing is to be published until
    /// these change.
    by: Option<(u64, u64, Vec<u64>)>,
}

/// State that one directory has been sent.
#[derive(Default)]
struct Sent {
    /// Number of the start of the member that received it.
    incarnation: u64,
    holdings: Holdings,
    all_by: Option<u64>,
}

impl Peers {
    /// Publishes changes to directories; returns files of this store that have been replaced
    /// elsewhere, and whether all directories received the update.
    fn publish(&self, store: &dyn LocalStore) -> (Replaced, bool) {
        let mut published = lock(&self.published);
        let view = self.view();
        let starts = view.live.iter().map(|member| member.incarnation()).collect();
        let by = Some((store.changes(), view.id, starts));
        if published.by == by {
            self.confirm(&mut published, &view);
            return (vec![], true);
        }
        let parts = parts(store.holdings(self.name()), &view);
        let (mut superseded, mut is_all) = (Vec::new(), true);
        for (place, wanted) in parts.into_iter().enumerate() {
            let sent = published.sent.entry(view.numbers[place]).or_default();
            match self.publish_to(view.at(place), sent, wanted, view.id) {
                Some(replaced) => superseded.extend(replaced),
                None => is_all = false,
            }
        }
        published.by = by.filter(|_| is_all);
        (superseded, is_all)
    }

    /// Assures each directory, twice a second, that its state is complete: a directory that took
    /// this store for dead for a moment, unnoticed here, would ask each member for each path for
    /// ever.
    fn confirm(&self, state: &mut Published, view: &View) {
        if state.confirmed.is_some_and(|confirmed| confirmed.elapsed() < SUPERSEDED_CHECK) {
            return;
        }
        state.confirmed = Some(Instant::now());
        for (place, number) in view.numbers.iter().enumerate() {
            let Some((member, sent)) = view.at(place).zip(state.sent.get_mut(number)) else {
                continue;
            };
            let update = self.numbered(DirectoryUpdate { all_by: Some(view.id), ..none() });
            let question = PeerQuestion::Tell { update };
            let is_same = sent.incarnation == member.incarnation();
            let reply = is_same.then(|| member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply));
            if !matches!(reply, Some(Ok(PeerReply::Heard { again: false, .. }))) {
                *sent = Sent::default();
                state.by = None;
            }
        }
    }

    /// Publishes whether a file of a path is only in this memory now, until directories have it or
    /// are dead.
    pub(super) fn publish_path(&self, store: &dyn LocalStore, path: &StorePath) {
        let begun = Instant::now();
        while begun.elapsed() < NAMED_TIMEOUT {
            if let Some(superseded) = self.publish_name(store, path) {
                store.forget_superseded(&superseded);
                break;
            }
            // A member is new, or dead: everything is published.
            let (superseded, is_published) = self.publish(store);
            store.forget_superseded(&superseded);
            if is_published {
                break;
            }
        }
    }

    /// Publishes to the directories of a path whether a file of it is only in this memory now;
    /// returns that file, if it has been replaced elsewhere. `None` where a directory did not
    /// receive it.
    fn publish_name(&self, store: &dyn LocalStore, path: &StorePath) -> Option<Replaced> {
        // The lock is held to the end, so that nothing older is published after this.
        let mut published = lock(&self.published);
        let view = self.view();
        let file = store.local_alone_file(self.name(), path);
        let mut superseded = Vec::new();
        for place in homes(&view.numbers, number_of(&path.to_string())).into_iter().flatten() {
            let sent = published.sent.entry(view.numbers[place]).or_default();
            let member = view.at(place);
            let incarnation = member.map_or(self.local.incarnation, |member| member.incarnation());
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
                    let DirectoryUpdate { start, number, .. } = self.numbered(none());
                    let question = PeerQuestion::Name { path, file, start, number };
                    match member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply) {
                        Ok(PeerReply::Heard { superseded, again: false }) => superseded,
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

    /// Sends one directory all its updates; returns files that have been replaced elsewhere.
    fn publish_to(
        &self,
        member: Option<&Arc<Member>>,
        sent: &mut Sent,
        wanted: Holdings,
        view: u64,
    ) -> Option<Replaced> {
        let incarnation = member.map_or(self.local.incarnation, |member| member.incarnation());
        let is_first = sent.incarnation != incarnation;
        if is_first {
            *sent = Sent::default();
        }
        if !is_first && sent.all_by == Some(view) && sent.holdings == wanted {
            return Some(vec![]);
        }
        let mut superseded = Vec::new();
        for update in difference(&sent.holdings, &wanted, is_first, view) {
            let update = self.numbered(update);
            superseded.extend(match member {
                None => lock(&self.directory).apply(self.name(), update),
                Some(member) => {
                    let question = PeerQuestion::Tell { update };
                    match member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply) {
                        Ok(PeerReply::Heard { superseded, again: false }) => superseded,
                        _ => {
                            // The directory may have received part of it, or has forgotten
                            // something: everything is sent again.
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

    /// Gives an update the numbers by which a directory knows a later one.
    fn numbered(&self, update: DirectoryUpdate) -> DirectoryUpdate {
        let (start, number) = (self.local.incarnation, self.local.next_update());
        DirectoryUpdate { start, lineage: self.local.lineage, number, ..update }
    }

    /// Returns the files, among these of this store, that lost their names, by the directories.
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
                    match member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply) {
                        Ok(PeerReply::Heard { superseded, again: false }) => superseded,
                        _ => vec![],
                    }
                }
            });
        }
        superseded
    }

    /// Publishes changes until the store ends. Runs in a thread of its own.
    pub fn publish_all(self: &Arc<Self>, store: &dyn LocalStore) {
        let (mut last_check, mut last_path) = (Instant::now(), None);
        while !self.has_ended() {
            self.watch();
            let begun = Instant::now();
            let (superseded, _) = self.publish(store);
            store.forget_superseded(&superseded);
            // A later file may have been published after the one here.
            if last_check.elapsed() > SUPERSEDED_CHECK {
                let files = store.local_alone_files_after(
                    self.name(),
                    last_path.as_ref(),
                    SUPERSEDED_FILES_MAX,
                );
                store.forget_superseded(&self.superseded(&files));
                last_path = files.last().map(|file| file.path.clone());
                last_check = Instant::now();
            }
            // Sleep ten times as long as publishing took: a store with very many blocks that change
            // all the time has other work to do.
            thread::sleep(TICK.max(begun.elapsed() * 10));
        }
    }
}

/// Splits the holdings into the part for each member of a view.
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

/// Returns the updates, at least one, that bring a directory from one state to another.
fn difference(
    before: &Holdings,
    now: &Holdings,
    is_first: bool,
    view: u64,
) -> Vec<DirectoryUpdate> {
    let added: Vec<_> = now.blocks.difference(&before.blocks).copied().collect();
    let removed: Vec<_> = before.blocks.difference(&now.blocks).copied().collect();
    let is_new = |file: &&AloneFile| before.names.get(&file.path) != Some(*file);
    let names: Vec<_> = now.names.values().filter(is_new).cloned().collect();
    let lost_names = before.names.keys().filter(|path| !now.names.contains_key(*path));
    let no_names: Vec<_> = lost_names.cloned().collect();
    let mut updates = Vec::new();
    updates.extend(
        removed
            .chunks(UPDATE_BLOCKS_MAX)
            .map(|part| DirectoryUpdate { removed: part.to_vec(), ..none() }),
    );
    updates.extend(
        added
            .chunks(UPDATE_BLOCKS_MAX)
            .map(|part| DirectoryUpdate { added: part.to_vec(), ..none() }),
    );
    let no_names = no_names.chunks(UPDATE_BLOCKS_MAX / 4);
    updates.extend(no_names.map(|part| DirectoryUpdate { no_names: part.to_vec(), ..none() }));
    let names = names.chunks(UPDATE_BLOCKS_MAX / 4);
    updates.extend(names.map(|part| DirectoryUpdate { names: part.to_vec(), ..none() }));
    updates.push(none());
    if let Some(first) = updates.first_mut() {
        first.is_first = is_first;
    }
    if let Some(last) = updates.last_mut() {
        last.all_by = Some(view);
    }
    updates
}

fn none() -> DirectoryUpdate {
    DirectoryUpdate::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::directory::Directory;
    use crate::peers::message::NameState;
    use crate::under::UnderVersion;
    use proptest::prelude::*;

    fn holdings(numbers: &[u8]) -> Holdings {
        let mut holdings = Holdings::default();
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
            holdings.blocks.insert((id, u64::from(number & 3)));
            if number & 1 == 0 {
                let file = AloneFile {
                    path: path.clone(),
                    id,
                    size_bytes: 1,
                    closed_ns: 1,
                    permissions: 0o600,
                };
                holdings.names.insert(path, file);
            }
        }
        holdings
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
                for update in difference(&before, &now, index == 0, 7) {
                    directory.apply("x", update);
                }
                prop_assert!(directory.is_complete(["x"].into_iter(), 7));
                prop_assert_eq!(directory.blocks(), now.blocks.len());
                for &(file, index) in &now.blocks {
                    prop_assert_eq!(directory.places(file, index), ["x"]);
                }
                for number in 0..64 {
                    let path = format!("f{number}").parse().unwrap();
                    let is_listed = directory.find(&path, |_| true) != NameState::Nothing;
                    prop_assert_eq!(is_listed, now.names.contains_key(&path));
                }
                before = now;
            }
        }
    }
}
