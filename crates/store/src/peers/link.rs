//! A connection to another member: dialled, proved, asked one question after the other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::frame::{Direction, parsed};
use super::handshake::{self, PeerSession};
use super::limits::{CONNECT, HANDSHAKE};
use super::message::{PeerQuestion, PeerReply};
use super::secret::Keys;

/// How often it is looked whether the other end lives, while it is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// A stream that is read and written for as long as that is worth waiting for.
pub struct Patient<'a, W, H> {
    stream: &'a TcpStream,
    waits: W,
    heard: H,
}

impl<'a, W: Fn() -> bool, H: Fn()> Patient<'a, W, H> {
    /// Asks `waits` again and again while nothing comes; tells `heard` when something has.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(stream: &'a TcpStream, waits: W, heard: H) -> io::Result<Self> {
        Self::looking(stream, LOOK, waits, heard)
    }

    /// As [`new`](Self::new), which asks `waits` less often.
    ///
    /// # Errors
    /// Those of the system.
    pub fn looking(stream: &'a TcpStream, look: Duration, waits: W, heard: H) -> io::Result<Self> {
        stream.set_read_timeout(Some(look))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self { stream, waits, heard })
    }

    /// Whether to try again after an error.
    fn goes_on(&self, error: &io::Error) -> io::Result<bool> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(true),
            ErrorKind::WouldBlock if (self.waits)() => Ok(true),
            ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            _ => Ok(false),
        }
    }
}

impl<W: Fn() -> bool, H: Fn()> Read for Patient<'_, W, H> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut stream = self.stream;
            match stream.read(buffer) {
                Ok(count) => {
                    // Nothing is what the system says for one that has ended.
                    if count > 0 {
                        (self.heard)();
                    }
                    return Ok(count);
                }
                Err(error) if self.goes_on(&error)? => (),
                Err(error) => return Err(error),
            }
        }
    }
}

impl<W: Fn() -> bool, H: Fn()> Write for Patient<'_, W, H> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut stream = self.stream;
            match stream.write(bytes) {
                Err(error) if self.goes_on(&error)? => (),
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection that was dialled and proved.
pub struct Link {
    stream: TcpStream,
    sends: Direction,
    receives: Direction,
    /// The key that it began with.
    key: [u8; 8],
    /// The last payload.
    pub payload: Vec<u8>,
}

/// Both ends of a connection by name.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// This member.
    pub from: &'a str,
    /// The other.
    pub to: &'a str,
}

impl Link {
    /// Dials a member at an address; waits for it as long as that is worth it.
    ///
    /// # Errors
    /// As [`handshake::dial`]; those of the system.
    pub fn dial(
        address: SocketAddr,
        keys: &Keys,
        ends: Ends<'_>,
        waits: impl Fn() -> bool,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, CONNECT)?;
        stream.set_nodelay(true)?;
        let begun = Instant::now();
        let waits = || waits() && begun.elapsed() < HANDSHAKE;
        let mut patient = Patient::new(&stream, waits, || ())?;
        let session = handshake::dial(&mut patient, keys, ends.from, ends.to)?;
        let PeerSession { key, of_dialler, of_acceptor, .. } = session;
        let (sends, receives) = (Direction::new(of_dialler), Direction::new(of_acceptor));
        Ok(Self { stream, sends, receives, key, payload: Vec::new() })
    }

    /// Whether the key that it began with is still one of the job.
    pub fn is_of(&self, keys: &Keys) -> bool {
        keys.iter().any(|key| key.id == self.key)
    }

    /// Asks, and waits for the reply for as long as that is worth it.
    ///
    /// # Errors
    /// `TimedOut`; `UnexpectedEof` where the other has ended; as [`Direction::receive`].
    pub fn ask(
        &mut self,
        question: &PeerQuestion,
        waits: impl Fn() -> bool,
        heard: impl Fn(),
    ) -> io::Result<PeerReply> {
        let Self { stream, sends, receives, payload, .. } = self;
        let mut patient = Patient::new(stream, waits, heard)?;
        sends.send(&mut patient, question, &[])?;
        let text = receives.receive(&mut patient, payload)?;
        parsed(&text.ok_or(ErrorKind::UnexpectedEof)?)
    }
}
