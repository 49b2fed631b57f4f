//! Finding what others have, by the directories and, where these do not know all, by asking each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuesta_runtime::parallel::lock;

use super::Peers;
use super::limits::{ANSWER, REMOTE_MAX, TELL};
use super::members::{Member, View};
use super::message::{AloneFile, FileId, Known, PeerQuestion, PeerReply};
use super::rendezvous::{home, homes, number_of};
use crate::path::StorePath;

/// A file in memory alone, by a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is none elsewhere.
    Nothing,
    /// In the memory of this live member.
    Alone {
        /// The member.
        owner: String,
        /// The file.
        file: AloneFile,
    },
    /// It was, and the member is dead or has lost it.
    Lost {
        /// The member.
        owner: String,
        /// When the file was closed.
        closed_ns: i64,
    },
}

impl Found {
    /// When the file was closed.
    pub(crate) fn closed_ns(&self) -> Option<i64> {
        match self {
            Self::Nothing => None,
            Self::Alone { file, .. } => Some(file.closed_ns),
            Self::Lost { closed_ns, .. } => Some(*closed_ns),
        }
    }
}

impl Peers {
    /// Whose is a file in memory alone of a path, but for this one's own.
    pub(crate) fn find(&self, path: &StorePath) -> Found {
        self.find_by(path, || ANSWER)
    }

    /// As [`find`](Self::find), by those that answer within so long in all.
    pub(crate) fn find_within(&self, path: &StorePath, patience: Duration) -> Found {
        let begun = Instant::now();
        self.find_by(path, || patience.saturating_sub(begun.elapsed()))
    }

    /// The same, where it is asked before each question how long its answer may take.
    fn find_by(&self, path: &StorePath, patience: impl Fn() -> Duration) -> Found {
        let view = self.view();
        if view.live.is_empty() && !self.has_names() {
            return Found::Nothing;
        }
        let mut candidates = Vec::new();
        for place in homes(&view.numbers, number_of(&path.to_string())).into_iter().flatten() {
            let known = self.known_at(&view, place, path, patience());
            let Some((known, all_by)) = known else { continue };
            candidates.push(known);
            if all_by == Some(view.id) {
                return self.found(newest(candidates));
            }
        }
        // Not all have told all: each is asked for its own, and is right about that.
        for member in &view.live {
            let question = PeerQuestion::Own { path: path.clone() };
            let known = member.ask(&question, patience(), |reply, _| reply);
            if let Ok(PeerReply::Known { known, .. }) = known {
                candidates.retain(|known| !known.is_alone_at(&member.name));
                candidates.push(known);
            }
        }
        self.found(newest(candidates))
    }

    /// Whether this one was told of a file at all.
    fn has_names(&self) -> bool {
        lock(&self.directory).has_names()
    }

    fn found(&self, known: Known) -> Found {
        match known {
            // A directory may not have noticed yet that it is dead.
            Known::Alone { owner, file } if !self.lives(&owner) => {
                Found::Lost { owner, closed_ns: file.closed_ns }
            }
            Known::Alone { owner, file } if owner != self.own.name => {
                let mut remote = lock(&self.remote);
                if remote.len() >= REMOTE_MAX {
                    remote.clear();
                }
                let inode = file.id.version(0, 0).inode;
                remote.insert(inode, (owner.clone(), file.id));
                Found::Alone { owner, file }
            }
            Known::Lost { owner, closed_ns } => Found::Lost { owner, closed_ns },
            _ => Found::Nothing,
        }
    }

    /// What the directory of a member knows of a path, and by which view it knows all.
    fn known_at(
        &self,
        view: &View,
        place: usize,
        path: &StorePath,
        patience: Duration,
    ) -> Option<(Known, Option<u64>)> {
        match view.at(place) {
            None => Some(self.known_here(path, view)),
            Some(member) => {
                let question = PeerQuestion::Find { path: path.clone() };
                match member.ask(&question, patience, |reply, _| reply) {
                    Ok(PeerReply::Known { known, all_by }) => Some((known, all_by)),
                    _ => None,
                }
            }
        }
    }

    /// The same of this one.
    pub(super) fn known_here(&self, path: &StorePath, view: &View) -> (Known, Option<u64>) {
        let mut directory = lock(&self.directory);
        for member in &view.live {
            directory.note_returns(&member.name, member.returns());
        }
        let known = directory.find(path, |name| self.lives(name));
        let live = view.live.iter().map(|member| member.name.as_str());
        let is_whole = directory.is_whole(live.chain([self.own.name.as_str()]), view.id);
        (known, is_whole.then_some(view.id))
    }

    /// The steps after a folder of files in the memory of others alone.
    pub(crate) fn inside(&self, folder: &StorePath) -> BTreeMap<String, Option<AloneFile>> {
        let mut found: BTreeMap<String, Option<AloneFile>> = BTreeMap::new();
        for member in self.view().live {
            let question = PeerQuestion::Inside { folder: folder.clone() };
            if let Ok(PeerReply::Steps { steps }) = member.ask(&question, ANSWER, |reply, _| reply)
            {
                for step in steps {
                    let known = found.entry(step.name).or_insert(None);
                    let closed =
                        |file: &Option<AloneFile>| file.as_ref().map(|file| file.closed_ns);
                    if closed(&step.file) > closed(known) {
                        *known = step.file;
                    }
                }
            }
        }
        found
    }

    /// A live member that has a block in memory, the fastest one.
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
                match member.ask(&question, TELL, |reply, _| reply) {
                    Ok(PeerReply::Places { places }) => places.of(0).map(str::to_owned).collect(),
                    _ => vec![],
                }
            }
        };
        let speed = |member: &&Arc<Member>| {
            // One that was never asked is tried.
            lock(&member.rate).bytes_per_s.map_or(u64::MAX, |rate| rate as u64)
        };
        places.iter().filter_map(|name| view.named(name)).max_by_key(speed).cloned()
    }
}

/// Returns what is known of the file of a path that was closed last.
fn newest(candidates: Vec<Known>) -> Known {
    let closed = |known: &Known| match known {
        Known::Nothing => None,
        Known::Alone { file, .. } => Some((file.closed_ns, true)),
        Known::Lost { closed_ns, .. } => Some((*closed_ns, false)),
    };
    candidates.into_iter().max_by_key(closed).unwrap_or(Known::Nothing)
}
