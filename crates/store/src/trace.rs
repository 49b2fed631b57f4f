//! A trace of the blocks that were read (`spec/formats/store-trace.md`).

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use cuesta_core::{Error, Result};
use rustix::fs::{self, Mode, OFlags};

use crate::cache::policy::BlockId;
use crate::path::StorePath;

const OPERATION: &str = "store.trace";
/// Longest line that is read: a path has at most 4,096 bytes.
const LINE_BYTES_MAX: u64 = 1 << 14;
/// First line of a trace.
pub const HEADER: &str = "seconds\tpath\tblock\tbytes";

/// A read of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRead {
    /// The block.
    pub block: BlockId,
    /// Size of the complete block in bytes.
    pub size_bytes: u64,
}

/// A sequence of reads.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The reads; blocks are numbered in the order in which they were first read.
    pub reads: Vec<BlockRead>,
    /// Number of distinct blocks.
    pub blocks: u64,
    /// Bytes of all blocks, each at its largest.
    pub blocks_bytes: u64,
}

impl Trace {
    /// Reads a trace. Cost: O(lines), 16 bytes a line.
    ///
    /// # Errors
    /// `Input` naming the line; `System`.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
        let mut lines = BufReader::new(opened(path)?);
        let mut line = Vec::new();
        let mut next = |line: &mut Vec<u8>| {
            line.clear();
            lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line).map_err(failed)
        };
        next(&mut line)?;
        if line.trim_ascii_end() != HEADER.as_bytes() {
            let shown = path.display();
            let text =
                format!("{shown} is no trace of the store; record one by `cuesta store trace`");
            return Err(Error::input(OPERATION, text));
        }
        let mut sizes: HashMap<String, (BlockId, u64)> = HashMap::new();
        let mut trace = Self::default();
        while next(&mut line)? > 0 {
            let text = str::from_utf8(&line).ok().filter(|_| (line.len() as u64) < LINE_BYTES_MAX);
            let read = text.and_then(|text| parsed(text.trim_end_matches('\n')));
            let (name, size_bytes) = read.ok_or_else(|| {
                let number = trace.reads.len() + 2;
                let text = format!(
                    "line {number} of {} is no read: seconds, path, block and bytes between tabs; \
                     record a trace by `cuesta store trace`",
                    path.display()
                );
                Error::input(OPERATION, text)
            })?;
            if !sizes.contains_key(name) {
                sizes.insert(name.to_owned(), (trace.blocks, 0));
                trace.blocks += 1;
            }
            if let Some((block, largest)) = sizes.get_mut(name) {
                *largest = size_bytes.max(*largest);
                trace.reads.push(BlockRead { block: *block, size_bytes });
            }
        }
        trace.blocks_bytes = sizes.values().map(|&(_, largest)| largest).sum();
        Ok(trace)
    }
}

/// Opens a regular file: a pipe may wait for ever, a device may never end.
///
/// # Errors
/// `Input` for anything else; `System`.
fn opened(path: &Path) -> Result<File> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = fs::open(path, flags, Mode::empty()).map_err(|e| failed(e.into()))?.into();
    if file.metadata().map_err(failed)?.is_file() {
        return Ok(file);
    }
    let text = format!("{} is not a regular file; copy it into one", path.display());
    Err(Error::input(OPERATION, text))
}

/// A trace that is being recorded.
#[derive(Debug)]
pub struct Recorder {
    file: BufWriter<File>,
    begun: Instant,
    /// First error; nothing is written after it.
    failed: io::Result<()>,
}

impl Recorder {
    /// Creates a trace in a new file.
    ///
    /// # Errors
    /// `System`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create_new(path)
            .map_err(|cause| Error::system(OPERATION, "making", path, &cause))?;
        let mut file = BufWriter::new(file);
        let failed = writeln!(file, "{HEADER}");
        Ok(Self { file, begun: Instant::now(), failed })
    }

    /// Records a read of a block. A full disk delays no reader: see [`end`](Self::end).
    pub fn add(&mut self, path: &StorePath, index: u64, size_bytes: u64) {
        if self.failed.is_ok() {
            let seconds = self.begun.elapsed().as_secs_f64();
            let path = String::from(path.clone());
            self.failed = writeln!(self.file, "{seconds:.6}\t/{path}\t{index}\t{size_bytes}");
        }
    }

    /// Finishes the trace.
    ///
    /// # Errors
    /// First error while it was written.
    pub fn end(mut self) -> io::Result<()> {
        self.failed?;
        self.file.flush()
    }
}

/// Parses a line; returns the path and block as one string, and the bytes.
fn parsed(line: &str) -> Option<(&str, u64)> {
    let (seconds, rest) = line.split_once('\t')?;
    let (name, bytes) = rest.rsplit_once('\t')?;
    let (_, block) = name.rsplit_once('\t')?;
    let is_read = seconds.parse::<f64>().is_ok_and(f64::is_finite) && block.parse::<u64>().is_ok();
    // Sums over all blocks remain below 2^64.
    let bytes = bytes.parse().ok().filter(|bytes| (1..1 << 40).contains(bytes))?;
    is_read.then_some((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Trace> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.tsv");
        std::fs::write(&path, text).unwrap();
        Trace::open(&path)
    }

    #[test]
    fn blocks_are_numbered_as_they_come() {
        let trace =
            of(&format!("{HEADER}\n0.0\ta\t0\t10\n0.5\tb c\t7\t4\n1.5\ta\t0\t12\n")).unwrap();
        let read = |block, size_bytes| BlockRead { block, size_bytes };
        assert_eq!(trace.reads, [read(0, 10), read(1, 4), read(0, 12)]);
        assert_eq!((trace.blocks, trace.blocks_bytes), (2, 16));
    }

    #[test]
    fn an_invalid_trace_is_refused_with_its_line() {
        assert!(of("hello\n").unwrap_err().message().contains("no trace"));
        for line in
            ["", "0\ta\t0", "x\ta\t0\t1", "0\ta\tb\t1", "0\ta\t0\t0", "0\ta\t0\t-1", "0\t1\t2"]
        {
            let error = of(&format!("{HEADER}\n0\ta\t0\t1\n{line}\n")).unwrap_err();
            assert!(error.message().contains("line 3"), "{line:?}: {}", error.message());
        }
    }

    #[test]
    fn a_line_without_end_or_outside_utf_8_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.tsv");
        let long = "a".repeat(1 << 15);
        for (start, line) in [
            ("", b"\xff\n".to_vec()),
            ("0\ta\t0\t1\n", b"0\t\xff\t0\t1\n".to_vec()),
            ("0\ta\t0\t1\n", format!("0\t{long}\t0\t1\n").into_bytes()),
        ] {
            let header = if start.is_empty() { String::new() } else { format!("{HEADER}\n") };
            let text = [header.as_bytes(), start.as_bytes(), &line].concat();
            std::fs::write(&path, text).unwrap();
            let message = Trace::open(&path).unwrap_err().message();
            assert!(message.contains("record"), "{message}");
        }
    }

    #[test]
    fn a_device_and_a_pipe_without_a_writer_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        fs::mknodat(fs::CWD, &pipe, fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [Path::new("/dev/zero"), &pipe, folder.path()] {
            let message = Trace::open(path).unwrap_err().message();
            assert!(message.contains("not a regular file"), "{message}");
        }
    }
}
