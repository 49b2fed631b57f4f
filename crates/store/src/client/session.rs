//! What a process has of a store that it is connected to.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cuesta_runtime::parallel::lock;

use super::block::StoredBlock;
use super::checked_folder::is_foreign;
use super::connection::Connection;
use super::file::OpenFile;
use super::limits::{CONNECTIONS, LEASES_MAX, Patience};
use super::refused;
use crate::memory::{BlockKey, PIECE_BYTES};
use crate::under::posix::PosixUnder;
use crate::wire::{Question, Reply};

/// Connections, files and blocks, until the store is lost; the under level also after that.
#[derive(Debug)]
pub struct Session {
    pub(super) under: PosixUnder,
    process: u32,
    is_lost: AtomicBool,
    /// Each with those files whose paths fall to it, opened when one does.
    connections: [Mutex<Option<Connection>>; CONNECTIONS],
    patience: Patience,
    pub(super) folder: PathBuf,
    leases_max: usize,
    pub(super) files: Mutex<HashMap<u64, Weak<OpenFile>>>,
    held: Mutex<Held>,
}

/// Leased blocks.
#[derive(Debug, Default)]
struct Held {
    blocks: HashMap<BlockKey, HeldBlock>,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct HeldBlock {
    block: Arc<StoredBlock>,
    line: usize,
    used: u64,
}

/// A block towards a reader.
pub enum Leased {
    /// Its bytes.
    Block(Arc<StoredBlock>),
    /// The memory has no room for it.
    NoRoom,
    /// The store has ended or hangs.
    Lost,
}

impl Session {
    /// Connects to the store in `folder`.
    ///
    /// # Errors
    /// `NotConnected` where none runs or it does not answer; `PermissionDenied` where another
    /// account has the folder or answers there; those of opening the under level.
    pub fn open(folder: &Path, patience: Patience) -> io::Result<Self> {
        let none = |what: &str| {
            let text = format!("{what} in {}; start one by `cuesta store start`", folder.display());
            io::Error::new(ErrorKind::NotConnected, text)
        };
        let opened = Connection::open(folder, patience);
        let mut connection = opened
            .map_err(|error| if is_foreign(&error) { error } else { none("no store runs") })?;
        let Some(Reply::Status(status)) = connection.ask(&Question::Status)? else {
            return Err(none("no store answers"));
        };
        let under = PosixUnder::open(&status.under).map_err(|error| {
            io::Error::other(error.message.trim_start_matches("store: ").to_owned())
        })?;
        let half = status.memory_bytes / status.block_bytes.max(1) / 2;
        let connections: [_; CONNECTIONS] = Default::default();
        *lock(&connections[0]) = Some(connection);
        Ok(Self {
            under,
            process: std::process::id(),
            is_lost: AtomicBool::new(false),
            connections,
            patience,
            folder: folder.to_owned(),
            leases_max: half.clamp(1, LEASES_MAX) as usize,
            files: Mutex::default(),
            held: Mutex::default(),
        })
    }

    /// Whether it is of this process, and not of one that this one was forked from.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Whether the store has ended or hangs.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Goes past the store from now on.
    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// The answer on a connection; `None` where the store is lost, for good.
    ///
    /// # Errors
    /// As [`Connection::ask`].
    pub fn ask(&self, line: usize, question: &Question) -> io::Result<Option<Reply>> {
        self.ask_with(line, question, |_| ())
    }

