//! A client of the daemon: its questions, and the leases and files that it holds until it ends.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cuesta_core::{Error, Result};

use super::Daemon;
use crate::cache::BlockKey;
use crate::cache::policy::admission::LoadReason;
use crate::path::StorePath;
use crate::permissions;
use crate::store::names::sweep::SweepOptions;
use crate::store::{BlockLease, WritePlace};
use crate::wire::{PAYLOAD_BYTES_MAX, PLACES_MAX, Question, Reply};

/// A client, with its leases and files.
pub(super) struct Conversation<'a> {
    daemon: &'a Daemon,
    opens: Vec<u64>,
    leases: HashMap<BlockKey, u64>,
    /// Files that it is writing.
    writes: Vec<u64>,
    /// The block of its last lease.
    last: Option<BlockKey>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(daemon: &'a Daemon) -> Self {
        Self { daemon, opens: vec![], leases: HashMap::new(), writes: vec![], last: None }
    }

    pub(super) fn answer(&mut self, question: &Question, payload: &mut Vec<u8>) -> Result<Reply> {
        let Daemon { store, is_stopping, .. } = self.daemon;
        let done = Ok(Reply::Done { done: true });
        match *question {
            Question::Ping => done,
            Question::Status => Ok(Reply::Status(Box::new(self.daemon.status()))),
            Question::Open { ref path } => {
                let file = store.open_file(path)?;
                self.opens.push(file.number);
                Ok(Reply::Opened {
                    number: file.number,
                    block_bytes: store.options().block_bytes,
                    file: path.below(&self.daemon.under),
                    version: file.version,
                })
            }
            Question::Close { number } => {
                if let Some(place) = self.opens.iter().position(|&open| open == number) {
                    self.opens.swap_remove(place);
                    store.close(number);
                }
                done
            }
            Question::Lease { number, index } => self.lease(BlockKey { file: number, index }),
            Question::Release { number, index } => {
                self.release(BlockKey { file: number, index });
                done
            }
            Question::Read { number, offset, bytes } => self.read((number, offset), bytes, payload),
            Question::Stat { ref path } => self.daemon.stat(path),
            Question::List { ref path } => self.daemon.list(path),
            Question::Places { ref path, first, count } => self.places(path, first, count),
            Question::Load { ref path } => store.load(path).map(|bytes| Reply::Moved { bytes }),
            Question::Pin { ref path } => store.pin(path).map(|bytes| Reply::Moved { bytes }),
            Question::Unpin { ref path } => {
                store.unpin(path);
                done
            }
            Question::Free { ref path } => store.free(path).map(|bytes| Reply::Moved { bytes }),
            Question::Trace { ref file } => {
                store.trace(file.as_deref())?;
                done
            }
            Question::Scrub => Ok(Reply::Scrubbed { damaged: store.scrub() }),
            Question::Stop { discards, discards_memory } => {
                if !discards {
                    self.daemon.drain_to_stop(discards_memory)?;
                }
                is_stopping.store(true, Ordering::Relaxed);
                done
            }
            Question::Fits { bytes } => store.check_size(bytes).and(done),
            Question::Place { number, .. }
            | Question::Hole { number, .. }
            | Question::Seal { number, .. }
            | Question::Commit { number, .. }
            | Question::Abandon { number } => {
                if !self.writes.contains(&number) {
                    let text = format!("file {number} is not written on this connection");
                    return Err(Error::input("store", text));
                }
                self.write(question)
            }
            _ => self.change(question),
        }
    }

    /// Answers questions that create, remove or change files.
    fn change(&mut self, question: &Question) -> Result<Reply> {
        let store = &self.daemon.store;
        match *question {
            Question::Create { ref path, mode, permissions } => {
                let mode = mode.unwrap_or(self.daemon.write);
                let bits = permissions::checked(permissions)?;
                let created = store.create_as(path, mode, bits)?;
                self.writes.push(created);
                let block_bytes = store.options().block_bytes;
                return Ok(Reply::Created { created, block_bytes, mode });
            }
            Question::Flush { ref path } => {
                return store.flush(path.as_ref()).map(|bytes| Reply::Moved { bytes });
            }
            Question::Audit { reads_bytes } => {
                return Ok(Reply::Audited(Box::new(store.audit(reads_bytes))));
            }
            Question::Sweep { ref path, is_dry, older_than } => {
                let older_than = older_than.map(Duration::from_secs);
                let parts = store.sweep(path, SweepOptions { is_dry, older_than })?;
                return Ok(Reply::Swept { parts });
            }
            Question::Remove { ref path } => store.remove_name(path)?,
            Question::Rename { ref path, ref to, is_new } => store.rename_as(path, to, is_new)?,
            Question::MakeFolder { ref path, permissions } => {
                store.make_folder_as(path, permissions::checked(permissions)?)?;
            }
            Question::Permit { ref path, permissions } => store.permit(path, permissions)?,
            _ => (),
        }
        Ok(Reply::Done { done: true })
    }

    /// Answers questions about a file that this connection writes.
    fn write(&mut self, question: &Question) -> Result<Reply> {
        let store = &self.daemon.store;
        match *question {
            Question::Place { number, index, past_memory } => {
                let place = store.place(BlockKey { file: number, index }, past_memory)?;
                return Ok(match place {
                    WritePlace::Memory(place) => Reply::Placed { place, is_memory: true },
                    WritePlace::Under(place) => Reply::Placed { place, is_memory: false },
                });
            }
            Question::Hole { number, first, count } => {
                let place = store.leave_hole(number, first, count)?;
                return Ok(Reply::Placed { place, is_memory: false });
            }
            Question::Seal { number, index, bytes } => {
                store.seal(BlockKey { file: number, index }, bytes)?;
            }
            Question::Commit { number, bytes, is_new, permissions } => {
                let bits = permissions::checked(permissions)?;
                self.writes.retain(|&written| written != number);
                // The lock is held until the file has its name: a stop of the store waits for it.
                let is_closing =
                    self.daemon.is_closing.read().unwrap_or_else(PoisonError::into_inner);
                if *is_closing {
                    store.abandon(number);
                    return Err(Error::input("store", "the store is being stopped"));
                }
                if let Some(bits) = bits {
                    store.permit_written(number, bits)?;
                }
                store.commit_as(number, bytes, is_new)?;
            }
            Question::Abandon { number } => {
                self.writes.retain(|&written| written != number);
                store.abandon(number);
            }
            _ => (),
        }
        Ok(Reply::Done { done: true })
    }

    fn places(&self, path: &StorePath, first: u64, count: u64) -> Result<Reply> {
        match first.checked_add(count) {
            Some(end) if count <= PLACES_MAX => {
                Ok(Reply::Places(self.daemon.store.places(path, first..end)))
            }
            _ => {
                let text = format!("{count} blocks from {first} on: give {PLACES_MAX} at most");
                Err(Error::input("store", text))
            }
        }
    }

    fn check_open(&self, number: u64) -> Result<()> {
        if self.opens.contains(&number) {
            return Ok(());
        }
        Err(Error::input("store", format!("file {number} is not open on this connection")))
    }

    fn lease(&mut self, key: BlockKey) -> Result<Reply> {
        self.check_open(key.file)?;
        let reason = if self.last == Some(key) { LoadReason::ReadOn } else { LoadReason::Read };
        self.last = Some(key);
        Ok(match self.daemon.store.lease_as(key, reason)? {
            BlockLease::Memory(block, path) => {
                *self.leases.entry(key).or_default() += 1;
                let (size_bytes, checksum) = (block.size_bytes, block.checksum);
                Reply::Leased { path: Some(path), size_bytes, checksum }
            }
            BlockLease::Bypass => Reply::Leased { path: None, size_bytes: 0, checksum: 0 },
        })
    }

    fn release(&mut self, key: BlockKey) {
        if let Some(count) = self.leases.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.leases.remove(&key);
            }
            self.daemon.store.release(key);
        }
    }

    /// Reads bytes from memory where their block is or can be loaded there, else from the under
    /// level.
    fn read(
        &mut self,
        (number, offset): (u64, u64),
        bytes: u32,
        to: &mut Vec<u8>,
    ) -> Result<Reply> {
        self.check_open(number)?;
        if bytes > PAYLOAD_BYTES_MAX {
            let text = format!("{bytes} bytes are more than {PAYLOAD_BYTES_MAX} at once");
            return Err(Error::input("store", text));
        }
        to.resize(bytes as usize, 0);
        self.daemon.store.read_on(&mut self.last, number, to, offset)?;
        Ok(Reply::Moved { bytes: bytes.into() })
    }
}

impl Drop for Conversation<'_> {
    fn drop(&mut self) {
        for (&key, &count) in &self.leases {
            (0..count).for_each(|_| self.daemon.store.release(key));
        }
        self.opens.iter().for_each(|&number| self.daemon.store.close(number));
        self.writes.iter().for_each(|&number| self.daemon.store.abandon(number));
    }
}
