//! Speed of reads through a store in a Rust program, compared with memory and the page cache.
//!
//! ```text
//! speed FOLDER NAME UNDER
//! ```
//!
//! `FOLDER` is that of a store, `NAME` a file in it, and `UNDER` the same file in the under level.
//! Each line on standard input names a [`Bench::measure`]; its line on standard output is the time
//! in seconds and a sum of the words that were read. `bench/benches/store.py` and the benches
//! alongside it send the lines.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io::{self, BufRead, Error, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cuesta_store::client::limits::Patience;
use cuesta_store::client::{BlockBytes, Client, StoredFile, path_of};
use cuesta_store::daemon::SOCKET;
use cuesta_store::path::StorePath;
use serde_json::{Value, json};

/// Bytes of a request.
const PIECE: usize = 1 << 20;
/// Bytes of a small request.
const SMALL: usize = 4 << 10;
/// Small requests of a measurement.
const HITS: u64 = 200_000;
/// Small requests of a measurement through the socket.
const SOCKET_REQUESTS: u64 = 5_000;
/// Increment of Knuth's generator MMIX.
const INCREMENT: u64 = 1_442_695_040_888_963_407;

struct Bench {
    folder: PathBuf,
    name: StorePath,
    under: PathBuf,
    /// Created on first use, outside the measured time.
    client: Option<Client>,
    held: Vec<BlockBytes>,
    private: Vec<u8>,
}

/// Time of a measurement in seconds, and the sum of the words that it read.
type Outcome = io::Result<(f64, u64)>;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, under] = &words[..] else {
        return Err(Error::other("speed FOLDER NAME UNDER"));
    };
    let mut bench = Bench {
        folder: folder.into(),
        name: path_of(name)?,
        under: under.into(),
        client: None,
        held: Vec::new(),
        private: Vec::new(),
    };
    for line in io::stdin().lock().lines() {
        let (seconds, sum) = bench.measure(&line?)?;
        println!("{seconds:.9} {sum}");
        io::stdout().flush()?;
    }
    Ok(())
}

impl Bench {
    fn measure(&mut self, line: &str) -> Outcome {
        let (kind, places) = line.split_once(": ").unwrap_or((line, ""));
        match kind {
            // One pass over all bytes.
            "mapped" => self.mapped(),
            "private" => self.private(),
            "first" => self.first(),
            "pread" => self.pread(),
            // All bytes copied to one buffer, a piece at a time.
            "read" => self.read(),
            "raw" => self.raw(),
            "memcpy" => self.memcpy(),
            // The pieces at the places that a file names, a line each.
            "places" => self.places(places),
            "raw places" => self.raw_places(places),
            // The median of many small requests.
            "hit" => self.hit(),
            "hit by read" => self.hit_by_read(),
            "socket" => self.read_by_socket(),
            "ping" => self.ping(),
            _ => Err(Error::other(format!("{kind} is not measured"))),
        }
    }

    fn open(&mut self) -> io::Result<StoredFile> {
        if self.client.is_none() {
            self.client = Some(Client::connect(&self.folder, Patience::default())?);
        }
        let client = self.client.as_ref().ok_or_else(|| Error::other("no client"))?;
        client.open(&self.name)
    }

    /// Maps and touches all blocks.
    fn hold(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            self.held = blocks(&self.open()?)?;
            self.held.iter().for_each(|block| _ = sum(block));
        }
        Ok(())
    }

    /// Reads all bytes into memory of this process.
    fn fetch(&mut self) -> io::Result<()> {
        if self.private.is_empty() {
            self.private = std::fs::read(&self.under)?;
        }
        Ok(())
    }

    fn mapped(&mut self) -> Outcome {
        self.hold()?;
        timed(|| Ok(add(self.held.iter().map(|block| sum(block)))))
    }

    fn private(&mut self) -> Outcome {
        self.fetch()?;
        timed(|| Ok(sum(&self.private)))
    }

    /// Measures from the connection to the last byte, including everything that a new process
    /// lacks.
    fn first(&mut self) -> Outcome {
        timed(|| Ok(add(blocks(&self.open()?)?.iter().map(|block| sum(block)))))
    }

    fn pread(&mut self) -> Outcome {
        timed(|| {
            let mut total = 0;
            pieces(&self.under, |piece| total = add([total, sum(piece)]))?;
            Ok(total)
        })
    }

    fn read(&mut self) -> Outcome {
        let mut piece = vec![0; PIECE];
        timed(|| {
            let file = self.open()?;
            let (mut total, mut offset) = (0, 0);
            loop {
                let count = file.read_at(&mut piece, offset)?;
                if count == 0 {
                    return Ok(total);
                }
                total = add([total, first_word(&piece)]);
                offset += count as u64;
            }
        })
    }

    fn raw(&mut self) -> Outcome {
        timed(|| {
            let mut total = 0;
            pieces(&self.under, |piece| total = add([total, first_word(piece)]))?;
            Ok(total)
        })
    }

    fn memcpy(&mut self) -> Outcome {
        self.fetch()?;
        let mut piece = vec![0; PIECE];
        timed(|| {
            let mut total = 0;
            for from in self.private.chunks(PIECE) {
                piece[..from.len()].copy_from_slice(from);
                total = add([total, first_word(std::hint::black_box(&piece))]);
            }
            Ok(total)
        })
    }

    fn places(&mut self, list: &str) -> Outcome {
        let places = places_of(list)?;
        timed(|| {
            let file = self.open()?;
            at_places(&places, |piece, offset| file.read_at(piece, offset))
        })
    }

    fn raw_places(&self, list: &str) -> Outcome {
        let places = places_of(list)?;
        timed(|| {
            let file = File::open(&self.under)?;
            at_places(&places, |piece, offset| file.read_at(piece, offset))
        })
    }

    fn hit(&mut self) -> Outcome {
        self.hold()?;
        let (block_bytes, size_bytes) = (self.held[0].len(), self.size_bytes());
        let mut into = [0; SMALL];
        time_requests(HITS, size_bytes, |offset| {
            let (index, within) = (offset as usize / block_bytes, offset as usize % block_bytes);
            into.copy_from_slice(&self.held[index][within..][..SMALL]);
            Ok(first_word(std::hint::black_box(&into)))
        })
    }

    fn hit_by_read(&mut self) -> Outcome {
        self.hold()?;
        let file = self.open()?;
        let mut into = [0; SMALL];
        time_requests(HITS, self.size_bytes(), |offset| {
            file.read_at(&mut into, offset)?;
            Ok(first_word(&into))
        })
    }

    fn size_bytes(&self) -> u64 {
        self.held.iter().map(|block| block.len() as u64).sum()
    }

    /// Measures the median time of a small read through the socket of the store.
    fn read_by_socket(&mut self) -> Outcome {
        let mut connection = Connection::open(&self.folder)?;
        let opened = connection.ask(&json!({"do": "open", "path": self.name}))?;
        let number = &opened["number"];
        let size_bytes = opened["version"]["size_bytes"].as_u64().unwrap_or_default();
        time_requests(SOCKET_REQUESTS, size_bytes, |offset| {
            let piece = json!({"do": "read", "number": number, "offset": offset, "bytes": SMALL});
            connection.ask(&piece)?;
            Ok(first_word(&connection.payload))
        })
    }

    fn ping(&mut self) -> Outcome {
        let mut connection = Connection::open(&self.folder)?;
        time_requests(SOCKET_REQUESTS, SMALL as u64, |_| {
            connection.ask(&json!({"do": "ping"})).map(|_| 0)
        })
    }
}

