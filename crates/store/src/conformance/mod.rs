//! Conformance suite of under levels, and of stores over them: whoever adds an [`Under`] runs it.
//! Crate feature `conformance`; nothing of it is in a release.
//!
//! A test of one's own needs a function that makes an empty under level:
//!
//! ```
//! use cuesta_store::conformance::{check_store, check_under};
//! use cuesta_store::under::model::ModelUnder;
//!
//! check_under(|| Box::new(ModelUnder::default()));
//! let folder = tempfile::tempdir().unwrap();
//! check_store(|| Box::new(ModelUnder::default()), folder.path());
//! ```
//!
//! A wrapper around another under level conforms if it does so over one that conforms; all of
//! [`crate::under`] are checked so in `tests/conformance.rs`.
//!
//! Safe to change: further checks. What breaks: a check that an under level of others passed and
//! now fails is a change for them, in the changelog.
#![allow(clippy::unwrap_used)]

mod files;
mod names;
mod store;

use crate::cache::BlockKey;
use crate::path::StorePath;
use crate::store::{BlockLease, Store, WritePlace};
use crate::under::{Under, UnderVersion};
use crate::writeback::WriteMode;
pub use store::check_store;

/// Checks an under level; `make` creates an empty one for each check.
///
/// # Panics
/// If the under level does not conform, with the line of the check.
pub fn check_under(make: impl Fn() -> Box<dyn Under>) {
    files::are_written_read_and_replaced(&*make());
    files::are_hidden_until_they_have_their_name(&*make());
    names::are_listed_renamed_and_removed(&*make());
    names::are_refused_if_they_exist(&*make());
    names::are_refused_with_their_kind(&*make());
}

/// Returns the path of this name.
///
/// # Panics
/// If it is not a path of a store.
pub fn at(name: &str) -> StorePath {
    name.parse().unwrap()
}

/// Returns bytes that depend on the seed.
pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let stream = cuesta_core::random::Stream::new(seed, 0);
    (0..count as u64).map(|place| stream.bits(place) as u8).collect()
}

/// Writes a file to an under level, the end of its bytes first; returns its version.
///
/// # Panics
/// If that fails.
pub fn write_file(under: &dyn Under, name: &str, content: &[u8]) -> UnderVersion {
    let writer = under.create(&at(name), ".hidden").unwrap();
    let half = content.len() / 2;
    writer.write_all_at(&content[half..], half as u64).unwrap();
    writer.write_all_at(&content[..half], 0).unwrap();
    assert_eq!(writer.size_bytes().unwrap(), content.len() as u64);
    let version = writer.sync(None).unwrap();
    under.rename(&at(name).parent().unwrap().join(".hidden").unwrap(), &at(name)).unwrap();
    under.sync_names(&at(name)).unwrap();
    version
}

/// Returns the bytes of a file of an under level.
///
/// # Panics
/// If it cannot be read.
pub fn content(under: &dyn Under, name: &str) -> Vec<u8> {
    let file = under.open(&at(name)).unwrap();
    let mut bytes = vec![0; file.version().unwrap().size_bytes as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// Reads a complete file through leases, or from the under level where there is no room.
///
/// # Errors
/// Errors of the store.
pub fn read(store: &Store, name: &str) -> cuesta_core::Result<Vec<u8>> {
    let file = store.open_file(&at(name))?;
    let content = read_open(store, file.number, file.version.size_bytes);
    store.close(file.number);
    content
}

/// As [`read`], of an open file.
///
/// # Errors
/// Errors of the store.
///
/// # Panics
/// If a leased block is another than the requested one, or its file cannot be read.
pub fn read_open(store: &Store, number: u64, size_bytes: u64) -> cuesta_core::Result<Vec<u8>> {
    let block_bytes = store.options().block_bytes;
    let mut content = vec![0; size_bytes as usize];
    for (index, piece) in content.chunks_mut(block_bytes as usize).enumerate() {
        let key = BlockKey { file: number, index: index as u64 };
        match store.lease(key)? {
            BlockLease::Memory(block, path) => {
                assert_eq!((block.key, block.size_bytes), (key, piece.len() as u64));
                piece.copy_from_slice(&std::fs::read(path).unwrap());
                store.release(key);
            }
            BlockLease::Bypass => store.read_under(number, piece, key.index * block_bytes)?,
        }
    }
    Ok(content)
}

/// Writes a file like a client.
///
/// # Errors
/// Errors of the store; the file is then abandoned.
pub fn write(
    store: &Store,
    name: &str,
    content: &[u8],
    mode: WriteMode,
) -> cuesta_core::Result<()> {
    let number = store.create(&at(name), mode)?;
    let written = write_blocks(store, number, content);
    written.inspect_err(|_| store.abandon(number))?;
    store.commit(number, content.len() as u64)
}

/// Writes the blocks of a file that is not committed yet.
///
/// # Errors
/// Errors of the store.
///
/// # Panics
/// If the file of a block cannot be written.
pub fn write_blocks(store: &Store, number: u64, content: &[u8]) -> cuesta_core::Result<()> {
    let block_bytes = store.options().block_bytes;
    for (index, piece) in (0..).zip(content.chunks(block_bytes as usize)) {
        let key = BlockKey { file: number, index };
        match store.place(key, false)? {
            WritePlace::Memory(path) => {
                std::fs::write(path, piece).unwrap();
                store.seal(key, piece.len() as u64)?;
            }
            WritePlace::Under(_) => store.write_under(number, piece, index * block_bytes)?,
        }
    }
    Ok(())
}
