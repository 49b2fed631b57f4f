//! Handshake: both ends of a connection prove that they have the secret, before any other message.
//!
//! The dialler sends 32 random bytes, the ids of its keys, its own name and the name of the member
//! that it wants. The acceptor answers with random bytes and the id of the key. Then each end sends
//! a keyed hash of all of that and of its role. A recording proves nothing, because the other end
//! chooses new random bytes; a handshake relayed to another member fails, because it names the
//! wrong member.

use std::io::{self, ErrorKind, Read, Write};

use rustix::rand::{GetRandomFlags, getrandom};

use super::limits::NAME_BYTES_MAX;
use super::refusals::RefusalReason;
use super::secret::{Keys, PeerKey};

/// First bytes of a connection; the digit is the version of the protocol that follows.
pub const MAGIC: &[u8; 8] = b"cuestap3";
/// Size in bytes of the random part, and of a proof.
pub const PROOF_BYTES: usize = 32;
const ID_BYTES: usize = 8;
const KEYS_MAX: usize = 2;

/// Result of a handshake, on either end.
pub struct PeerSession {
    /// The name of the dialler.
    pub from: String,
    /// Id of the key that the session began with.
    pub key: [u8; ID_BYTES],
    /// Key for messages of the dialler.
    pub of_dialler: [u8; 32],
    /// Key for messages of the acceptor.
    pub of_acceptor: [u8; 32],
}

/// First message of the dialler.
#[derive(Debug, PartialEq, Eq)]
pub struct Hello {
    bytes: Vec<u8>,
    ids: Vec<[u8; ID_BYTES]>,
    /// The dialler's name.
    pub from: String,
    /// Name of the member that the dialler wants.
    pub to: String,
}

impl Hello {
    fn new(keys: &Keys, from: &str, to: &str) -> io::Result<Self> {
        let ids: Vec<_> = keys.iter().take(KEYS_MAX).map(|key| key.id).collect();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(random()?);
        bytes.push(ids.len() as u8);
        ids.iter().for_each(|id| bytes.extend(id));
        for name in [from, to] {
            let length = u8::try_from(name.len()).map_err(|_| invalid("a name is too long"))?;
            bytes.push(length);
            bytes.extend(name.as_bytes());
        }
        Ok(Self { bytes, ids, from: from.to_owned(), to: to.to_owned() })
    }

    /// Reads a hello; at most 600 bytes, whatever they are.
    ///
    /// # Errors
    /// `InvalidData` for bytes that are no hello; I/O errors.
    pub fn receive(stream: &mut impl Read) -> io::Result<Self> {
        let mut bytes = vec![0; MAGIC.len() + PROOF_BYTES + 1];
        stream.read_exact(&mut bytes[..MAGIC.len()])?;
        if !bytes.starts_with(MAGIC) {
            return Err(invalid("it does not speak the language of stores"));
        }
        stream.read_exact(&mut bytes[MAGIC.len()..])?;
        let count = usize::from(bytes[bytes.len() - 1]);
        if !(1..=KEYS_MAX).contains(&count) {
            return Err(invalid("it names no key, or too many"));
        }
        let ids = more(stream, &mut bytes, count * ID_BYTES)?;
        let ids = ids.chunks_exact(ID_BYTES).filter_map(|id| id.try_into().ok()).collect();
        let mut names = [String::new(), String::new()];
        for name in &mut names {
            let length = more(stream, &mut bytes, 1)?[0];
            let name_bytes = more(stream, &mut bytes, length.into())?;
            *name = String::from_utf8(name_bytes).map_err(|_| invalid("its name is no text"))?;
        }
        let [from, to] = names;
        Ok(Self { bytes, ids, from, to })
    }

