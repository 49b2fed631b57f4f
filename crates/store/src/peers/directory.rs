//! Where blocks and files in memory alone are, as members have told it: soft state, which they tell
//! again to another when this member dies. Decisions without I/O.

use std::collections::HashMap;

use super::limits::{BLOCKS_MAX, LOST_MAX};
use super::message::{AloneFile, FileId, Known, Telling};
use crate::path::StorePath;

/// What members have told this one.
#[derive(Debug, Default)]
pub struct Directory {
    blocks: HashMap<(FileId, u64), Vec<String>>,
    names: HashMap<StorePath, Vec<Named>>,
    /// The last known start of each member.
    starts: HashMap<String, u64>,
    /// Number of times that each member came back.
    returns: HashMap<String, u64>,
    /// The view by which each has told all.
    all_by: HashMap<String, u64>,
    /// Names whose owner has come back without them.
    lost: usize,
}

#[derive(Debug)]
struct Named {
    owner: String,
    file: AloneFile,
    /// Its owner was started again, and has not told it since.
    is_lost: bool,
    /// Its owner tells everything again, and has not told it yet.
    is_unconfirmed: bool,
}

impl Directory {
    /// Notes how often a member has come back: what changed while it was dead, it has not told,
    /// even if the view of who lives is the one of before.
    pub fn note_returns(&mut self, member: &str, returns: u64) {
        if self.returns.insert(member.to_owned(), returns) != Some(returns) {
            self.all_by.remove(member);
        }
    }

    /// Takes in what a member tells; files of it that were replaced elsewhere by now.
    pub fn hear(&mut self, from: &str, telling: Telling) -> Vec<(StorePath, FileId)> {
        if telling.is_first {
            self.begin(from, telling.start);
        }
        for block in telling.gone {
            self.leave(block, from);
        }
        for block in telling.here {
            if self.blocks.len() < BLOCKS_MAX || self.blocks.contains_key(&block) {
                let places = self.blocks.entry(block).or_default();
                if !places.iter().any(|place| place == from) {
                    places.push(from.to_owned());
                }
            }
        }
        for path in telling.no_names {
            self.name(from, &path, None);
        }
        let mut superseded = Vec::new();
        for file in telling.names {
            let path = file.path.clone();
            superseded.extend(self.name(from, &path, Some(file)));
        }
        match telling.all_by {
            Some(view) => {
                self.drop_unconfirmed(from);
                self.all_by.insert(from.to_owned(), view)
            }
            None => self.all_by.remove(from),
        };
        superseded
    }

    /// Takes in the file of a path that is in the memory of a member alone; that file, where it was
    /// replaced elsewhere by now.
    pub fn name(
        &mut self,
        from: &str,
        path: &StorePath,
        file: Option<AloneFile>,
    ) -> Option<(StorePath, FileId)> {
        self.retain(path, |named| named.owner != from);
        let file = file?;
        let named = self.names.entry(path.clone()).or_default();
        let is_replaced = named.iter().any(|other| other.file.closed_ns > file.closed_ns);
        let superseded = is_replaced.then(|| (path.clone(), file.id));
        let owner = from.to_owned();
        named.push(Named { owner, file, is_lost: false, is_unconfirmed: false });
        superseded
    }

    /// Files of a member, of these, that lost their names to later ones of other members.
    pub fn superseded(&self, from: &str, files: &[AloneFile]) -> Vec<(StorePath, FileId)> {
        let is_later = |named: &Named, file: &AloneFile| {
            named.owner != from && !named.is_lost && named.file.closed_ns > file.closed_ns
        };
        let files = files.iter().filter(|file| {
            let named = self.names.get(&file.path);
            named.is_some_and(|named| named.iter().any(|named| is_later(named, file)))
        });
        files.map(|file| (file.path.clone(), file.id)).collect()
    }

