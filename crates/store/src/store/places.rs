//! Lookup of the stores that have the blocks of a file in memory.

use std::collections::HashMap;
use std::ops::Range;

use super::Store;
use super::peering::is_as_late;
use crate::cache::Backing;
use crate::path::StorePath;
use crate::places::{BlockPlaces, PlacesBuilder};
use crate::sharing::{FileId, NameLookup};
use crate::under::UnderVersion;

/// Version of a file, and the holders of its blocks on other stores.
enum Version {
    /// On the under level; directories name the holders.
    Under(UnderVersion),
    /// Only in the memory of this store.
    Here,
    /// Only in the memory of another store, which has all blocks.
    Elsewhere(UnderVersion, String),
}

impl Store {
    /// Returns the stores that have blocks of a file in memory, with this one named first. It is a
    /// hint: blocks are reported without holders if no answer arrives within about a second, if
    /// their store is dead, and if the file does not exist.
    pub fn places(&self, path: &StorePath, blocks: Range<u64>) -> BlockPlaces {
        let count = blocks.end.saturating_sub(blocks.start) as usize;
        let local_name = self.peers().map_or("", |peers| peers.name());
        let mut places = PlacesBuilder::new(count);
        places.store(local_name);
        let Some(version) = self.version_now(path) else { return places.done() };
        let here = match &version {
            Version::Here => None,
            Version::Under(version) | Version::Elsewhere(version, _) => Some(*version),
        };
        for index in self.blocks_here(path, here) {
            if blocks.contains(&index) {
                places.add((index - blocks.start) as usize, local_name);
            }
        }
        for (index, names) in self.elsewhere_in_memory(path, &version, &blocks) {
            let block = (index - blocks.start) as usize;
            names.iter().for_each(|name| places.add(block, name));
        }
        places.done()
    }

    /// Returns the version of the file that has a name now.
    fn version_now(&self, path: &StorePath) -> Option<Version> {
        if self.alone_at(path).is_some() {
            return Some(Version::Here);
        }
        let under = || self.under.facts(path).ok().filter(|facts| !facts.is_folder);
        let lookup = self.peers().map_or(NameLookup::Nothing, |peers| peers.find_soon(path));
        let facts = match lookup {
            NameLookup::Alone { owner, file } => {
                let version = file.id.version(file.size_bytes, file.closed_ns);
                return Some(Version::Elsewhere(version, owner));
            }
            NameLookup::Lost { closed_ns, .. } => {
                under().filter(|facts| is_as_late(facts.version.modified_ns, closed_ns))
            }
            NameLookup::Nothing => under(),
        };
        facts.map(|facts| Version::Under(facts.version))
    }

    /// Returns the blocks in this memory of a file in a version, or of a memory-only file for
    /// `None`.
    fn blocks_here(&self, path: &StorePath, version: Option<UnderVersion>) -> Vec<u64> {
        let state = self.cache.lock();
        let Some((number, cached)) = state.file_at(path) else { return vec![] };
        let is_same = match version {
            None => state.backing(number) != Backing::Under,
            Some(version) => version == cached,
        };
        let blocks = if is_same { state.blocks(Some(number)) } else { vec![] };
        blocks.iter().map(|block| block.key.index).collect()
    }

    /// Returns the other stores that have each of some blocks.
    fn elsewhere_in_memory(
        &self,
        path: &StorePath,
        version: &Version,
        blocks: &Range<u64>,
    ) -> HashMap<u64, Vec<String>> {
        match (version, self.peers()) {
            (Version::Under(version), Some(peers)) => {
                let file = FileId::of_under(path, version, self.options.block_bytes);
                peers.holders(file, self.within(version, blocks))
            }
            (Version::Elsewhere(version, owner), _) => {
                let named = |index| (index, vec![owner.clone()]);
                self.within(version, blocks).map(named).collect()
            }
            _ => HashMap::new(),
        }
    }

    /// Limits a range of blocks to those that a version has.
    fn within(&self, version: &UnderVersion, blocks: &Range<u64>) -> Range<u64> {
        let end = version.size_bytes.div_ceil(self.options.block_bytes).min(blocks.end);
        blocks.start..end.max(blocks.start)
    }
}
