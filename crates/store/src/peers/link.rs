//! A connection to another member: dialled, authenticated, and used for a question at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

use super::frame::{Direction, parsed};
use super::handshake::{self, PeerSession};
use super::limits::{CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT};
use super::message::{PeerQuestion, PeerReply};
use super::secret::Keys;

/// Interval at which a waiting stream checks whether the other end lives.
const LOOK: Duration = Duration::from_millis(50);

/// A stream that waits for its peer as long as a condition holds.
pub struct PatientStream<'a, W, H> {
    stream: &'a TcpStream,
    keep_waiting: W,
    on_bytes: H,
}

impl<'a, W: Fn() -> bool, H: Fn()> PatientStream<'a, W, H> {
    /// Checks `keep_waiting` again and again while no bytes arrive; calls `on_bytes` when some
    /// have.
    ///
    /// # Errors
    /// I/O errors.
    pub fn new(stream: &'a TcpStream, keep_waiting: W, on_bytes: H) -> io::Result<Self> {
        Self::polling(stream, LOOK, keep_waiting, on_bytes)
    }

    /// As [`new`](Self::new), with another interval between checks of `keep_waiting`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn polling(
        stream: &'a TcpStream,
        interval: Duration,
        keep_waiting: W,
        on_bytes: H,
    ) -> io::Result<Self> {
        stream.set_read_timeout(Some(interval))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self { stream, keep_waiting, on_bytes })
    }

    /// Returns whether to try again after an error.
    fn should_retry(&self, error: &io::Error) -> io::Result<bool> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(true),
            ErrorKind::WouldBlock if (self.keep_waiting)() => Ok(true),
            ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            _ => Ok(false),
        }
    }
}

impl<W: Fn() -> bool, H: Fn()> Read for PatientStream<'_, W, H> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut stream = self.stream;
            match stream.read(buffer) {
                Ok(count) => {
                    // A read of 0 bytes means that the other end has closed the connection.
                    if count > 0 {
                        (self.on_bytes)();
                    }
                    return Ok(count);
                }
                Err(error) if self.should_retry(&error)? => (),
                Err(error) => return Err(error),
            }
        }
    }
}

impl<W: Fn() -> bool, H: Fn()> Write for PatientStream<'_, W, H> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut stream = self.stream;
            match stream.write(bytes) {
                Err(error) if self.should_retry(&error)? => (),
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An authenticated connection that this member dialled.
pub struct Link {
    stream: TcpStream,
    sends: Direction,
    receives: Direction,
    /// Id of the key that the session began with.
    key: [u8; 8],
    /// The last payload.
    pub payload: Vec<u8>,
}

/// The names of both ends of a connection.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// This member.
    pub from: &'a str,
    /// The other member.
    pub to: &'a str,
}

impl Link {
    /// Dials a member at an address; waits for it while `keep_waiting` holds.
    ///
    /// # Errors
    /// As [`handshake::dial`]; I/O errors.
    pub fn dial(
        address: SocketAddr,
        keys: &Keys,
        ends: Ends<'_>,
        keep_waiting: impl Fn() -> bool,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        let begun = Instant::now();
        let keep_waiting = || keep_waiting() && begun.elapsed() < HANDSHAKE_TIMEOUT;
        let mut patient = PatientStream::new(&stream, keep_waiting, || ())?;
        let session = handshake::dial(&mut patient, keys, ends.from, ends.to)?;
        let PeerSession { key, of_dialler, of_acceptor, .. } = session;
        let (sends, receives) = (Direction::new(of_dialler), Direction::new(of_acceptor));
        Ok(Self { stream, sends, receives, key, payload: Vec::new() })
    }

    /// Returns whether the key of the session is still a key of the job.
    pub fn is_of(&self, keys: &Keys) -> bool {
        keys.iter().any(|key| key.id == self.key)
    }

    /// Sends a question, and waits for the reply while `keep_waiting` holds.
    ///
    /// # Errors
    /// `TimedOut`; `UnexpectedEof` where the other end has closed; as [`Direction::receive`].
    pub fn ask(
        &mut self,
        question: &PeerQuestion,
        keep_waiting: impl Fn() -> bool,
        on_bytes: impl Fn(),
    ) -> io::Result<PeerReply> {
        let asked = self.ask_once(question, keep_waiting, on_bytes);
        if asked.is_err() {
            // The system would deliver the question once a network that was cut is whole again.
            let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
        }
        asked
    }

    fn ask_once(
        &mut self,
        question: &PeerQuestion,
        keep_waiting: impl Fn() -> bool,
        on_bytes: impl Fn(),
    ) -> io::Result<PeerReply> {
        let Self { stream, sends, receives, payload, .. } = self;
        let mut patient = PatientStream::new(stream, keep_waiting, on_bytes)?;
        sends.send(&mut patient, question, &[])?;
        let text = receives.receive(&mut patient, payload)?;
        parsed(&text.ok_or(ErrorKind::UnexpectedEof)?)
    }
}
