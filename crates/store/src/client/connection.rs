//! A connection to the daemon, and detection of a daemon that hangs.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checked_folder::CheckedFolder;
use super::limits::Patience;
use crate::wire::{self, Question, Reply};

/// A connection on which questions are asked one at a time.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    folder: PathBuf,
    patience: Patience,
    /// The payload of the last answer.
    pub payload: Vec<u8>,
}

impl Connection {
    /// Connects to the store of this account in `folder`; sends nothing to the store of another
    /// account.
    ///
    /// # Errors
    /// [`is_foreign`](super::checked_folder::is_foreign) where another account owns the folder or
    /// the daemon; I/O errors where no store runs, or it accepts no connection.
    pub fn open(folder: &Path, patience: Patience) -> io::Result<Self> {
        let stream = CheckedFolder::open(folder)?.connect()?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(patience.answer))?;
        Ok(Self { stream, folder: folder.to_owned(), patience, payload: vec![] })
    }

    /// Asks a question; returns `None` where the store has ended or hangs. After that, and after an
    /// error, the connection cannot be used.
    ///
    /// # Errors
    /// `TimedOut` where the store lives, but does not finish.
    pub fn ask(&mut self, question: &Question) -> io::Result<Option<Reply>> {
        if self.send(question) { self.answer() } else { Ok(None) }
    }

    /// Sends a question whose [`answer`](Self::answer) is read later; returns whether the store
    /// still listens. Answers arrive in the order of questions.
    pub fn send(&mut self, question: &Question) -> bool {
        wire::send(&mut self.stream, question, &[]).is_ok()
    }

    /// Returns the answer to the oldest open question; as [`ask`](Self::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn answer(&mut self) -> io::Result<Option<Reply>> {
        let until = Instant::now() + self.patience.fill;
        loop {
            match self.receive(self.patience.answer) {
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

    /// Returns whether the store has ended, where no answer is awaited.
    pub fn has_ended(&self) -> bool {
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        let received = rustix::net::recv(&self.stream, &mut [0_u8; 1][..], flags);
        received != Err(rustix::io::Errno::AGAIN)
    }

    /// Waits for an answer to begin, at most `wait`; fails as [`is_late`] where it does not.
    fn receive(&mut self, wait: Duration) -> io::Result<Reply> {
        self.stream.set_read_timeout(Some(wait))?;
        let mut from = StartedStream { stream: &self.stream, has_begun: false };
        let received = wire::receive(&mut from, &mut self.payload);
        let has_begun = from.has_begun;
        match received {
            Ok(Some(text)) => wire::parsed(&text).map_err(io::Error::other),
            Ok(None) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if is_late(&error) && has_begun => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the store answers on another connection.
    fn lives(&self) -> bool {
        let Ok(mut other) = Self::open(&self.folder, self.patience) else { return false };
        wire::send(&mut other.stream, &Question::Ping, &[]).is_ok()
            && other.receive(self.patience.ping).is_ok()
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A stream that records whether any bytes have arrived.
struct StartedStream<'a> {
    stream: &'a UnixStream,
    has_begun: bool,
}

impl Read for StartedStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                read => {
                    self.has_begun |= read.as_ref().is_ok_and(|&count| count > 0);
                    return read;
                }
            }
        }
    }
}
