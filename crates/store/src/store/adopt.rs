//! Adoption of the state that an earlier store left: its blocks, and the files that they belong to.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use cuesta_runtime::removal::{FolderEntry, FolderHandle};
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
    /// Saves the description of a file beside its blocks, for the next store, unless that could not
    /// distinguish a later version from this one.
    pub(super) fn save_facts(&self, number: u64, file: &FileVersion) -> io::Result<()> {
        let _writing = lock(&self.facts);
        let path = self.files.join(facts_name(number));
        let is_young = self.cache.lock().is_young(number);
        // A file or a link of another program may have the name.
        match (is_young, path.symlink_metadata().is_ok()) {
            (true, true) => return self.remove_facts(number),
            (false, false) => (),
            _ => return Ok(()),
        }
        let saved = SavedFile { file: file.clone(), block_bytes: self.options.block_bytes };
        write_atomically(&path, &serde_json::to_vec(&saved)?)
    }

    /// Removes the saved description of a file, unless another program created what has its name.
    pub(super) fn remove_facts(&self, number: u64) -> io::Result<()> {
        let folder = FolderHandle::open(&self.files)?;
        let name = OsString::from(facts_name(number));
        let entry = match folder.stat_of(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            stat => FolderEntry { stat: stat?, name },
        };
        if is_fact(&folder, &entry) { folder.remove_file(&entry.name) } else { Ok(()) }
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

/// Returns the name of the description of a file.
fn facts_name(number: u64) -> String {
    format!("{number:x}.json")
}

/// Returns whether a block belongs to a file at this store's block size.
fn is_block_of(file: &FileVersion, block: &SealedBlock, options: &StoreOptions) -> bool {
    let size_bytes = file.block_size(block.key.index, options.block_bytes);
    size_bytes > 0 && size_bytes == block.size_bytes
}