    /// Returns the bytes as they are sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn session(&self, key: &PeerKey, answer: &[u8]) -> PeerSession {
        let derived = |role: &[u8]| *key.hash(&[role, &self.bytes, answer]).as_bytes();
        PeerSession {
            from: self.from.clone(),
            key: key.id,
            of_dialler: derived(b"messages of the one that dialled"),
            of_acceptor: derived(b"messages of the one that was dialled"),
        }
    }

    fn proof(&self, key: &PeerKey, role: &[u8], answer: &[u8]) -> blake3::Hash {
        key.hash(&[role, &self.bytes, answer])
    }
}

const DIALLER: &[u8] = b"proof of the one that dialled";
const ACCEPTOR: &[u8] = b"proof of the one that was dialled";

/// Runs the dialler's side: proves to the acceptor that this end has the secret, and has it do the
/// same.
///
/// # Errors
/// `PermissionDenied` where the acceptor fails to; `UnexpectedEof` where it refuses; I/O errors.
pub fn dial(
    stream: &mut (impl Read + Write),
    keys: &Keys,
    from: &str,
    to: &str,
) -> io::Result<PeerSession> {
    let hello = Hello::new(keys, from, to)?;
    stream.write_all(hello.bytes())?;
    let mut answer = [0; PROOF_BYTES + ID_BYTES];
    stream.read_exact(&mut answer)?;
    let key = keys.iter().take(KEYS_MAX).find(|key| answer[PROOF_BYTES..] == key.id);
    let key = key.ok_or_else(|| RefusalReason::OtherSecret.error("it has another secret"))?;
    stream.write_all(hello.proof(key, DIALLER, &answer).as_bytes())?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof)?;
    // `blake3::Hash` compares in constant time.
    if hello.proof(key, ACCEPTOR, &answer) != blake3::Hash::from_bytes(proof) {
        return Err(unproved());
    }
    Ok(hello.session(key, &answer))
}

/// Runs the acceptor's side, under the name `local`: has the dialler prove that it has the secret,
/// and proves the same to it.
///
/// # Errors
/// As [`dial`]; `InvalidData` for bytes that are not a handshake.
pub fn accept(
    stream: &mut (impl Read + Write),
    keys: &Keys,
    local: &str,
) -> io::Result<PeerSession> {
    let hello = Hello::receive(stream)?;
    if hello.to != local {
        return Err(RefusalReason::OtherMember.error("it wants another member"));
    }
    let key = keys.iter().find(|key| hello.ids.contains(&key.id));
    let key =
        key.ok_or_else(|| RefusalReason::OtherSecret.error("it has another secret, or none"))?;
    let mut answer = random()?.to_vec();
    answer.extend(key.id);
    stream.write_all(&answer)?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof)?;
    if hello.proof(key, DIALLER, &answer) != blake3::Hash::from_bytes(proof) {
        return Err(unproved());
    }
    stream.write_all(hello.proof(key, ACCEPTOR, &answer).as_bytes())?;
    Ok(hello.session(key, &answer))
}

/// Returns bytes that no one can predict.
///
/// # Errors
/// I/O errors.
pub fn random() -> io::Result<[u8; PROOF_BYTES]> {
    let mut bytes = [0; PROOF_BYTES];
    // `getrandom` returns so few bytes in one call.
    let count = getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    if count < PROOF_BYTES { Err(ErrorKind::Interrupted.into()) } else { Ok(bytes) }
}

