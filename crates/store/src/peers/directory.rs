//! The directory of blocks and memory-only files, as members have published them. It is soft state:
//! when this member dies, the others publish it again to another. Decisions without I/O.

use std::collections::{HashMap, HashSet};

use super::limits::{BLOCKS_MAX, LOST_MAX};
use super::message::{DirectoryUpdate, NameState};
use crate::path::StorePath;
use crate::sharing::{AloneFile, FileId};

/// State published by members.
#[derive(Debug, Default)]
pub struct Directory {
    blocks: HashMap<(FileId, u64), Vec<String>>,
    names: HashMap<StorePath, Vec<Named>>,
    /// The last known start of each member.
    starts: HashMap<String, u64>,
    /// The lineage of each member at that start.
    lineages: HashMap<String, u64>,
    /// The last update of each member.
    updates: HashMap<String, LastUpdate>,
    /// Number of the last return of each member.
    returns: HashMap<String, u64>,
    /// The view by which each member's state is complete.
    all_by: HashMap<String, u64>,
    /// Members that were taken for dead, and of which a file was forgotten for that: they do not
    /// know of it, and publish differences.
    forgotten: HashSet<String>,
    /// Number of names whose owner came back without them.
    lost: usize,
}

/// Numbers of the last update of a member.
#[derive(Debug, Default)]
struct LastUpdate {
    start: u64,
    number: u64,
    /// Starts of the member before this one.
    ended: HashSet<u64>,
}

#[derive(Debug)]
struct Named {
    owner: String,
    file: AloneFile,
    /// Whether its owner was started again, and has not published it since.
    is_lost: bool,
    /// Whether its owner is publishing its complete state, and has not confirmed this file yet.
    is_unconfirmed: bool,
}

impl Directory {
    /// Records the number of the last return of a member. It has not published the changes made
    /// while it was dead, so its state is incomplete even if the view is the same as before.
    pub fn note_return(&mut self, member: &str, number: u64) {
        if self.returns.insert(member.to_owned(), number) != Some(number) {
            self.all_by.remove(member);
        }
    }

    /// Records the numbers of an update; returns whether no later one has arrived. The last one may
    /// arrive twice.
    pub fn is_current(&mut self, from: &str, start: u64, number: u64) -> bool {
        let last = self.updates.entry(from.to_owned()).or_default();
        if last.ended.contains(&start) || (last.start == start && number < last.number) {
            return false;
        }
        if last.start != start {
            last.ended.insert(last.start);
        }
        (last.start, last.number) = (start, number);
        true
    }

    /// Applies a member's update; returns the files of the member that have been replaced
    /// elsewhere.
    pub fn apply(&mut self, from: &str, update: DirectoryUpdate) -> Vec<(StorePath, FileId)> {
        if update.is_first {
            self.begin(from, update.start, update.lineage);
        }
        for block in update.removed {
            self.remove_holder(block, from);
        }
        for block in update.added {
            if self.blocks.len() < BLOCKS_MAX || self.blocks.contains_key(&block) {
                let places = self.blocks.entry(block).or_default();
                if !places.iter().any(|place| place == from) {
                    places.push(from.to_owned());
                }
            }
        }
        for path in update.no_names {
            self.name(from, &path, None);
        }
        let mut superseded = Vec::new();
        for file in update.names {
            let path = file.path.clone();
            superseded.extend(self.name(from, &path, Some(file)));
        }
        match update.all_by.filter(|_| !self.lacks(from)) {
            Some(view) => {
                self.drop_unconfirmed(from);
                self.all_by.insert(from.to_owned(), view)
            }
            None => self.all_by.remove(from),
        };
        superseded
    }