/// Connection for questions and answers as in `spec/formats/store-wire.md`.
struct Connection {
    stream: UnixStream,
    payload: Vec<u8>,
}

impl Connection {
    fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { stream: UnixStream::connect(folder.join(SOCKET))?, payload: Vec::new() })
    }

    fn ask(&mut self, question: &Value) -> io::Result<Value> {
        let text = question.to_string();
        let lengths = text.len() as u64;
        self.stream.write_all(&[&lengths.to_le_bytes(), text.as_bytes()].concat())?;
        let mut lengths = [[0; 4]; 2];
        self.stream.read_exact(lengths.as_flattened_mut())?;
        let [text, payload] = lengths.map(|length| u32::from_le_bytes(length) as usize);
        self.payload.resize(text, 0);
        self.stream.read_exact(&mut self.payload)?;
        let reply: Value = serde_json::from_slice(&self.payload)?;
        self.payload.resize(payload, 0);
        self.stream.read_exact(&mut self.payload)?;
        match reply.get("error") {
            Some(error) => Err(Error::other(error.to_string())),
            None => Ok(reply),
        }
    }
}

fn timed(work: impl FnOnce() -> io::Result<u64>) -> Outcome {
    let started = Instant::now();
    let sum = work()?;
    Ok((started.elapsed().as_secs_f64(), sum))
}

/// Returns the median time of small requests at random offsets in a file, the same in each call.
fn time_requests(
    count: u64,
    size_bytes: u64,
    mut ask: impl FnMut(u64) -> io::Result<u64>,
) -> Outcome {
    let (mut chance, mut total) = (1_u64, 0);
    let mut seconds = Vec::with_capacity(count as usize);
    for _ in 0..count {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(INCREMENT);
        let offset = (chance >> 32) % (size_bytes / SMALL as u64) * SMALL as u64;
        let (elapsed, sum) = timed(|| ask(offset))?;
        seconds.push(elapsed);
        total = add([total, sum]);
    }
    seconds.sort_by(f64::total_cmp);
    Ok((seconds[seconds.len() / 2], total))
}

fn blocks(file: &StoredFile) -> io::Result<Vec<BlockBytes>> {
    let block_bytes = file.block_bytes().ok_or_else(|| Error::other("the store has ended"))?;
    let indices = 0..file.size_bytes().div_ceil(block_bytes);
    let absent = || Error::other("a block is not in memory");
    indices.map(|index| file.block(index)?.ok_or_else(absent)).collect()
}

/// Reads a file of the under level a piece at a time.
fn pieces(path: &PathBuf, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let file = File::open(path)?;
    let (mut piece, mut offset) = (vec![0; PIECE], 0);
    loop {
        let count = file.read_at(&mut piece, offset)?;
        if count == 0 {
            return Ok(());
        }
        take(&piece[..count]);
        offset += count as u64;
    }
}

/// Reads a list of offsets in a file.
fn places_of(list: &str) -> io::Result<Vec<u64>> {
    let text = std::fs::read_to_string(list)?;
    text.lines().map(|line| line.parse().map_err(Error::other)).collect()
}

/// Returns the sum of the first words of the pieces at all offsets.
fn at_places(
    places: &[u64],
    read: impl Fn(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<u64> {
    let (mut piece, mut total) = (vec![0; PIECE], 0);
    for &place in places {
        if read(&mut piece, place)? != PIECE {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        total = add([total, first_word(&piece)]);
    }
    Ok(total)
}

fn add(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::wrapping_add)
}

/// Returns the sum of all complete words.
fn sum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    add(words.iter().map(|&word| u64::from_le_bytes(word)))
}

fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |&word| u64::from_le_bytes(word))
}