fn more(stream: &mut impl Read, bytes: &mut Vec<u8>, count: usize) -> io::Result<Vec<u8>> {
    debug_assert!(count <= NAME_BYTES_MAX);
    let mut read = vec![0; count];
    stream.read_exact(&mut read)?;
    bytes.extend(&read);
    Ok(read)
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

fn unproved() -> io::Error {
    RefusalReason::Replayed.error("it has not proved that it has the secret")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;

    fn keys(letters: &[&str]) -> Keys {
        letters.iter().map(|letter| PeerKey::of(&letter.repeat(64))).collect()
    }

    /// Runs a handshake between ends with these keys, and returns both results.
    fn both(dialler: &[&str], acceptor: &[&str], to: &str) -> [io::Result<PeerSession>; 2] {
        let (mut dialler_end, mut acceptor_end) = UnixStream::pair().unwrap();
        let (dialler, acceptor) = (keys(dialler), keys(acceptor));
        thread::scope(|scope| {
            let accepted = scope.spawn(move || {
                let session = accept(&mut acceptor_end, &acceptor, "b:1");
                drop(acceptor_end);
                session
            });
            let dialled = dial(&mut dialler_end, &dialler, "a:1", to);
            drop(dialler_end);
            [dialled, accepted.join().unwrap()]
        })
    }

    #[test]
    fn both_ends_with_a_common_secret_have_the_same_keys() {
        for (dialler, acceptor) in
            [(&["1"][..], &["1"][..]), (&["2", "1"], &["1"]), (&["1"], &["2", "1"])]
        {
            let [dialled, accepted] = both(dialler, acceptor, "b:1").map(|result| result.unwrap());
            assert_eq!(
                (dialled.of_dialler, dialled.of_acceptor),
                (accepted.of_dialler, accepted.of_acceptor)
            );
            assert_ne!(dialled.of_dialler, dialled.of_acceptor);
            assert_eq!(
                (accepted.from.as_str(), dialled.key),
                ("a:1", PeerKey::of(&"1".repeat(64)).id)
            );
        }
        let again = || both(&["1"], &["1"], "b:1").map(|result| result.unwrap().of_dialler);
        assert_ne!(again(), again());
    }

    #[test]
    fn another_secret_or_member_is_refused_by_name() {
        let [dialled, accepted] = both(&["2"], &["1"], "b:1").map(|result| result.err().unwrap());
        assert_eq!(dialled.kind(), ErrorKind::UnexpectedEof);
        assert!(accepted.to_string().contains("another secret"), "{accepted}");
        let [_, accepted] = both(&["1"], &["1"], "c:1").map(|result| result.err().unwrap());
        assert!(accepted.to_string().contains("another member"), "{accepted}");
    }

    #[test]
    fn a_dialler_that_only_knows_the_name_of_the_key_proves_nothing() {
        let (mut dialler, mut acceptor) = UnixStream::pair().unwrap();
        let accepted = thread::spawn(move || accept(&mut acceptor, &keys(&["1"]), "b:1"));
        let hello = Hello::new(&keys(&["1"]), "a:1", "b:1").unwrap();
        dialler.write_all(hello.bytes()).unwrap();
        dialler.read_exact(&mut [0; PROOF_BYTES + ID_BYTES]).unwrap();
        dialler.write_all(&[7; PROOF_BYTES]).unwrap();
        let error = accepted.join().unwrap().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(dialler.read(&mut [0; 8]).unwrap(), 0);
    }

    /// Stream that records the bytes written to it.
    struct Recorded<'a>(&'a mut UnixStream, Vec<u8>);

    impl Read for Recorded<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Recorded<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.extend(bytes);
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }

    #[test]
    fn a_recorded_conversation_is_refused() {
        let (mut dialler, mut acceptor) = UnixStream::pair().unwrap();
        let accepted =
            thread::spawn(move || accept(&mut acceptor, &keys(&["1"]), "b:1").map(|_| ()));
        let mut recorded = Recorded(&mut dialler, Vec::new());
        dial(&mut recorded, &keys(&["1"]), "a:1", "b:1").unwrap();
        let bytes = recorded.1;
        accepted.join().unwrap().unwrap();
        let (mut dialler, mut acceptor) = UnixStream::pair().unwrap();
        let accepted =
            thread::spawn(move || accept(&mut acceptor, &keys(&["1"]), "b:1").map(|_| ()));
        dialler.write_all(&bytes).unwrap();
        let error = accepted.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_proof_of_an_acceptor_is_no_proof_of_a_dialler() {
        let key = PeerKey::of(&"1".repeat(64));
        let hello = Hello::new(&vec![key.clone()], "a:1", "b:1").unwrap();
        assert_ne!(hello.proof(&key, DIALLER, &[1; 40]), hello.proof(&key, ACCEPTOR, &[1; 40]));
    }
}
