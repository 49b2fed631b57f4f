//! A connection to the daemon, and how it is told from one that hangs.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checked_folder::CheckedFolder;
use super::limits::Patience;
use crate::wire::{self, Question, Reply};

/// Questions to a store, one after the other.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    folder: PathBuf,
    patience: Patience,
    /// What came with the last answer.
    pub payload: Vec<u8>,
}

impl Connection {
    /// Connects to the store of this account in `folder`; nothing is sent to another account's.
    ///
    /// # Errors
    /// [`is_foreign`](super::checked_folder::is_foreign) where another account has the folder or
    /// answers there; those of the system where none runs, or it admits nobody.
    pub fn open(folder: &Path, patience: Patience) -> io::Result<Self> {
        let stream = CheckedFolder::open(folder)?.connect()?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(patience.answer))?;
        Ok(Self { stream, folder: folder.to_owned(), patience, payload: vec![] })
    }

    /// The answer to a question; `None` where the store has ended or hangs. After that, and after
    /// an error, the connection is of no use.
    ///
    /// # Errors
    /// `TimedOut` where the store lives and does not come to an end with it.
    pub fn ask(&mut self, question: &Question) -> io::Result<Option<Reply>> {
        if self.say(question) { self.answer() } else { Ok(None) }
    }

    /// Asks, for an [`answer`](Self::answer) later; whether the store still listens. Answers come
    /// in the order of questions.
    pub fn say(&mut self, question: &Question) -> bool {
        wire::send(&mut self.stream, question, &[]).is_ok()
    }

    /// The answer to the first question that has none. As [`ask`](Self::ask).
    ///
    /// # Errors
    /// As there.
    pub fn answer(&mut self) -> io::Result<Option<Reply>> {
        let until = Instant::now() + self.patience.fill;
        loop {
            match self.hear(self.patience.answer) {
                Ok(reply) => return Ok(Some(reply)),
                Err(error) if !is_late(&error) || !self.lives() => return Ok(None),
                Err(_) if Instant::now() < until => (),
                Err(_) => {
                    let seconds = self.patience.fill.as_secs();
                    let text = format!("the under level has not answered for {seconds} s");
                    return Err(io::Error::new(ErrorKind::TimedOut, text));
                }
            }
        }
    }

    /// Whether the store has ended, where no answer is awaited.
    pub fn has_ended(&self) -> bool {
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        let heard = rustix::net::recv(&self.stream, &mut [0_u8; 1][..], flags);
        heard != Err(rustix::io::Errno::AGAIN)
    }

    /// Waits so long for an answer to begin: [`is_late`] where it has not.
    fn hear(&mut self, wait: Duration) -> io::Result<Reply> {
        self.stream.set_read_timeout(Some(wait))?;
        let mut from = Begun { stream: &self.stream, has_begun: false };
        let received = wire::receive(&mut from, &mut self.payload);
        let has_begun = from.has_begun;
        match received {
            Ok(Some(text)) => wire::parsed(&text).map_err(io::Error::other),
            Ok(None) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if is_late(&error) && has_begun => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) => Err(error),
        }
    }

    /// Whether the store answers somebody else.
    fn lives(&self) -> bool {
        let Ok(mut other) = Self::open(&self.folder, self.patience) else { return false };
        wire::send(&mut other.stream, &Question::Ping, &[]).is_ok()
            && other.hear(self.patience.ping).is_ok()
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A stream, and whether anything has come.
struct Begun<'a> {
    stream: &'a UnixStream,
    has_begun: bool,
}

impl Read for Begun<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                found => {
                    self.has_begun |= found.as_ref().is_ok_and(|&count| count > 0);
                    return found;
                }
            }
        }
    }
}
