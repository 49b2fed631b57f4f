//! Files whose bytes come from another member: memory-only files, and blocks of files of the under
//! level where the member is faster.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cuesta_runtime::parallel::lock;

use super::Peers;
use super::limits::{ANSWER_TIMEOUT, PIECE_BYTES, TICK};
use super::members::Member;
use super::message::{PeerQuestion, PeerReply};
use super::rates::is_peer_nearer;
use crate::cache::{BlockSource, FileVersion, SourceBlock};
use crate::path::StorePath;
use crate::sharing::{FileId, RemoteStores};
use crate::under::layout::Layout;
use crate::under::{UnderFile, UnderVersion};

/// A block of a file in the memory of another member.
struct Place {
    member: Arc<Member>,
    file: FileId,
    index: u64,
    /// Offset in the file of its first byte.
    start: u64,
}

impl Place {
    /// Fills `buffer` from an offset in the file, all within the block; returns the checksum of the
    /// block. `None` where the member no longer has it.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<Option<u32>>> {
        let (within, begun) = (offset - self.start, Instant::now());
        let mut checksum = None;
        for (piece, place) in buffer.chunks_mut(PIECE_BYTES).zip((within..).step_by(PIECE_BYTES)) {
            let question = PeerQuestion::Read {
                file: self.file,
                index: self.index,
                offset: place,
                bytes: piece.len() as u32,
            };
            let answer =
                self.member.ask(&question, ANSWER_TIMEOUT, |reply, payload| match reply {
                    PeerReply::Piece { checksum } if payload.len() == piece.len() => {
                        piece.copy_from_slice(payload);
                        Ok(Some(checksum))
                    }
                    PeerReply::Refused { error, .. } => Err(io::Error::other(error)),
                    _ => Ok(None),
                })??;
            let Some(received) = answer else { return Ok(None) };
            checksum = received;
        }
        self.member.measured(buffer.len(), begun.elapsed());
        self.member.read.add(within, buffer.len() as u64);
        Ok(Some(checksum))
    }
}

/// A block of a file of the under level, read from there or from a member, whichever is faster.
struct NearerFile {
    peers: Arc<Peers>,
    under: Arc<dyn UnderFile>,
    place: Option<Place>,
    /// Whether the member failed to provide it.
    has_failed: AtomicBool,
    /// Its checksum as the member reports it.
    checksum: OnceLock<u32>,
}

impl NearerFile {
    fn is_place_nearer(&self, place: &Place, bytes: usize) -> bool {
        let (peer, under) = (*lock(&place.member.rate), *lock(&self.peers.under_rate));
        !self.has_failed.load(Ordering::Relaxed)
            && place.member.is_live()
            && is_peer_nearer(&peer, &under, bytes, self.peers.local.now())
    }

    /// Returns whether a member sent the bytes.
    fn read_from_peer(&self, buffer: &mut [u8], offset: u64) -> bool {
        let Some(place) =
            self.place.as_ref().filter(|place| self.is_place_nearer(place, buffer.len()))
        else {
            return false;
        };
        match place.read(buffer, offset) {
            Ok(Some(checksum)) => {
                checksum.map(|checksum| self.checksum.get_or_init(|| checksum));
                return true;
            }
            // A block may be evicted at any time.
            Ok(None) => (),
            Err(_) => lock(&place.member.rate).failed(buffer.len(), self.peers.local.now()),
        }
        self.has_failed.store(true, Ordering::Relaxed);
        false
    }
}

impl UnderFile for NearerFile {
    fn layout(&self) -> Layout {
        self.under.layout()
    }

    fn version(&self) -> io::Result<UnderVersion> {
        self.under.version()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if self.read_from_peer(buffer, offset) {
            return Ok(());
        }
        let begun = Instant::now();
        self.under.read_exact_at(buffer, offset)?;
        let mut rate = lock(&self.peers.under_rate);
        rate.measured(buffer.len(), begun.elapsed(), self.peers.local.now());
        Ok(())
    }
}

impl SourceBlock for NearerFile {
    fn is_nearer(&self) -> bool {
        self.place.as_ref().is_some_and(|place| self.is_place_nearer(place, PIECE_BYTES))
    }

    fn checksum(&self) -> Option<u32> {
        self.checksum.get().copied()
    }
}

/// A memory-only file of another member.
struct RemoteFile {
    peers: Arc<Peers>,
    member: Arc<Member>,
    path: StorePath,
    file: FileId,
    version: UnderVersion,
    block_bytes: u64,
}

impl RemoteFile {
    /// Fills `buffer` from an offset in the file, within one block; tries again until the member
    /// dies or answers.
    fn read_block(&self, index: u64, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let (member, file) = (Arc::clone(&self.member), self.file);
        let block = Place { member, file, index, start: index * self.block_bytes };
        let begun = Instant::now();
        loop {
            match block.read(buffer, offset) {
                Ok(Some(_)) => return Ok(()),
                // Replaced or removed there: no longer the version that was opened.
                Ok(None) => return Err(ErrorKind::InvalidData.into()),
                Err(_) if !self.member.is_live() => {
                    let what = format!("block {index} of {}", self.path);
                    let error = self.peers.lost(&what, &self.member.name);
                    return Err(io::Error::new(ErrorKind::HostUnreachable, error));
                }
                Err(error)
                    if error.kind() == ErrorKind::Other || begun.elapsed() > ANSWER_TIMEOUT =>
                {
                    return Err(error);
                }
                Err(_) => std::thread::sleep(TICK),
            }
        }
    }
}

impl UnderFile for RemoteFile {
    fn version(&self) -> io::Result<UnderVersion> {
        Ok(self.version)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if offset.saturating_add(buffer.len() as u64) > self.version.size_bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < buffer.len() {
            let place = offset + done as u64;
            let index = place / self.block_bytes;
            let start = index * self.block_bytes;
            let size_bytes = (start + self.block_bytes - place).min((buffer.len() - done) as u64);
            let piece = &mut buffer[done..done + size_bytes as usize];
            self.read_block(index, piece, place)?;
            done += size_bytes as usize;
        }
        Ok(())
    }
}

impl BlockSource for Peers {
    fn block(
        self: Arc<Self>,
        file: &FileVersion,
        index: u64,
        under: &Arc<dyn UnderFile>,
        is_certain: bool,
    ) -> Arc<dyn SourceBlock> {
        let block_bytes = self.local.block_bytes;
        let id = || FileId::of_under(&file.path, &file.version, block_bytes);
        let id = is_certain.then(id);
        let located = id.and_then(|id| self.locate(id, index).zip(Some(id)));
        let start = index * block_bytes;
        let place = located.map(|(member, file)| Place { member, file, index, start });
        Arc::new(NearerFile {
            peers: self,
            under: Arc::clone(under),
            place,
            has_failed: AtomicBool::new(false),
            checksum: OnceLock::new(),
        })
    }

    fn open(
        self: Arc<Self>,
        path: &StorePath,
        version: UnderVersion,
    ) -> io::Result<Arc<dyn UnderFile>> {
        let (owner, file) = self.owner_of(path, &version).ok_or(ErrorKind::InvalidData)?;
        let member = self.member(&owner).ok_or_else(|| {
            io::Error::new(ErrorKind::HostUnreachable, self.lost(&path.to_string(), &owner))
        })?;
        let (path, block_bytes) = (path.clone(), self.local.block_bytes);
        Ok(Arc::new(RemoteFile { peers: self, member, path, file, version, block_bytes }))
    }
}