    /// A member tells everything that it has. After a new start, what it had is lost until it is
    /// told again; without one, what is not told again was removed meanwhile.
    fn begin(&mut self, from: &str, start: u64) {
        self.forget_blocks(from);
        let is_new = self.starts.insert(from.to_owned(), start) != Some(start);
        for named in self.names.values_mut().flatten().filter(|named| named.owner == from) {
            if is_new {
                self.lost += usize::from(!named.is_lost);
                named.is_lost = true;
            } else {
                named.is_unconfirmed = !named.is_lost;
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

    /// A member ends, and has given up what it had.
    pub fn bye(&mut self, from: &str) {
        self.forget_blocks(from);
        self.names.retain(|_, named| {
            named.retain(|named| named.owner != from);
            !named.is_empty()
        });
        self.all_by.remove(from);
    }

    /// Who has a block.
    pub fn places(&self, file: FileId, index: u64) -> Vec<String> {
        self.blocks.get(&(file, index)).cloned().unwrap_or_default()
    }

    /// What is known of a path: of several files the one that was closed last counts.
    pub fn find(&self, path: &StorePath, lives: impl Fn(&str) -> bool) -> Known {
        let named = self.names.get(path).into_iter().flatten();
        match named.max_by_key(|named| (named.file.closed_ns, !named.is_lost)) {
            None => Known::Nothing,
            Some(named) if named.is_lost || !lives(&named.owner) => {
                Known::Lost { owner: named.owner.clone(), closed_ns: named.file.closed_ns }
            }
            Some(named) => Known::Alone { owner: named.owner.clone(), file: named.file.clone() },
        }
    }

    /// Forgets files of dead members under a name.
    pub fn clear(&mut self, path: &StorePath, lives: impl Fn(&str) -> bool) {
        self.retain(path, |named| !named.is_lost && lives(&named.owner));
    }

    /// Whether all of these members have told all by this view of who lives.
    pub fn is_whole<'a>(&self, mut members: impl Iterator<Item = &'a str>, view: u64) -> bool {
        members.all(|member| self.all_by.get(member) == Some(&view))
    }

    /// Whether it was told of any file in memory alone.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// How many blocks it has places of.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    fn retain(&mut self, path: &StorePath, keeps: impl Fn(&Named) -> bool) {
        if let Some(named) = self.names.get_mut(path) {
            let lost = |named: &[Named]| named.iter().filter(|named| named.is_lost).count();
            let before = lost(named);
            named.retain(keeps);
            self.lost = self.lost.saturating_sub(before - lost(named));
            if named.is_empty() {
                self.names.remove(path);
            }
        }
    }

    fn leave(&mut self, block: (FileId, u64), from: &str) {
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

    fn names(files: &[AloneFile]) -> Telling {
        Telling { names: files.to_vec(), all_by: Some(1), ..Telling::default() }
    }

    const ALL: fn(&str) -> bool = |_| true;

    #[test]
    fn blocks_are_where_they_were_told_to_be() {
        let mut directory = Directory::default();
        let (file, told) = (alone("a", "x", 1).id, |here: &[(FileId, u64)]| Telling {
            here: here.to_vec(),
            ..Telling::default()
        });
        directory.hear("x", told(&[(file, 0), (file, 1)]));
        directory.hear("y", told(&[(file, 1), (file, 1)]));
        assert_eq!(directory.places(file, 1), ["x", "y"]);
        let gone = Telling { gone: vec![(file, 1), (file, 7)], ..Telling::default() };
        directory.hear("x", gone);
        assert_eq!(
            (directory.places(file, 1), directory.places(file, 0).len()),
            (vec!["y".into()], 1)
        );
        directory.hear("x", Telling { is_first: true, ..Telling::default() });
        directory.bye("y");
        assert_eq!(directory.blocks(), 0);
    }

    #[test]
    fn the_file_closed_last_counts_and_the_other_owner_is_told() {
        let mut directory = Directory::default();
        let path: StorePath = "a".parse().unwrap();
        let (old, new) = (alone("a", "x", 1), alone("a", "y", 2));
        assert!(directory.hear("y", names(std::slice::from_ref(&new))).is_empty());
        let id = old.id;
        assert_eq!(directory.hear("x", names(&[old])), [(path.clone(), id)]);
        let found = Known::Alone { owner: "y".into(), file: new };
        assert_eq!(directory.find(&path, ALL), found);
        // Not the older one of a member that lives.
        let lost = Known::Lost { owner: "y".into(), closed_ns: 2 };
        assert_eq!(directory.find(&path, |owner| owner != "y"), lost);
        directory.clear(&path, |owner| owner != "y");
        assert!(matches!(directory.find(&path, ALL), Known::Alone { owner, .. } if owner == "x"));
    }

    #[test]
    fn what_a_member_does_not_tell_again_after_its_start_is_lost() {
        let mut directory = Directory::default();
        directory.hear("x", names(&[alone("a", "x", 1), alone("b", "x", 1)]));
        let again = Telling { is_first: true, start: 2, ..names(&[alone("b", "x", 1)]) };
        directory.hear("x", again);
        let find = |directory: &Directory, path: &str| directory.find(&path.parse().unwrap(), ALL);
        assert_eq!(find(&directory, "a"), Known::Lost { owner: "x".into(), closed_ns: 1 });
        assert!(matches!(find(&directory, "b"), Known::Alone { .. }));
        directory.bye("x");
        assert_eq!(find(&directory, "a"), Known::Nothing);
    }

    /// A file that was removed while a directory was cut off from its owner was told as lost
    /// afterwards, for ever: the owner told everything again, as after a start. Checked histories
    /// found it.
    #[test]
    fn a_file_that_was_removed_while_its_owner_was_cut_off_is_not_lost() {
        let mut directory = Directory::default();
        let first = Telling { is_first: true, start: 7, ..Telling::default() };
        let both = [alone("a", "x", 1), alone("b", "x", 1)];
        directory.hear("x", Telling { names: both.to_vec(), all_by: Some(1), ..first.clone() });
        let find = |directory: &Directory, path: &str| directory.find(&path.parse().unwrap(), ALL);
        // Everything again, in two parts: what is not told yet may still come.
        directory.hear("x", first.clone());
        assert!(matches!(find(&directory, "a"), Known::Alone { .. }));
        directory.hear("x", names(&[alone("b", "x", 1)]));
        assert_eq!(find(&directory, "a"), Known::Nothing);
        assert!(matches!(find(&directory, "b"), Known::Alone { .. }));
        // What was lost by a start stays lost.
        directory.hear("x", Telling { start: 8, all_by: Some(2), ..first.clone() });
        directory.hear("x", Telling { start: 8, all_by: Some(3), ..first });
        assert!(matches!(find(&directory, "b"), Known::Lost { .. }));
    }

    /// After a partition the view of who lives is the one of before: a directory held itself for
    /// complete, and gave a name that was renamed meanwhile. Checked histories found it.
    #[test]
    fn it_is_incomplete_after_a_return_until_the_member_repeats_all() {
        let mut directory = Directory::default();
        directory.note_returns("x", 1);
        directory.hear("x", names(&[]));
        directory.note_returns("x", 1);
        assert!(directory.is_whole(["x"].into_iter(), 1));
        directory.note_returns("x", 2);
        assert!(!directory.is_whole(["x"].into_iter(), 1));
        directory.hear("x", names(&[]));
        assert!(directory.is_whole(["x"].into_iter(), 1));
    }

    #[test]
    fn it_is_whole_once_all_have_told_all_by_one_view() {
        let mut directory = Directory::default();
        let all = || ["x", "y"].into_iter();
        directory.hear("x", names(&[]));
        assert!(!directory.is_whole(all(), 1));
        directory.hear("y", names(&[]));
        assert!(directory.is_whole(all(), 1) && !directory.is_whole(all(), 2));
        // More is to come.
        directory.hear("y", Telling::default());
        assert!(!directory.is_whole(all(), 1));
    }
}
