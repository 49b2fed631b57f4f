//! Adoption of the state that an earlier store left: its blocks, and the files that they belong to.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use cuesta_runtime::removal::FolderHandle;
use serde::{Deserialize, Serialize};

use super::{OPERATION, Store, StoreOptions};
use crate::cache::{FileVersion, SealedBlock};
use crate::folder::names::{is_fact, number_in};
use crate::writeback::write_atomically;

/// First bytes of the text about a file.
pub const SAVED_FILE_BEGIN: &[u8] = br#"{"file":"#;

/// Saved description of a file with blocks in memory.
#[derive(Serialize, Deserialize)]
struct SavedFile {
    file: FileVersion,
    block_bytes: u64,
}

impl Store {
    pub(super) fn facts_path(&self, number: u64) -> PathBuf {
        self.files.join(format!("{number:x}.json"))
    }

    /// Saves the description of a file beside its blocks, for the next store, unless that could not
    /// distinguish a later version from this one.
    pub(super) fn save_facts(&self, number: u64, file: &FileVersion) -> io::Result<()> {
        let _writing = lock(&self.facts);
        let path = self.facts_path(number);
        let is_young = self.cache.lock().is_young(number);
        match (is_young, path.exists()) {
            (true, true) => return fs::remove_file(&path),
            (false, false) => (),
            _ => return Ok(()),
        }
        let saved = SavedFile { file: file.clone(), block_bytes: self.options.block_bytes };
        write_atomically(&path, &serde_json::to_vec(&saved)?)
    }

    /// Adopts the blocks of an earlier store whose files are known, and removes the others. Files
    /// that the store did not create are left alone, and the numbers in their names are not used.
    pub(super) fn adopt(&self) -> Result<()> {
        let failed = |cause| Error::system(OPERATION, "reading", &self.files, &cause);
        let mut by_file: HashMap<u64, Vec<SealedBlock>> = HashMap::new();
        for block in self.tier.scan()? {
            let blocks = by_file.entry(block.key.file).or_default();
            // Of two blocks with the same key, the later is retained: the earlier was to be
            // removed.
            if let Some(before) = blocks.pop_if(|before| before.key == block.key) {
                self.remove(&[before]);
            }
            blocks.push(block);
        }
        self.recover(&mut by_file)?;
        let mut state = self.cache.lock();
        let mut unwanted = Vec::new();
        let mut room = self.options.memory_bytes.saturating_sub(state.used_bytes());
        let folder = FolderHandle::open(&self.files).map_err(failed)?;
        for entry in folder.entries().map_err(failed)? {
            let number = number_in(&entry.name);
            number.into_iter().for_each(|number| state.number_from(number + 1));
            if !is_fact(&folder, &entry) {
                continue;
            }
            let mut text = Vec::new();
            let read = folder.open_file(&entry.name).and_then(|mut f| f.read_to_end(&mut text));
            let saved = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
            // Blocks of another block size are other parts of the file.
            let saved =
                saved.filter(|saved: &SavedFile| saved.block_bytes == self.options.block_bytes);
            let file = saved.map(|saved| saved.file);
            // A memory-only file is newer than any version of the under level.
            let file = file.filter(|file| state.file_at(&file.path).is_none());
            let identified = number.zip(file);
            let blocks = identified.as_ref().and_then(|(number, _)| by_file.remove(number));
            let (Some((number, file)), Some(blocks)) = (identified, blocks) else {
                let _ = folder.remove_file(&entry.name);
                continue;
            };
            let (blocks, rest): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| {
                let fits = block.size_bytes <= room && is_block_of(&file, block, &self.options);
                room -= if fits { block.size_bytes } else { 0 };
                fits
            });
            unwanted.extend(rest);
            state.adopt(number, file, &blocks);
        }
        drop(state);
        self.remove(&unwanted);
        by_file.into_values().for_each(|blocks| self.remove(&blocks));
        Ok(())
    }
}

/// Returns whether a block belongs to a file at this store's block size.
fn is_block_of(file: &FileVersion, block: &SealedBlock, options: &StoreOptions) -> bool {
    let size_bytes = file.block_size(block.key.index, options.block_bytes);
    size_bytes > 0 && size_bytes == block.size_bytes
}
