//! Messages of a stranger, another store of a job, or a client to a store: any bytes are refused or
//! read, no stranger is let in, and what was read is the same when it was sent once more.
#![no_main]

use std::io::{self, Cursor, ErrorKind, Read, Write};

use cuesta_store::peers::frame::Direction;
use cuesta_store::peers::handshake;
use cuesta_store::peers::secret::PeerKey;
use cuesta_store::peers::{question_again, reply_again};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const KEY: [u8; 32] = [7; 32];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    match choice % 6 {
        0 => strange(bytes),
        1 => framed(bytes),
        2 => changed(bytes),
        3 => again(bytes, |text| question_again(text).ok()),
        4 => again(bytes, |text| reply_again(text).ok()),
        _ => again(bytes, |text| cuesta_store::question_again(text).ok()),
    }
});

/// A connection on which these bytes come, and what is sent goes nowhere.
struct Stranger<'a>(Cursor<&'a [u8]>);

impl Read for Stranger<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Stranger<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of one that has no secret are no proof, for either end.
fn strange(bytes: &[u8]) {
    let keys = vec![PeerKey::of(&"1".repeat(64)), PeerKey::of(&"2".repeat(64))];
    assert!(handshake::accept(&mut Stranger(Cursor::new(bytes)), &keys, "b:1").is_err());
    assert!(handshake::dial(&mut Stranger(Cursor::new(bytes)), &keys, "a:1", "b:1").is_err());
}

/// No bytes are a message of one who has no key, and none takes more memory than came.
fn framed(bytes: &[u8]) {
    let (mut from, mut payload) = (bytes, Vec::new());
    match Direction::new(KEY).receive(&mut from, &mut payload) {
        Ok(found) => assert!(found.is_none() && bytes.is_empty()),
        Err(error) => assert!(matches!(
            error.kind(),
            ErrorKind::InvalidData | ErrorKind::PermissionDenied | ErrorKind::UnexpectedEof
        )),
    }
    assert!(payload.capacity() <= 2 * bytes.len().max(64));
}

/// A message with one byte changed is refused.
fn changed(bytes: &[u8]) {
    let Some((&[place, other], payload)) = bytes.split_first_chunk() else { return };
    let mut sent = Vec::new();
    Direction::new(KEY).send(&mut sent, &"text", payload).expect("it is short");
    let place = usize::from(place) % sent.len();
    let is_changed = other != 0;
    sent[place] ^= other;
    let (mut from, mut found) = (sent.as_slice(), Vec::new());
    let received = Direction::new(KEY).receive(&mut from, &mut found);
    assert_eq!(received.is_err(), is_changed);
    assert!(is_changed || found == payload);
}

/// A text is a question or an answer, or none.
fn again(text: &[u8], read: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    if let Some(sent) = read(text) {
        let again = read(&sent).expect("it was sent here");
        let value = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("it is JSON");
        assert_eq!(value(&again), value(&sent));
    }
}
