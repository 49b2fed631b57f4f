//! Parallel reads of several pieces of a block from the under level.

use std::io;
use std::thread;

use crate::under::UnderFile;

/// Reader of a part of a file in order, which reads several pieces in parallel.
pub(super) struct StripeReader<'a> {
    file: &'a dyn UnderFile,
    /// Offset in the file of the part, and its size.
    start: u64,
    size_bytes: u64,
    /// Bytes of a piece.
    piece_bytes: u64,
    /// Pieces read in parallel.
    count: usize,
    /// Bytes that were read, from `place` in the part on.
    window: Vec<u8>,
    place: u64,
}

impl<'a> StripeReader<'a> {
    /// Reads `size_bytes` of a file from `start` on.
    pub(super) fn new(
        file: &'a dyn UnderFile,
        start: u64,
        size_bytes: u64,
        (count, piece_bytes): (usize, u64),
    ) -> Self {
        let (piece_bytes, count) = (piece_bytes.max(1), count.max(1));
        Self { file, start, size_bytes, piece_bytes, count, window: Vec::new(), place: 0 }
    }

    /// Fills `buffer` from an offset in the part; offsets must not decrease.
    pub(super) fn read(&mut self, buffer: &mut [u8], place: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            let at = place + done as u64;
            if at < self.place || at >= self.place + self.window.len() as u64 {
                self.read_window(at)?;
            }
            let available = &self.window[(at - self.place) as usize..];
            let count = available.len().min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&available[..count]);
            done += count;
        }
        Ok(())
    }

    fn read_window(&mut self, place: u64) -> io::Result<()> {
        let most = self.piece_bytes.saturating_mul(self.count as u64);
        let size_bytes = self.size_bytes.saturating_sub(place).min(most);
        if size_bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.place = place;
        self.window.resize(size_bytes as usize, 0);
        let (file, first) = (self.file, self.start + place);
        let pieces = self.window.chunks_mut(self.piece_bytes as usize);
        let read: io::Result<()> = thread::scope(|scope| {
            let mut readers = Vec::new();
            for (index, piece) in (0..).zip(pieces) {
                let offset = first + index * self.piece_bytes;
                let thread = thread::Builder::new().name("cuesta-stripe".to_owned());
                let read = move || file.read_exact_at(piece, offset);
                readers.push(thread.spawn_scoped(scope, read)?);
            }
            let panicked = |_| Err(io::Error::other("a reader of a stripe has panicked"));
            readers.into_iter().try_for_each(|reader| reader.join().unwrap_or_else(panicked))
        });
        if read.is_err() {
            self.window.clear();
        }
        read
    }
}