    /// Fills `into` with bytes of an open file, from the store itself; whether it has them.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); what the store says where it refuses.
    pub fn read(&self, line: usize, number: u64, into: &mut [u8], offset: u64) -> io::Result<bool> {
        for (place, piece) in into.chunks_mut(PIECE_BYTES).enumerate() {
            let offset = offset + (place * PIECE_BYTES) as u64;
            let question = Question::Read { number, offset, bytes: piece.len() as u32 };
            let mut is_read = false;
            let take = |payload: &[u8]| {
                is_read = payload.len() == piece.len();
                if is_read {
                    piece.copy_from_slice(payload);
                }
            };
            match self.ask_with(line, &question, take)? {
                Some(Reply::Moved { .. }) if is_read => (),
                Some(Reply::Refused { error, .. }) => return Err(refused(&error)),
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn ask_with(
        &self,
        line: usize,
        question: &Question,
        take: impl FnOnce(&[u8]),
    ) -> io::Result<Option<Reply>> {
        if self.is_lost() || !self.is_of_this_process() {
            return Ok(None);
        }
        let mut connection = lock(&self.connections[line]);
        // Others may have waited in vain meanwhile.
        if self.is_lost() {
            return Ok(None);
        }
        if connection.is_none() {
            *connection = Connection::open(&self.folder, self.patience).ok();
        }
        let heard = match &mut *connection {
            Some(connection) => connection.ask(question),
            None => Ok(None),
        };
        match (&heard, &*connection) {
            (Ok(Some(_)), Some(connection)) => take(&connection.payload),
            _ => self.lose(),
        }
        heard
    }

    /// A block of an open file, leased until others push it out.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; as [`ask`](Self::ask).
    pub fn lease(&self, line: usize, key: BlockKey) -> io::Result<Leased> {
        if let Some(block) = lock(&self.held).get(key) {
            return Ok(Leased::Block(block));
        }
        let question = Question::Lease { number: key.file, index: key.index };
        let Some(reply) = self.ask(line, &question)? else { return Ok(Leased::Lost) };
        let (path, size_bytes) = match reply {
            Reply::Leased { path: Some(path), size_bytes, .. } => (path, size_bytes),
            Reply::Leased { path: None, .. } => {
                // Blocks that are only held for later use may be what takes the room.
                let idle = lock(&self.held).all();
                self.give_back(idle);
                return Ok(Leased::NoRoom);
            }
            Reply::Refused { error, is_input: true, .. } => {
                let text = error.trim_start_matches("store: ").to_owned();
                return Err(io::Error::new(ErrorKind::InvalidData, text));
            }
            // What keeps the store from reading it, the reader finds itself.
            _ => return Ok(Leased::NoRoom),
        };
        let Ok(block) = StoredBlock::open(&path, size_bytes) else {
            self.ask(line, &Question::Release { number: key.file, index: key.index })?;
            return Ok(Leased::NoRoom);
        };
        let block = Arc::new(block);
        let left = lock(&self.held).put(key, line, &block, self.leases_max);
        self.give_back(left);
        Ok(Leased::Block(block))
    }

    /// Gives the blocks of a file back, and closes it as often as it was opened.
    pub fn close(&self, line: usize, number: u64, opens: u64) {
        let held = lock(&self.held).of(number);
        self.give_back(held);
        for _ in 0..opens {
            let _ = self.ask(line, &Question::Close { number });
        }
    }

    fn give_back(&self, leases: Vec<(BlockKey, usize)>) {
        for (key, line) in leases {
            // A store that does not hear it finds the connection closed at the end.
            let _ = self.ask(line, &Question::Release { number: key.file, index: key.index });
        }
    }
}

impl Held {
    fn get(&mut self, key: BlockKey) -> Option<Arc<StoredBlock>> {
        self.clock += 1;
        let held = self.blocks.get_mut(&key)?;
        held.used = self.clock;
        Some(Arc::clone(&held.block))
    }

    /// Holds a block; the leases that are one too many then.
    fn put(
        &mut self,
        key: BlockKey,
        line: usize,
        block: &Arc<StoredBlock>,
        most: usize,
    ) -> Vec<(BlockKey, usize)> {
        self.clock += 1;
        let held = HeldBlock { block: Arc::clone(block), line, used: self.clock };
        // Two threads may have leased it at once: one of the leases goes back.
        let twice = self.blocks.insert(key, held).map(|before| (key, before.line));
        let mut left = Vec::from_iter(twice);
        while self.blocks.len() > most {
            let oldest = self.blocks.iter().min_by_key(|(_, held)| held.used);
            let Some((&key, _)) = oldest else { break };
            left.extend(self.blocks.remove(&key).map(|held| (key, held.line)));
        }
        left
    }

    fn of(&mut self, number: u64) -> Vec<(BlockKey, usize)> {
        let all = self.blocks.extract_if(|key, _| key.file == number);
        all.map(|(key, held)| (key, held.line)).collect()
    }

    fn all(&mut self) -> Vec<(BlockKey, usize)> {
        self.blocks.drain().map(|(key, held)| (key, held.line)).collect()
    }
}