    /// Records the memory-only file of a path of a member; returns that file, if it has been
    /// replaced elsewhere.
    pub fn name(
        &mut self,
        from: &str,
        path: &StorePath,
        file: Option<AloneFile>,
    ) -> Option<(StorePath, FileId)> {
        self.retain(path, |named| named.owner != from);
        let file = file?;
        let named = self.names.entry(path.clone()).or_default();
        let is_replaced = named.iter().any(|other| other.file.order() > file.order());
        let superseded = is_replaced.then(|| (path.clone(), file.id));
        let owner = from.to_owned();
        named.push(Named { owner, file, is_lost: false, is_unconfirmed: false });
        self.lost = self.lost.saturating_sub(forget_replaced(named));
        superseded
    }

    /// Returns the files, among these of a member, that lost their names to later files of other
    /// members.
    pub fn superseded(&self, from: &str, files: &[AloneFile]) -> Vec<(StorePath, FileId)> {
        let is_later = |named: &Named, file: &AloneFile| {
            named.owner != from && !named.is_lost && named.file.order() > file.order()
        };
        let files = files.iter().filter(|file| {
            let named = self.names.get(&file.path);
            named.is_some_and(|named| named.iter().any(|named| is_later(named, file)))
        });
        files.map(|file| (file.path.clone(), file.id)).collect()
    }

    /// Starts the complete state of a member. After a new start of the member that may have lost
    /// files, its files are lost until it publishes them again; otherwise a file that it does not
    /// publish again was flushed, removed or replaced meanwhile.
    fn begin(&mut self, from: &str, start: u64, lineage: u64) {
        self.forget_blocks(from);
        self.forgotten.remove(from);
        // Before its first update it may have published single names.
        let before = self.starts.insert(from.to_owned(), start);
        let has_all = self.lineages.insert(from.to_owned(), lineage) == Some(lineage);
        let is_new = before.is_some_and(|before| before != start) && (lineage == 0 || !has_all);
        for named in self.names.values_mut().flatten().filter(|named| named.owner == from) {
            if is_new {
                self.lost += usize::from(!named.is_lost);
                named.is_lost = true;
            } else {
                named.is_unconfirmed = !named.is_lost;
            }
        }
        if is_new {
            for named in self.names.values_mut() {
                self.lost = self.lost.saturating_sub(forget_replaced(named));
            }
        }
        if self.lost > LOST_MAX {
            self.names.retain(|_, named| {
                named.retain(|named| !named.is_lost);
                !named.is_empty()
            });
            self.lost = 0;
        }
    }

    fn drop_unconfirmed(&mut self, from: &str) {
        self.names.retain(|_, named| {
            named.retain(|named| !named.is_unconfirmed || named.owner != from);
            !named.is_empty()
        });
    }

    /// Removes all of a member that has ended and given up its files.
    pub fn bye(&mut self, from: &str) {
        self.forget_blocks(from);
        self.names.retain(|_, named| {
            named.retain(|named| named.owner != from);
            !named.is_empty()
        });
        self.all_by.remove(from);
    }

    /// Returns the members that have a block.
    pub fn places(&self, file: FileId, index: u64) -> Vec<String> {
        self.blocks.get(&(file, index)).cloned().unwrap_or_default()
    }

    /// Returns the state of a path: of several files, the one closed last counts.
    pub fn find(&self, path: &StorePath, lives: impl Fn(&str) -> bool) -> NameState {
        let named = self.names.get(path).into_iter().flatten();
        match named.max_by_key(|named| (named.file.closed_ns, !named.is_lost, named.file.id)) {
            None => NameState::Nothing,
            Some(named) if named.is_lost || !lives(&named.owner) => {
                NameState::Lost { owner: named.owner.clone(), closed_ns: named.file.closed_ns }
            }
            Some(named) => {
                NameState::Alone { owner: named.owner.clone(), file: named.file.clone() }
            }
        }
    }

