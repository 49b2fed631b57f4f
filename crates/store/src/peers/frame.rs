//! Frames of an authenticated connection. Each carries a keyed hash of itself and of its number, so
//! that no one else can change, drop, repeat or forge a message.

use std::io::{self, ErrorKind, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::handshake::PROOF_BYTES;
use super::limits::{PAYLOAD_BYTES_MAX, TEXT_BYTES_MAX};
use super::refusals::RefusalReason;

/// Longer payloads are sent without a copy.
const COPIED_MAX: usize = 16 << 10;
const HEAD_BYTES: usize = 8;

/// The messages of one direction of a connection.
pub struct Direction {
    key: [u8; 32],
    /// Number of messages so far.
    count: u64,
}

impl Direction {
    /// Starts at the first message.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, count: 0 }
    }

    fn proof(&mut self, head: &[u8], text: &[u8], payload: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&self.count.to_le_bytes()).update(head).update(text).update(payload);
        self.count += 1;
        hasher.finalize()
    }

    /// Sends a message: the lengths of its text and its payload, both, and their hash.
    ///
    /// # Errors
    /// `InvalidInput` for a message that is too long; I/O errors.
    pub fn send(
        &mut self,
        to: &mut impl Write,
        message: &impl Serialize,
        payload: &[u8],
    ) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        if text.len() > TEXT_BYTES_MAX as usize || payload.len() > PAYLOAD_BYTES_MAX as usize {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a message is too long"));
        }
        let mut bytes = Vec::with_capacity(HEAD_BYTES + text.len() + COPIED_MAX + PROOF_BYTES);
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend((payload.len() as u32).to_le_bytes());
        let proof = self.proof(&bytes, &text, payload);
        bytes.extend(text);
        if payload.len() > COPIED_MAX {
            to.write_all(&bytes)?;
            to.write_all(payload)?;
            return to.write_all(proof.as_bytes());
        }
        bytes.extend(payload);
        bytes.extend(proof.as_bytes());
        to.write_all(&bytes)
    }

    /// Receives a message: returns its text, and writes its payload to `payload`; `None` where the
    /// other end has closed.
    ///
    /// # Errors
    /// `InvalidData` for a message that is too long; `PermissionDenied` for a wrong hash;
    /// `UnexpectedEof` for a message that is cut off; I/O errors.
    pub fn receive(
        &mut self,
        from: &mut impl Read,
        payload: &mut Vec<u8>,
    ) -> io::Result<Option<Vec<u8>>> {
        let mut head = [0; HEAD_BYTES];
        if from.read(&mut head[..1])? == 0 {
            return Ok(None);
        }
        from.read_exact(&mut head[1..])?;
        let [text_bytes, payload_bytes] = [0, 4]
            .map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        if text_bytes > TEXT_BYTES_MAX || payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(RefusalReason::Oversized.error("a message is longer than any"));
        }
        let mut text = Vec::new();
        payload.clear();
        let mut proof = [0; PROOF_BYTES];
        // Memory is allocated as bytes arrive, not as the lengths announce.
        if from.take(text_bytes.into()).read_to_end(&mut text)? < text_bytes as usize
            || from.take(payload_bytes.into()).read_to_end(payload)? < payload_bytes as usize
        {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        from.read_exact(&mut proof)?;
        // `blake3::Hash` compares in constant time.
        if self.proof(&head, &text, payload) != blake3::Hash::from_bytes(proof) {
            payload.clear();
            let text = "a message is not by who has the secret, or not in its place";
            return Err(RefusalReason::Replayed.error(text));
        }
        Ok(Some(text))
    }
}

/// Parses the text of a message.
///
/// # Errors
/// `InvalidData` for text that is not such a message.
pub fn parsed<T: DeserializeOwned>(text: &[u8]) -> io::Result<T> {
    serde_json::from_slice(text).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(messages: &[(&str, &[u8])]) -> Vec<Vec<u8>> {
        let mut direction = Direction::new([7; 32]);
        let frame = |&(text, payload): &(&str, &[u8])| {
            let mut bytes = Vec::new();
            direction.send(&mut bytes, &text, payload).unwrap();
            bytes
        };
        messages.iter().map(frame).collect()
    }

    fn received(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let (mut direction, mut from) = (Direction::new([7; 32]), bytes);
        let (mut messages, mut payload) = (Vec::new(), Vec::new());
        while let Some(text) = direction.receive(&mut from, &mut payload)? {
            messages.push((parsed(&text)?, payload.clone()));
        }
        Ok(messages)
    }

    #[test]
    fn messages_are_received_as_they_were_sent_and_in_no_other_order() {
        let large = vec![3; COPIED_MAX + 1];
        let all = sent(&[("one", b""), ("two", b"bytes"), ("three", &large)]);
        let messages = received(&all.concat()).unwrap();
        let names: Vec<&str> = messages.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(names, ["one", "two", "three"]);
        assert_eq!((messages[1].1.as_slice(), &messages[2].1), (&b"bytes"[..], &large));
        for wrong in
            [vec![&all[0], &all[0]], vec![&all[1], &all[0]], vec![&all[0], &all[2]], vec![&all[1]]]
        {
            let bytes: Vec<u8> = wrong.into_iter().flatten().copied().collect();
            assert_eq!(received(&bytes).unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn a_message_longer_than_any_is_refused_before_its_bytes_come() {
        for (text, payload) in [(TEXT_BYTES_MAX + 1, 0), (0, PAYLOAD_BYTES_MAX + 1), (u32::MAX, 0)]
        {
            let head = [text.to_le_bytes(), payload.to_le_bytes()].concat();
            assert_eq!(received(&head).unwrap_err().kind(), ErrorKind::InvalidData);
        }
        let mut direction = Direction::new([7; 32]);
        let long = vec![0; PAYLOAD_BYTES_MAX as usize + 1];
        assert!(direction.send(&mut Vec::new(), &"text", &long).is_err());
    }

    proptest! {
        #[test]
        fn a_changed_or_cut_message_is_never_received(
            payload in any::<Vec<u8>>(),
            place in any::<prop::sample::Index>(),
            bit in 0..8_u8,
            cut in any::<bool>(),
        ) {
            let mut bytes = sent(&[("text", &payload)]).concat();
            let place = place.index(bytes.len());
            if cut { bytes.truncate(place.max(1)) } else { bytes[place] ^= 1_u8 << bit }
            prop_assert!(received(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_refused(bytes in any::<Vec<u8>>()) {
            prop_assert!(bytes.is_empty() || received(&bytes).is_err());
        }
    }
}
