//! Lookup of files and blocks of other members, through the directories and, where these are
//! incomplete, by asking each member.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuesta_runtime::parallel::lock;

use super::Peers;
use super::limits::{ANSWER_TIMEOUT, DIRECTORY_TIMEOUT, REMOTE_MAX};
use super::members::{Member, View};
use super::message::{AloneFile, FileId, NameState, PeerQuestion, PeerReply};
use super::rendezvous::{home, homes, number_of};
use crate::path::StorePath;

/// Result of the lookup of a memory-only file by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameLookup {
    /// No other member has one.
    Nothing,
    /// In the memory of this live member.
    Alone {
        /// The member.
        owner: String,
        /// The file.
        file: AloneFile,
    },
    /// The member that had it is dead or has lost it.
    Lost {
        /// The member.
        owner: String,
        /// Time when the file was closed, in nanoseconds since 1970.
        closed_ns: i64,
    },
}

impl NameLookup {
    /// Returns the time when the file was closed; `None` without a file.
    pub(crate) fn closed_ns(&self) -> Option<i64> {
        match self {
            Self::Nothing => None,
            Self::Alone { file, .. } => Some(file.closed_ns),
            Self::Lost { closed_ns, .. } => Some(*closed_ns),
        }
    }
}

impl Peers {
    /// Looks up a memory-only file of another member.
    pub(crate) fn find(&self, path: &StorePath) -> NameLookup {
        self.find_by(path, || ANSWER_TIMEOUT)
    }

    /// As [`find`](Self::find), among the members that answer within `patience` in total.
    pub(crate) fn find_within(&self, path: &StorePath, patience: Duration) -> NameLookup {
        let begun = Instant::now();
        self.find_by(path, || patience.saturating_sub(begun.elapsed()))
    }

    /// As [`find`](Self::find); `patience` returns the time left, and is called before each
    /// question.
    fn find_by(&self, path: &StorePath, patience: impl Fn() -> Duration) -> NameLookup {
        let view = self.view();
        if view.live.is_empty() && !self.has_names() {
            return NameLookup::Nothing;
        }
        let mut candidates = Vec::new();
        for place in homes(&view.numbers, number_of(&path.to_string())).into_iter().flatten() {
            let state = self.state_at(&view, place, path, patience());
            let Some((state, all_by)) = state else { continue };
            candidates.push(state);
            if all_by == Some(view.id) {
                return self.checked(newest(candidates));
            }
        }
        // The directories are incomplete: each member is asked for its own files, which it knows
        // for certain.
        for member in &view.live {
            let question = PeerQuestion::Own { path: path.clone() };
            let state = member.ask(&question, patience(), |reply, _| reply);
            if let Ok(PeerReply::Known { state, .. }) = state {
                candidates.retain(|state| !state.is_alone_at(&member.name));
                candidates.push(state);
            }
        }
        self.checked(newest(candidates))
    }

    /// Returns whether any memory-only file was published to this member.
    fn has_names(&self) -> bool {
        lock(&self.directory).has_names()
    }

    fn checked(&self, state: NameState) -> NameLookup {
        match state {
            // A directory may not have noticed yet that the member is dead.
            NameState::Alone { owner, file } if !self.lives(&owner) => {
                NameLookup::Lost { owner, closed_ns: file.closed_ns }
            }
            NameState::Alone { owner, file } if owner != self.local.name => {
                let mut remote = lock(&self.remote);
                if remote.len() >= REMOTE_MAX {
                    remote.clear();
                }
                let inode = file.id.version(0, 0).inode;
                remote.insert(inode, (owner.clone(), file.id));
                NameLookup::Alone { owner, file }
            }
            NameState::Lost { owner, closed_ns } => NameLookup::Lost { owner, closed_ns },
            _ => NameLookup::Nothing,
        }
    }

    /// Returns the state of a path in a member's directory, and the view by which that is complete.
    fn state_at(
        &self,
        view: &View,
        place: usize,
        path: &StorePath,
        patience: Duration,
    ) -> Option<(NameState, Option<u64>)> {
        match view.at(place) {
            None => Some(self.state_here(path, view)),
            Some(member) => {
                let question = PeerQuestion::Find { path: path.clone() };
                match member.ask(&question, patience, |reply, _| reply) {
                    Ok(PeerReply::Known { state, all_by }) => Some((state, all_by)),
                    _ => None,
                }
            }
        }
    }

    /// Returns the state of a path in this member's directory, and the view by which that is
    /// complete.
    pub(super) fn state_here(&self, path: &StorePath, view: &View) -> (NameState, Option<u64>) {
        let mut directory = lock(&self.directory);
        for member in &view.live {
            directory.note_returns(&member.name, member.returns());
        }
        let state = directory.find(path, |name| self.lives(name));
        let live = view.live.iter().map(|member| member.name.as_str());
        let is_complete = directory.is_complete(live.chain([self.local.name.as_str()]), view.id);
        (state, is_complete.then_some(view.id))
    }

    /// Returns the names in a folder of memory-only files of other members, and of their folders.
    pub(crate) fn inside(&self, folder: &StorePath) -> BTreeMap<String, Option<AloneFile>> {
        let mut steps_by_name: BTreeMap<String, Option<AloneFile>> = BTreeMap::new();
        for member in self.view().live {
            let question = PeerQuestion::Inside { folder: folder.clone() };
            if let Ok(PeerReply::Steps { steps }) =
                member.ask(&question, ANSWER_TIMEOUT, |reply, _| reply)
            {
                for step in steps {
                    let state = steps_by_name.entry(step.name).or_insert(None);
                    let closed =
                        |file: &Option<AloneFile>| file.as_ref().map(|file| file.closed_ns);
                    if closed(&step.file) > closed(state) {
                        *state = step.file;
                    }
                }
            }
        }
        steps_by_name
    }

    /// Returns the fastest live member that has a block in memory.
    pub(crate) fn locate(&self, file: FileId, index: u64) -> Option<Arc<Member>> {
        let view = self.view();
        if view.live.is_empty() {
            return None;
        }
        let place = home(&view.numbers, file.block(index))?;
        let places = match view.at(place) {
            None => lock(&self.directory).places(file, index),
            Some(member) => {
                let question = PeerQuestion::Where { file, indexes: vec![index] };
                match member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply) {
                    Ok(PeerReply::Places { places }) => places.of(0).map(str::to_owned).collect(),
                    _ => vec![],
                }
            }
        };
        let speed = |member: &&Arc<Member>| {
            // A member without a measurement is tried.
            lock(&member.rate).bytes_per_s.map_or(u64::MAX, |rate| rate as u64)
        };
        places.iter().filter_map(|name| view.named(name)).max_by_key(speed).cloned()
    }
}

/// Returns the state with the file that was closed last.
fn newest(candidates: Vec<NameState>) -> NameState {
    let closed = |state: &NameState| match state {
        NameState::Nothing => None,
        NameState::Alone { file, .. } => Some((file.closed_ns, true)),
        NameState::Lost { closed_ns, .. } => Some((*closed_ns, false)),
    };
    candidates.into_iter().max_by_key(closed).unwrap_or(NameState::Nothing)
}
