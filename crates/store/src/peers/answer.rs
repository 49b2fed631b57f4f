//! Replies to the questions of other members.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use cuesta_core::error::ErrorKind as Kind;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::frame::{Direction, parsed};
use super::handshake;
use super::limits::{HANDSHAKE_TIMEOUT, IDLE, IDLE_LOOK, PIECE_BYTES};
use super::link::PatientStream;
use super::lookup::PathAnswer;
use super::message::{DirectoryUpdate, FolderStep, NameState, PeerQuestion, PeerReply};
use super::refusals::RefusalReason;
use super::{OPERATION, Peers};
use crate::path::StorePath;
use crate::sharing::{FileId, LocalStore, RemoteStores};

/// The other end of a connection.
#[derive(Default)]
struct Caller {
    name: String,
    has_greeted: bool,
    /// Number of its last return when it greeted.
    last_return: u64,
}

impl Peers {
    /// Runs the handshake, then replies to questions until the connection ends. Runs in a thread
    /// of its own.
    pub fn converse(self: &Arc<Self>, store: &dyn LocalStore, stream: &TcpStream) {
        let address =
            stream.peer_addr().map_or("unknown".to_owned(), |address| address.to_string());
        let Err(error) = self.answer_all(store, stream) else { return };
        if !self.has_ended() {
            self.refusals.add(&address, &error);
        }
    }

