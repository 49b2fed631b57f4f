//! What another member is answered.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use cuesta_core::error::ErrorKind as Kind;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::frame::{Direction, parsed};
use super::handshake;
use super::limits::{HANDSHAKE, IDLE, IDLE_LOOK, PIECE_BYTES};
use super::link::Patient;
use super::message::{FolderStep, Known, PeerQuestion, PeerReply, Telling};
use super::refusals::RefusalReason;
use super::{OPERATION, Peers};
use crate::store::Store;

/// Who asks on a connection.
#[derive(Default)]
struct Caller {
    name: String,
    has_said_hello: bool,
}

impl Peers {
    /// Has who connected prove itself, then answers it until it ends. For a thread of its own.
    pub fn converse(self: &Arc<Self>, store: &Store, stream: &TcpStream) {
        let address = stream.peer_addr().map_or("unknown".to_owned(), |found| found.to_string());
        let Err(error) = self.answer_all(store, stream) else { return };
        if !self.has_ended() {
            self.refusals.add(&address, &error);
        }
    }

    fn answer_all(self: &Arc<Self>, store: &Store, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let address = stream.peer_addr()?.ip();
        let number = self.pending.admit(address, stream.try_clone()?);
        let begun = Instant::now();
        let keys = self.own.secret.keys();
        let mut patient = Patient::new(stream, || begun.elapsed() < HANDSHAKE, || ())?;
        let accepted = handshake::accept(&mut patient, &keys, self.name());
        self.pending.leave(number);
        let session = accepted?;
        let mut receives = Direction::new(session.of_dialler);
        let mut sends = Direction::new(session.of_acceptor);
        let mut caller = Caller { name: session.from, has_said_hello: false };
        loop {
            // Hundreds of idle connections are to have no memory.
            let mut payload = Vec::new();
            let asked = Instant::now();
            let waits = || !self.has_ended() && asked.elapsed() < IDLE;
            let mut patient = Patient::looking(stream, IDLE_LOOK, waits, || ())?;
            let text = match receives.receive(&mut patient, &mut payload) {
                Ok(Some(text)) => text,
                Ok(None) => return Ok(()),
                // It was not used for long, or this store ends, or the other has ended.
                Err(error) if is_end(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            if !self.own.secret.keys().iter().any(|key| key.id == session.key) {
                let text = "its secret is not one of the job any more";
                return Err(RefusalReason::OtherSecret.error(text));
            }
            payload.clear();
            let question: PeerQuestion = parsed(&text)?;
            let reply = self.answer(store, &mut caller, question, &mut payload);
            let reply = reply.unwrap_or_else(|error| refused(&error));
            let answered = Instant::now();
            let waits = || !self.has_ended() && answered.elapsed() < IDLE;
            let mut patient = Patient::looking(stream, IDLE_LOOK, waits, || ())?;
            if sends.send(&mut patient, &reply, &payload).is_err() {
                // It has ended, or does not take it.
                return Ok(());
            }
        }
    }

    fn answer(
        self: &Arc<Self>,
        store: &Store,
        caller: &mut Caller,
        question: PeerQuestion,
        payload: &mut Vec<u8>,
    ) -> Result<PeerReply> {
        if let PeerQuestion::Hello { .. } = question {
            caller.has_said_hello = true;
            let super::Own { incarnation, block_bytes, .. } = *self.own;
            return Ok(PeerReply::Welcome { incarnation, block_bytes });
        }
        if !caller.has_said_hello {
            return Err(Error::input(OPERATION, "a connection begins with hello"));
        }
        match question {
            PeerQuestion::Tell { telling } => Ok(self.take_in(caller, telling)),
            PeerQuestion::Name { path, file } => {
                let superseded = lock(&self.directory).name(&caller.name, &path, file);
                Ok(PeerReply::Heard { superseded: Vec::from_iter(superseded) })
            }
            PeerQuestion::Later { files } => {
                let superseded = lock(&self.directory).superseded(&caller.name, &files);
                Ok(PeerReply::Heard { superseded })
            }
            PeerQuestion::Where { file, indexes } => {
                self.where_are(file, &indexes).map(|places| PeerReply::Places { places })
            }
            PeerQuestion::Find { path } => {
                let (known, all_by) = self.known_here(&path, &self.view());
                Ok(PeerReply::Known { known, all_by })
            }
            PeerQuestion::Own { path } => {
                let file = store.own_alone(self.name(), &path);
                let owner = self.name().to_owned();
                let known = file.map_or(Known::Nothing, |file| Known::Alone { owner, file });
                Ok(PeerReply::Known { known, all_by: None })
            }
            PeerQuestion::Inside { folder } => {
                let steps = store.own_inside(self.name(), &folder).into_iter();
                Ok(PeerReply::Steps {
                    steps: steps.map(|(name, file)| FolderStep { name, file }).collect(),
                })
            }
            PeerQuestion::Read { file, index, offset, bytes } => {
                if bytes as usize > PIECE_BYTES {
                    let text = format!("{bytes} bytes are more than {PIECE_BYTES} at once");
                    return Err(Error::input(OPERATION, text));
                }
                payload.resize(bytes as usize, 0);
                let Some(checksum) = store.peer_piece((file, index), payload, offset)? else {
                    payload.clear();
                    return Ok(PeerReply::Absent);
                };
                self.served.add(offset, bytes.into());
                if let Some(member) = self.member(&caller.name) {
                    member.served.add(offset, bytes.into());
                }
                Ok(PeerReply::Piece { checksum })
            }
            PeerQuestion::Bye => Ok(self.end_member(caller)),
            PeerQuestion::Replaces { path, file } => Ok(is_so(store.replaces(&path, file))),
            PeerQuestion::Wrote { path, version } => Ok(is_so(store.wrote(&path, &version))),
            _ => self.change(store, question),
        }
    }

    /// Takes in what a member tells, which lives then.
    fn take_in(&self, caller: &Caller, telling: Telling) -> PeerReply {
        let returns = self.member(&caller.name).map_or(0, |member| {
            member.hear();
            member.returns()
        });
        let mut directory = lock(&self.directory);
        directory.note_returns(&caller.name, returns);
        PeerReply::Heard { superseded: directory.hear(&caller.name, telling) }
    }

    /// A member ends.
    fn end_member(&self, caller: &Caller) -> PeerReply {
        lock(&self.directory).bye(&caller.name);
        if let Some(member) = self.member(&caller.name) {
            member.leave();
        }
        PeerReply::Done
    }

    /// Changes a file of this store for another.
    fn change(&self, store: &Store, question: PeerQuestion) -> Result<PeerReply> {
        match question {
            PeerQuestion::Replaced { path, file } => {
                store.forget_replaced(&path, file)?;
                store.tell_name(&path);
            }
            PeerQuestion::Clear { path } => self.clear_here(&path),
            PeerQuestion::Remove { path } => store.remove_here(&path)?,
            PeerQuestion::Rename { path, to, is_new } => store.rename_here(&path, &to, is_new)?,
            PeerQuestion::Permit { path, permissions } => store.permit_here(&path, permissions)?,
            PeerQuestion::Flush { path } => {
                return store.flush_here(Some(&path)).map(|bytes| PeerReply::Moved { bytes });
            }
            _ => (),
        }
        Ok(PeerReply::Done)
    }
}

/// The reply to a question of yes or no.
fn is_so(is_so: bool) -> PeerReply {
    if is_so { PeerReply::Done } else { PeerReply::Absent }
}

fn refused(error: &Error) -> PeerReply {
    let is_input = error.kind == Kind::Input;
    PeerReply::Refused { error: error.message.clone(), is_input, errno: error.errno }
}

fn is_end(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionReset, TimedOut, UnexpectedEof};
    matches!(error.kind(), TimedOut | UnexpectedEof | ConnectionReset)
}