    /// Returns the files of live members at a path, without the one that was closed last.
    pub fn older(&self, path: &StorePath, lives: impl Fn(&str) -> bool) -> Vec<(String, FileId)> {
        let named = self.names.get(path).into_iter().flatten();
        let mut named: Vec<&Named> =
            named.filter(|named| !named.is_lost && lives(&named.owner)).collect();
        named.sort_unstable_by_key(|named| named.file.order());
        named.pop();
        named.into_iter().map(|named| (named.owner.clone(), named.file.id)).collect()
    }

    /// Forgets files of dead members at a path.
    pub fn clear(&mut self, path: &StorePath, lives: impl Fn(&str) -> bool) {
        let named = self.names.get(path).into_iter().flatten();
        let dead = named.filter(|named| !named.is_lost && !lives(&named.owner));
        for owner in dead.map(|named| named.owner.clone()).collect::<Vec<_>>() {
            self.all_by.remove(&owner);
            self.forgotten.insert(owner);
        }
        self.retain(path, |named| !named.is_lost && lives(&named.owner));
    }

    /// Returns whether this lacks a part of the state that a member takes for published: a file was
    /// forgotten, or the member does not know yet that this directory was started again.
    pub fn lacks(&self, member: &str) -> bool {
        self.forgotten.contains(member) || !self.starts.contains_key(member)
    }

    /// Returns whether the state of all of these members is complete by this view.
    pub fn is_complete<'a>(&self, mut members: impl Iterator<Item = &'a str>, view: u64) -> bool {
        members.all(|member| self.all_by.get(member) == Some(&view))
    }

    /// Returns whether any memory-only file has been published here.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns the number of blocks with known holders.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    fn retain(&mut self, path: &StorePath, is_retained: impl Fn(&Named) -> bool) {
        if let Some(named) = self.names.get_mut(path) {
            let lost = |named: &[Named]| named.iter().filter(|named| named.is_lost).count();
            let before = lost(named);
            named.retain(is_retained);
            self.lost = self.lost.saturating_sub(before - lost(named));
            if named.is_empty() {
                self.names.remove(path);
            }
        }
    }

    fn remove_holder(&mut self, block: (FileId, u64), from: &str) {
        if let Some(places) = self.blocks.get_mut(&block) {
            places.retain(|place| place != from);
            if places.is_empty() {
                self.blocks.remove(&block);
            }
        }
    }

    fn forget_blocks(&mut self, from: &str) {
        self.blocks.retain(|_, places| {
            places.retain(|place| place != from);
            !places.is_empty()
        });
    }
}