    fn answer_all(self: &Arc<Self>, store: &dyn LocalStore, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let address = stream.peer_addr()?.ip();
        let number = self.pending.admit(address, stream.try_clone()?);
        let begun = Instant::now();
        let keys = self.local.secret.keys();
        let mut patient =
            PatientStream::new(stream, || begun.elapsed() < HANDSHAKE_TIMEOUT, || ())?;
        let accepted = handshake::accept(&mut patient, &keys, self.name());
        self.pending.remove_pending(number);
        let session = accepted?;
        let mut receives = Direction::new(session.of_dialler);
        let mut sends = Direction::new(session.of_acceptor);
        let mut caller = Caller { name: session.from, ..Caller::default() };
        loop {
            // Hundreds of idle connections must not occupy memory.
            let mut payload = Vec::new();
            let waiting_since = Instant::now();
            let keep_waiting = || !self.has_ended() && waiting_since.elapsed() < IDLE;
            let mut patient = PatientStream::polling(stream, IDLE_LOOK, keep_waiting, || ())?;
            let text = match receives.receive(&mut patient, &mut payload) {
                Ok(Some(text)) => text,
                Ok(None) => return Ok(()),
                // The connection was idle for long, or an end of it has closed.
                Err(error) if is_end(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            if !self.local.secret.keys().iter().any(|key| key.id == session.key) {
                let text = "its secret is not one of the job any more";
                return Err(RefusalReason::OtherSecret.error(text));
            }
            payload.clear();
            let question: PeerQuestion = parsed(&text)?;
            if self.is_outdated(&caller, &question) {
                // It sends all again, over a new connection.
                return Ok(());
            }
            let reply = self.answer(store, &mut caller, question, &mut payload);
            let reply = reply.unwrap_or_else(|error| refused(&error));
            let answered = Instant::now();
            let keep_waiting = || !self.has_ended() && answered.elapsed() < IDLE;
            let mut patient = PatientStream::polling(stream, IDLE_LOOK, keep_waiting, || ())?;
            if sends.send(&mut patient, &reply, &payload).is_err() {
                // The other end has closed the connection, or does not read.
                return Ok(());
            }
        }
    }

    fn answer(
        self: &Arc<Self>,
        store: &dyn LocalStore,
        caller: &mut Caller,
        question: PeerQuestion,
        payload: &mut Vec<u8>,
    ) -> Result<PeerReply> {
        if let PeerQuestion::Hello { .. } = question {
            caller.has_greeted = true;
            caller.last_return = self.note_caller(caller);
            let super::LocalMember { incarnation, block_bytes, .. } = *self.local;
            return Ok(PeerReply::Welcome { incarnation, block_bytes });
        }
        if !caller.has_greeted {
            return Err(Error::input(OPERATION, "a connection begins with hello"));
        }
        match question {
            PeerQuestion::Tell { update } => Ok(self.apply_update(caller, update)),
            PeerQuestion::Name { path, file, start, number } => {
                let mut names = lock(&self.directory);
                let is_current = names.is_current(&caller.name, start, number);
                let replaced = is_current.then(|| names.name(&caller.name, &path, file));
                Ok(acknowledged(replaced.into_iter().flatten().collect()))
            }
            PeerQuestion::Later { files } => {
                Ok(acknowledged(lock(&self.directory).superseded(&caller.name, &files)))
            }
            PeerQuestion::Where { file, indexes } => {
                self.where_are(file, &indexes).map(|places| PeerReply::Places { places })
            }
            PeerQuestion::Find { path } => {
                let PathAnswer { state, older, all_by } = self.state_here(&path, &self.view());
                Ok(PeerReply::Known { state, all_by, older })
            }
            PeerQuestion::Own { path } => {
                let file = store.local_alone_file(self.name(), &path);
                let alone = |file| NameState::Alone { owner: self.name().to_owned(), file };
                let state = file.map_or(NameState::Nothing, alone);
                Ok(PeerReply::Known { state, all_by: None, older: vec![] })
            }
            PeerQuestion::Inside { folder } => {
                let inside = store.local_alone_inside(self.name(), &folder).into_iter();
                let steps = inside.map(|(name, file)| FolderStep { name, file }).collect();
                Ok(PeerReply::Steps { steps })
            }
            PeerQuestion::Read { file, index, offset, bytes } => {
                payload.resize(piece_bytes(bytes)?, 0);
                let Some(checksum) = store.peer_piece((file, index), payload, offset)? else {
                    payload.clear();
                    return Ok(PeerReply::Absent);
                };
                self.count_served(caller, offset, bytes);
                Ok(PeerReply::Piece { checksum })
            }
            PeerQuestion::Bye => Ok(self.end_member(caller)),
            PeerQuestion::Replaces { path, file } => Ok(yes_or_no(store.replaces(&path, file))),
            PeerQuestion::Wrote { path, version, file } => {
                Ok(yes_or_no(store.wrote(&path, &version, file)))
            }
            PeerQuestion::Clear { path } => {
                self.clear_here(&path);
                Ok(PeerReply::Done)
            }
            question => match question.file_change() {
                Some(change) => store.change(change).map(PeerReply::from),
                None => Ok(PeerReply::Done),
            },
        }
    }

    /// Counts bytes of a block that a caller is sent.
    fn count_served(&self, caller: &Caller, offset: u64, bytes: u32) {
        self.served.add(offset, bytes.into());
        if let Some(member) = self.member(&caller.name) {
            member.served.add(offset, bytes.into());
        }
    }

    /// Records that a caller lives; returns the number of its last return.
    fn note_caller(&self, caller: &Caller) -> u64 {
        self.member(&caller.name).map_or(0, |member| {
            member.note_alive();
            member.last_return()
        })
    }

    /// Returns whether this is an update that was sent before the caller was last taken for dead.
    /// The network may deliver it when a partition is over; it lacks what changed meanwhile.
    fn is_outdated(&self, caller: &Caller, question: &PeerQuestion) -> bool {
        matches!(question, PeerQuestion::Tell { .. })
            && caller.has_greeted
            && self.note_caller(caller) != caller.last_return
    }

    /// Applies a member's update.
    fn apply_update(&self, caller: &Caller, update: DirectoryUpdate) -> PeerReply {
        let mut directory = lock(&self.directory);
        directory.note_return(&caller.name, caller.last_return);
        let superseded = match directory.is_current(&caller.name, update.start, update.number) {
            true => directory.apply(&caller.name, update),
            false => vec![],
        };
        PeerReply::Heard { superseded, again: directory.lacks(&caller.name) }
    }

    /// Removes a member that ends.
    fn end_member(&self, caller: &Caller) -> PeerReply {
        lock(&self.directory).bye(&caller.name);
        if let Some(member) = self.member(&caller.name) {
            member.mark_left();
        }
        PeerReply::Done
    }
}

/// Returns the size of a piece of a block; an error where it exceeds that of a reply.
fn piece_bytes(bytes: u32) -> Result<usize> {
    let size_bytes = bytes as usize;
    if size_bytes > PIECE_BYTES {
        let text = format!("{bytes} bytes are more than {PIECE_BYTES} at once");
        return Err(Error::input(OPERATION, text));
    }
    Ok(size_bytes)
}

/// Returns the reply to a yes-or-no question.
fn yes_or_no(is_yes: bool) -> PeerReply {
    if is_yes { PeerReply::Done } else { PeerReply::Absent }
}

fn refused(error: &Error) -> PeerReply {
    let is_input = error.kind == Kind::Input;
    PeerReply::Refused { error: error.sentence(), is_input, errno: error.errno }
}

fn is_end(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionReset, TimedOut, UnexpectedEof};
    matches!(error.kind(), TimedOut | UnexpectedEof | ConnectionReset)
}

/// Returns the reply to a member that need not send its complete state again.
fn acknowledged(superseded: Vec<(StorePath, FileId)>) -> PeerReply {
    PeerReply::Heard { superseded, again: false }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;
    use crate::peers::PeerOptions;

    const COLLEAGUE: &str = "127.0.0.1:9";

    fn peers(folder: &std::path::Path) -> Arc<Peers> {
        let secret = folder.join("secret");
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&secret);
        io::Write::write_all(&mut file.unwrap(), &[b'a'; 64]).unwrap();
        let options = PeerOptions {
            listen: "127.0.0.1:0".into(),
            members: vec![COLLEAGUE.into()],
            members_file: None,
            secret,
        };
        let (peers, _) = Peers::open(&options, 4096, folder, 0).unwrap();
        peers.watch();
        peers
    }

    /// An update that waited in the network during a partition arrived after it, and made a
    /// directory complete that lacked the changes since: the file before a write was read. A
    /// checked history found it.
    #[test]
    fn an_update_from_before_a_partition_is_outdated() {
        let folder = tempfile::tempdir().unwrap();
        let peers = peers(folder.path());
        let greeted =
            |last_return| Caller { name: COLLEAGUE.into(), has_greeted: true, last_return };
        let update = PeerQuestion::Tell { update: DirectoryUpdate::default() };
        let before = greeted(peers.note_caller(&greeted(0)));
        assert!(!peers.is_outdated(&before, &update));
        peers.member(COLLEAGUE).unwrap().mark_left();
        assert!(peers.is_outdated(&before, &update));
        assert!(!peers.is_outdated(&before, &PeerQuestion::Ping));
    }
}
