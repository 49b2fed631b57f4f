//! Reused memory that files are read into, block after block.

use std::io::{ErrorKind, Read, Result};
use std::ops::Deref;

/// Buffer of bytes of a file. A `Vec` zeroes memory before each read; this buffer zeroes its memory
/// once, however often it is filled.
#[derive(Default)]
pub struct BlockBuffer {
    memory: Vec<u8>,
    length: usize,
}

impl BlockBuffer {
    /// Appends at most `count` bytes of `reader`, fewer if it ends. Returns their number.
    ///
    /// # Errors
    /// Errors of reading; the bytes read before are retained.
    pub fn read(&mut self, reader: &mut dyn Read, count: usize) -> Result<usize> {
        let wanted = self.length + count;
        let before = self.length;
        self.reserve(wanted);
        while self.length < wanted {
            match reader.read(&mut self.memory[self.length..wanted]) {
                Ok(0) => break,
                Ok(count) => self.length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.length - before)
    }

    /// Appends some bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.reserve(end);
        self.memory[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Retains the first `length` bytes, or all if there are fewer.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Removes all bytes, but retains the memory.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    fn reserve(&mut self, size_bytes: usize) {
        if self.memory.len() < size_bytes {
            self.memory.resize(size_bytes, 0);
        }
    }
}

impl Deref for BlockBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A reader that returns a few bytes at a time, interrupted in between.
    struct Slow<'b>(&'b [u8], usize, bool);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    proptest! {
        /// The buffer has the same bytes as a `Vec`, whatever its memory held before.
        #[test]
        fn bytes_are_those_of_a_vec(
            text in proptest::collection::vec(any::<u8>(), 0..400),
            steps in proptest::collection::vec((0usize..100, 0usize..4), 0..20),
            at_once in 1usize..50,
        ) {
            let (mut buffer, mut model) = (BlockBuffer::default(), Vec::new());
            let (mut buffer_reader, mut model_reader) = (Slow(&text, at_once, false), &text[..]);
            for (count, step) in steps {
                match step {
                    0 => {
                        let read = buffer.read(&mut buffer_reader, count).unwrap();
                        let mut wanted = (&mut model_reader).take(count as u64);
                        prop_assert_eq!(read, wanted.read_to_end(&mut model).unwrap());
                    }
                    1 => {
                        buffer.extend_from_slice(&text[..count.min(text.len())]);
                        model.extend_from_slice(&text[..count.min(text.len())]);
                    }
                    2 => {
                        buffer.truncate(count);
                        model.truncate(count);
                    }
                    _ => {
                        buffer.clear();
                        model.clear();
                    }
                }
                prop_assert_eq!(&buffer[..], &model[..]);
            }
        }
    }
}