/// Forgets lost files of a path that a later file has replaced; returns their number. Otherwise
/// they would appear again once the later file is on the under level or removed.
fn forget_replaced(named: &mut Vec<Named>) -> usize {
    let before = named.len();
    let last = named.iter().filter(|named| !named.is_lost).map(|named| named.file.order()).max();
    named.retain(|named| !named.is_lost || last.is_none_or(|last| named.file.order() > last));
    before - named.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::under::UnderVersion;

    fn alone(path: &str, owner: &str, closed_ns: i64) -> AloneFile {
        let version = UnderVersion {
            device: 0,
            inode: 1,
            size_bytes: 5,
            modified_ns: closed_ns,
            changed_ns: closed_ns,
        };
        let id = FileId::of_alone(owner, &version);
        AloneFile { path: path.parse().unwrap(), id, size_bytes: 5, closed_ns, permissions: 0o600 }
    }

    fn names(files: &[AloneFile]) -> DirectoryUpdate {
        DirectoryUpdate { names: files.to_vec(), all_by: Some(1), ..DirectoryUpdate::default() }
    }

    fn first() -> DirectoryUpdate {
        DirectoryUpdate { is_first: true, start: 7, ..names(&[]) }
    }

    const ALL: fn(&str) -> bool = |_| true;

    #[test]
    fn a_block_is_at_the_members_that_published_it() {
        let mut directory = Directory::default();
        let (file, update) = (alone("a", "x", 1).id, |added: &[(FileId, u64)]| DirectoryUpdate {
            added: added.to_vec(),
            ..DirectoryUpdate::default()
        });
        directory.apply("x", update(&[(file, 0), (file, 1)]));
        directory.apply("y", update(&[(file, 1), (file, 1)]));
        assert_eq!(directory.places(file, 1), ["x", "y"]);
        let removed =
            DirectoryUpdate { removed: vec![(file, 1), (file, 7)], ..DirectoryUpdate::default() };
        directory.apply("x", removed);
        assert_eq!(
            (directory.places(file, 1), directory.places(file, 0).len()),
            (vec!["y".into()], 1)
        );
        directory.apply("x", DirectoryUpdate { is_first: true, ..DirectoryUpdate::default() });
        directory.bye("y");
        assert_eq!(directory.blocks(), 0);
    }

    #[test]
    fn the_file_closed_last_counts_and_the_other_owner_learns_of_it() {
        let mut directory = Directory::default();
        let path: StorePath = "a".parse().unwrap();
        let (old, new) = (alone("a", "x", 1), alone("a", "y", 2));
        assert!(directory.apply("y", names(std::slice::from_ref(&new))).is_empty());
        let id = old.id;
        assert_eq!(directory.apply("x", names(&[old])), [(path.clone(), id)]);
        let newest = NameState::Alone { owner: "y".into(), file: new };
        assert_eq!(directory.find(&path, ALL), newest);
        // The older file of a live member does not count.
        let lost = NameState::Lost { owner: "y".into(), closed_ns: 2 };
        assert_eq!(directory.find(&path, |owner| owner != "y"), lost);
        directory.clear(&path, |owner| owner != "y");
        assert!(
            matches!(directory.find(&path, ALL), NameState::Alone { owner, .. } if owner == "x")
        );
    }

    /// A file that was lost with its store was replaced by a later one, and was reported as lost
    /// again, for ever, once that one had been flushed. Checked histories found it.
    #[test]
    fn a_lost_file_that_was_replaced_does_not_show_again() {
        let path: StorePath = "a".parse().unwrap();
        let (old, new) = (alone("a", "x", 1), alone("a", "y", 2));
        let restart = |directory: &mut Directory| {
            directory.apply("x", DirectoryUpdate { is_first: true, start: 8, ..names(&[]) });
        };
        for is_replaced_first in [true, false] {
            let mut directory = Directory::default();
            let first = DirectoryUpdate { is_first: true, start: 7, ..DirectoryUpdate::default() };
            directory.apply("x", DirectoryUpdate { names: vec![old.clone()], ..first });
            if !is_replaced_first {
                restart(&mut directory);
                assert!(matches!(directory.find(&path, ALL), NameState::Lost { .. }));
            }
            directory.name("y", &path, Some(new.clone()));
            if is_replaced_first {
                restart(&mut directory);
            }
            directory.name("y", &path, None);
            assert_eq!((directory.find(&path, ALL), directory.lost), (NameState::Nothing, 0));
        }
    }

    /// A directory that had just started received one name before the complete state: once the file
    /// was removed, it was reported as lost, for ever. Checked histories found it.
    #[test]
    fn a_name_before_the_first_list_of_names_is_not_lost() {
        let mut directory = Directory::default();
        directory.name("x", &"a".parse().unwrap(), Some(alone("a", "x", 1)));
        directory.apply("x", DirectoryUpdate { is_first: true, start: 7, ..names(&[]) });
        assert_eq!(directory.find(&"a".parse().unwrap(), ALL), NameState::Nothing);
    }

    /// A member that was cut off was taken for dead, and a file of it was forgotten as a later one
    /// was written; back again, it published nothing, as nothing had changed, and the directory
    /// took itself for complete without the file. Checked histories found it.
    #[test]
    fn a_member_of_which_a_file_was_forgotten_publishes_all_again() {
        let mut directory = Directory::default();
        let path: StorePath = "a".parse().unwrap();
        let first = DirectoryUpdate { is_first: true, start: 7, ..DirectoryUpdate::default() };
        let all = DirectoryUpdate { all_by: Some(1), names: vec![alone("a", "x", 1)], ..first };
        directory.apply("x", all.clone());
        directory.clear(&path, |owner| owner != "x");
        let is_complete = |directory: &Directory| directory.is_complete(["x"].into_iter(), 1);
        assert!(directory.lacks("x") && !is_complete(&directory));
        directory.apply("x", DirectoryUpdate { start: 7, ..names(&[]) });
        assert!(directory.lacks("x") && !is_complete(&directory));
        directory.apply("x", all);
        assert!(!directory.lacks("x") && is_complete(&directory));
        assert!(matches!(directory.find(&path, ALL), NameState::Alone { .. }));
    }

    /// An update was sent while the network was cut, and its member gave it up; the system
    /// delivered it once the network was whole, after later ones: a renamed file was there again,
    /// and stayed. Checked histories found it.
    #[test]
    fn an_update_that_arrives_after_a_later_one_is_ignored() {
        let mut directory = Directory::default();
        assert!(directory.is_current("x", 7, 1) && directory.is_current("x", 7, 3));
        assert!(directory.is_current("x", 7, 3) && directory.is_current("y", 7, 1));
        assert!(!directory.is_current("x", 7, 2));
        assert!(directory.is_current("x", 8, 1));
        assert!(!directory.is_current("x", 7, 4) && directory.is_current("x", 8, 1));
    }

    /// A member that had not noticed yet that the store of a directory was started again published
    /// differences, and the new directory took itself for complete. Checked histories found it.
    #[test]
    fn a_directory_that_was_started_again_is_incomplete_until_all_is_published() {
        let mut directory = Directory::default();
        directory.apply("x", names(&[]));
        assert!(directory.lacks("x") && !directory.is_complete(["x"].into_iter(), 1));
        directory.apply("x", first());
        assert!(!directory.lacks("x") && directory.is_complete(["x"].into_iter(), 1));
    }

    /// By a clock that was set to tomorrow and back, two files that replace one have the same time:
    /// neither lost its name, and each store read its own for ever. Checked histories found it.
    #[test]
    fn all_members_order_files_of_equal_times_alike() {
        let path: StorePath = "a".parse().unwrap();
        let files = [alone("a", "x", 5), alone("a", "y", 5)];
        let mut results = Vec::new();
        for order in [[0, 1], [1, 0]] {
            let mut directory = Directory::default();
            let mut superseded = Vec::new();
            for index in order {
                let owner = ["x", "y"][index];
                directory.name(owner, &path, Some(files[index].clone()));
                for (index, owner) in ["x", "y"].into_iter().enumerate() {
                    superseded = directory.superseded(owner, &files[index..=index]);
                    if !superseded.is_empty() {
                        break;
                    }
                }
            }
            assert_eq!(superseded.len(), 1);
            let older = directory.older(&path, ALL);
            assert_eq!(older.len(), 1);
            assert_eq!(older[0].1, superseded[0].1);
            results.push((directory.find(&path, ALL), older));
        }
        assert_eq!(results[0], results[1]);
    }

    #[test]
    fn a_file_that_a_member_does_not_publish_again_after_its_start_is_lost() {
        let mut directory = Directory::default();
        let first = DirectoryUpdate { is_first: true, start: 1, ..DirectoryUpdate::default() };
        let files = [alone("a", "x", 1), alone("b", "x", 1)];
        directory.apply("x", DirectoryUpdate { names: files.to_vec(), all_by: Some(1), ..first });
        let again = DirectoryUpdate { is_first: true, start: 2, ..names(&[alone("b", "x", 1)]) };
        directory.apply("x", again);
        let find = |directory: &Directory, path: &str| directory.find(&path.parse().unwrap(), ALL);
        assert_eq!(find(&directory, "a"), NameState::Lost { owner: "x".into(), closed_ns: 1 });
        assert!(matches!(find(&directory, "b"), NameState::Alone { .. }));
        directory.bye("x");
        assert_eq!(find(&directory, "a"), NameState::Nothing);
    }

    /// A file that was removed while a directory was cut off from its owner was reported as lost
    /// afterwards, for ever: the owner published its complete state again, as after a start.
    /// Checked histories found it.
    #[test]
    fn a_file_that_was_removed_while_its_owner_was_cut_off_is_not_lost() {
        let mut directory = Directory::default();
        let first = DirectoryUpdate { is_first: true, start: 7, ..DirectoryUpdate::default() };
        let both = [alone("a", "x", 1), alone("b", "x", 1)];
        directory
            .apply("x", DirectoryUpdate { names: both.to_vec(), all_by: Some(1), ..first.clone() });
        let find = |directory: &Directory, path: &str| directory.find(&path.parse().unwrap(), ALL);
        // The complete state comes in two parts: files that are still missing may come with the
        // second.
        directory.apply("x", first.clone());
        assert!(matches!(find(&directory, "a"), NameState::Alone { .. }));
        directory.apply("x", names(&[alone("b", "x", 1)]));
        assert_eq!(find(&directory, "a"), NameState::Nothing);
        assert!(matches!(find(&directory, "b"), NameState::Alone { .. }));
        // Files that were lost by a start remain lost.
        directory.apply("x", DirectoryUpdate { start: 8, all_by: Some(2), ..first.clone() });
        directory.apply("x", DirectoryUpdate { start: 8, all_by: Some(3), ..first });
        assert!(matches!(find(&directory, "b"), NameState::Lost { .. }));
    }

    /// A store was killed after it had flushed a file, before the directories learned of it. Once
    /// another store had renamed that file, its old name was reported as lost for ever. Checked
    /// histories found it.
    #[test]
    fn a_file_that_was_flushed_before_a_kill_is_not_lost_after_it() {
        let begin = |start, lineage, files: &[AloneFile]| DirectoryUpdate {
            is_first: true,
            start,
            lineage,
            ..names(files)
        };
        for (before, after, is_lost) in [(5, 5, false), (5, 6, true), (0, 0, true), (5, 0, true)] {
            let mut directory = Directory::default();
            directory.apply("x", begin(1, before, &[alone("a", "x", 1), alone("b", "x", 1)]));
            directory.apply("x", begin(2, after, &[alone("b", "x", 1)]));
            let find = |path: &str| directory.find(&path.parse().unwrap(), ALL);
            let lost = NameState::Lost { owner: "x".into(), closed_ns: 1 };
            assert_eq!(find("a"), if is_lost { lost } else { NameState::Nothing });
            assert!(matches!(find("b"), NameState::Alone { .. }));
        }
    }

    /// After a partition the view is the same as before: a directory took itself for complete, and
    /// returned a name that had been renamed meanwhile. Checked histories found it.
    #[test]
    fn it_is_incomplete_after_a_return_until_the_member_publishes_all_again() {
        let mut directory = Directory::default();
        directory.note_return("x", 1);
        directory.apply("x", first());
        directory.note_return("x", 1);
        assert!(directory.is_complete(["x"].into_iter(), 1));
        directory.note_return("x", 2);
        assert!(!directory.is_complete(["x"].into_iter(), 1));
        directory.apply("x", names(&[]));
        assert!(directory.is_complete(["x"].into_iter(), 1));
    }

    #[test]
    fn it_is_complete_once_all_members_have_published_all_by_the_same_view() {
        let mut directory = Directory::default();
        let all = || ["x", "y"].into_iter();
        directory.apply("x", first());
        assert!(!directory.is_complete(all(), 1));
        directory.apply("y", first());
        assert!(directory.is_complete(all(), 1) && !directory.is_complete(all(), 2));
        // The update is not the last one.
        directory.apply("y", DirectoryUpdate::default());
        assert!(!directory.is_complete(all(), 1));
    }
}
