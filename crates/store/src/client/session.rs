//! Session of a process with a store.

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
use crate::cache::BlockKey;
use crate::memory::PIECE_BYTES;
use crate::under::posix::PosixUnder;
use crate::wire::{Question, Reply};

/// Connections, files and blocks until the store is lost; afterwards, only the under level.
#[derive(Debug)]
pub struct Session {
    pub(super) under: PosixUnder,
    process: u32,
    is_lost: AtomicBool,
    /// Each connection serves the files whose paths hash to its index, the `slot`; it is opened for
    /// the first of them.
    connections: [Mutex<Option<Connection>>; CONNECTIONS],
    patience: Patience,
    pub(super) folder: PathBuf,
    leases_max: usize,
    pub(super) files: Mutex<HashMap<u64, Weak<OpenFile>>>,
    leased: Mutex<LeasedBlocks>,
}

/// Blocks leased by this process.
#[derive(Debug, Default)]
struct LeasedBlocks {
    blocks: HashMap<BlockKey, CachedLease>,
    /// Counter of uses.
    clock: u64,
}

#[derive(Debug)]
struct CachedLease {
    block: Arc<StoredBlock>,
    slot: usize,
    used: u64,
}

/// Result of a lease.
pub enum Leased {
    /// The block.
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
    /// `NotConnected` where no store runs or it does not answer; `PermissionDenied` where another
    /// account owns the folder or the daemon; errors of opening the under level.
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
        let under =
            PosixUnder::open(&status.under).map_err(|error| io::Error::other(error.sentence()))?;
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
            leased: Mutex::default(),
        })
    }

    /// Returns whether this process opened it, rather than a process that it was forked from.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Returns whether the store has ended or hangs.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Stops using the store.
    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Asks on the connection of a `slot`; returns `None` where the store is lost, for good.
    ///
    /// # Errors
    /// As [`Connection::ask`].
    pub fn ask(&self, slot: usize, question: &Question) -> io::Result<Option<Reply>> {
        self.ask_with(slot, question, |_| ())
    }

    /// Fills `into` with bytes of an open file from the store itself; returns whether it has them.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); the store's error where it refuses.
    pub fn read(&self, slot: usize, number: u64, into: &mut [u8], offset: u64) -> io::Result<bool> {
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
            match self.ask_with(slot, &question, take)? {
                Some(Reply::Moved { .. }) if is_read => (),
                Some(Reply::Refused { error, .. }) => return Err(refused(&error)),
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn ask_with(
        &self,
        slot: usize,
        question: &Question,
        take: impl FnOnce(&[u8]),
    ) -> io::Result<Option<Reply>> {
        if self.is_lost() || !self.is_of_this_process() {
            return Ok(None);
        }
        let mut connection = lock(&self.connections[slot]);
        // The thread that held the lock may have lost the store meanwhile.
        if self.is_lost() {
            return Ok(None);
        }
        if connection.is_none() {
            *connection = Connection::open(&self.folder, self.patience).ok();
        }
        let reply = match &mut *connection {
            Some(connection) => connection.ask(question),
            None => Ok(None),
        };
        match (&reply, &*connection) {
            (Ok(Some(_)), Some(connection)) => take(&connection.payload),
            _ => self.lose(),
        }
        reply
    }

    /// Leases a block of an open file, until later leases displace it.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; as [`ask`](Self::ask).
    pub fn lease(&self, slot: usize, key: BlockKey) -> io::Result<Leased> {
        if let Some(block) = lock(&self.leased).get(key) {
            return Ok(Leased::Block(block));
        }
        let question = Question::Lease { number: key.file, index: key.index };
        let Some(reply) = self.ask(slot, &question)? else { return Ok(Leased::Lost) };
        let (path, size_bytes) = match reply {
            Reply::Leased { path: Some(path), size_bytes, .. } => (path, size_bytes),
            Reply::Leased { path: None, .. } => {
                // Cached leases without readers may be what takes the room.
                let idle = lock(&self.leased).all();
                self.release_all(idle);
                return Ok(Leased::NoRoom);
            }
            Reply::Refused { error, is_input: true, .. } => {
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
            // If the store cannot read the block, the reader gets the cause from the under level.
            _ => return Ok(Leased::NoRoom),
        };
        let Ok(block) = StoredBlock::open(&path, size_bytes) else {
            self.ask(slot, &Question::Release { number: key.file, index: key.index })?;
            return Ok(Leased::NoRoom);
        };
        let block = Arc::new(block);
        let displaced = lock(&self.leased).put(key, slot, &block, self.leases_max);
        self.release_all(displaced);
        Ok(Leased::Block(block))
    }

    /// Releases the blocks of a file, and closes it as often as it was opened. `slot` is that of
    /// its path. Errors are ignored.
    pub fn close(&self, slot: usize, number: u64, opens: u64) {
        let leased = lock(&self.leased).of(number);
        self.release_all(leased);
        for _ in 0..opens {
            let _ = self.ask(slot, &Question::Close { number });
        }
    }

    fn release_all(&self, leases: Vec<(BlockKey, usize)>) {
        for (key, slot) in leases {
            // A store that does not receive it sees the connection closed at the end.
            let _ = self.ask(slot, &Question::Release { number: key.file, index: key.index });
        }
    }
}

impl LeasedBlocks {
    fn get(&mut self, key: BlockKey) -> Option<Arc<StoredBlock>> {
        self.clock += 1;
        let leased = self.blocks.get_mut(&key)?;
        leased.used = self.clock;
        Some(Arc::clone(&leased.block))
    }

    /// Adds a lease; returns the leases that exceed the limit.
    fn put(
        &mut self,
        key: BlockKey,
        slot: usize,
        block: &Arc<StoredBlock>,
        most: usize,
    ) -> Vec<(BlockKey, usize)> {
        self.clock += 1;
        let leased = CachedLease { block: Arc::clone(block), slot, used: self.clock };
        // Two threads may have leased the block at the same time: one of the leases is released.
        let twice = self.blocks.insert(key, leased).map(|before| (key, before.slot));
        let mut displaced = Vec::from_iter(twice);
        while self.blocks.len() > most {
            let oldest = self.blocks.iter().min_by_key(|(_, leased)| leased.used);
            let Some((&key, _)) = oldest else { break };
            displaced.extend(self.blocks.remove(&key).map(|leased| (key, leased.slot)));
        }
        displaced
    }

    fn of(&mut self, number: u64) -> Vec<(BlockKey, usize)> {
        let all = self.blocks.extract_if(|key, _| key.file == number);
        all.map(|(key, leased)| (key, leased.slot)).collect()
    }

    fn all(&mut self) -> Vec<(BlockKey, usize)> {
        self.blocks.drain().map(|(key, leased)| (key, leased.slot)).collect()
    }
}
