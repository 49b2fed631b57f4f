//! Where the blocks of a file are in memory: here, and in other stores of the job.

use std::collections::HashMap;
use std::ops::Range;

use cuesta_runtime::parallel::lock;

use super::Store;
use super::peering::is_as_late;
use super::state::Backing;
use crate::path::StorePath;
use crate::peers::NameLookup;
use crate::peers::limits::PLACES_TIMEOUT;
use crate::peers::message::FileId;
use crate::places::{BlockPlaces, PlacesBuilder};
use crate::under::UnderVersion;

/// A version of a file, and who has its blocks beside this store.
enum Version {
    /// On the under level: those that directories name.
    Under(UnderVersion),
    /// In the memory of this store alone.
    Here,
    /// In the memory of another store alone, which has all of them.
    Elsewhere(UnderVersion, String),
}

impl Store {
    /// Which stores have blocks of a file in memory, this one named first. A hint: nobody has what
    /// is not said within about a second, what died with its store, and the blocks of no file.
    pub fn places(&self, path: &StorePath, blocks: Range<u64>) -> BlockPlaces {
        let count = blocks.end.saturating_sub(blocks.start) as usize;
        let own = self.peers().map_or("", |peers| peers.name());
        let mut found = PlacesBuilder::new(count);
        found.store(own);
        let Some(version) = self.version_now(path) else { return found.done() };
        let here = match &version {
            Version::Here => None,
            Version::Under(version) | Version::Elsewhere(version, _) => Some(*version),
        };
        for index in self.blocks_here(path, here) {
            if blocks.contains(&index) {
                found.add((index - blocks.start) as usize, own);
            }
        }
        for (index, names) in self.elsewhere_in_memory(path, &version, &blocks) {
            let block = (index - blocks.start) as usize;
            names.iter().for_each(|name| found.add(block, name));
        }
        found.done()
    }

    /// The file that has a name now.
    fn version_now(&self, path: &StorePath) -> Option<Version> {
        if self.alone_at(path).is_some() {
            return Some(Version::Here);
        }
        let under = || self.under.facts(path).ok().filter(|facts| !facts.is_folder);
        let found = self
            .peers()
            .map_or(NameLookup::Nothing, |peers| peers.find_within(path, PLACES_TIMEOUT));
        let facts = match found {
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

    /// The blocks here of a file in a version; of one in memory alone, without.
    fn blocks_here(&self, path: &StorePath, version: Option<UnderVersion>) -> Vec<u64> {
        let state = lock(&self.state);
        let Some((number, known)) = state.known(path) else { return vec![] };
        let is_it = match version {
            None => state.backing(number) != Backing::Under,
            Some(version) => version == known,
        };
        let blocks = if is_it { state.blocks(Some(number)) } else { vec![] };
        blocks.iter().map(|block| block.key.index).collect()
    }

    /// Which other stores have those of some blocks that there are.
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

    /// Those of some blocks that a version has.
    fn within(&self, version: &UnderVersion, blocks: &Range<u64>) -> Range<u64> {
        let end = version.size_bytes.div_ceil(self.options.block_bytes).min(blocks.end);
        blocks.start..end.max(blocks.start)
    }
}
