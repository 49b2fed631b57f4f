//! Which stores of a job have blocks of a file in memory, as they tell each other and clients.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Stores that are named for one block, at most: schedulers look at a few.
pub const HOLDERS_MAX: usize = 10;

/// Which stores have each of some blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockPlaces {
    /// Names of stores.
    pub stores: Vec<String>,
    /// For each block the places, in `stores`, of those that have it.
    pub holders: Vec<Vec<u32>>,
}

impl BlockPlaces {
    /// Whether this answers a question for so many blocks, within all bounds.
    pub fn answers(&self, count: usize) -> bool {
        let is_sound = |holders: &Vec<u32>| {
            let known = |&place: &u32| (place as usize) < self.stores.len();
            holders.len() <= HOLDERS_MAX && holders.iter().all(known)
        };
        self.holders.len() == count && self.holders.iter().all(is_sound)
    }

    /// The names of those that have a block.
    pub fn of(&self, block: usize) -> impl Iterator<Item = &str> {
        let holders = self.holders.get(block).into_iter().flatten();
        holders.filter_map(move |&place| self.stores.get(place as usize)).map(String::as_str)
    }
}

/// Blocks whose holders are found one by one.
#[derive(Debug)]
pub struct PlacesBuilder {
    found: BlockPlaces,
    known: HashMap<String, u32>,
}

impl PlacesBuilder {
    /// So many blocks, which nobody has yet.
    pub fn new(count: usize) -> Self {
        let found = BlockPlaces { stores: vec![], holders: vec![vec![]; count] };
        Self { found, known: HashMap::new() }
    }

    /// The place of a store among those that are named.
    pub fn store(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.known.get(name) {
            return place;
        }
        let place = self.found.stores.len() as u32;
        self.found.stores.push(name.to_owned());
        self.known.insert(name.to_owned(), place);
        place
    }

    /// A store has a block. One that is not asked for, or too many stores, are left out.
    pub fn add(&mut self, block: usize, name: &str) {
        let store = self.store(name);
        if let Some(holders) = self.found.holders.get_mut(block)
            && holders.len() < HOLDERS_MAX
            && !holders.contains(&store)
        {
            holders.push(store);
        }
    }

    /// All that was found.
    pub fn done(self) -> BlockPlaces {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_answers_another_question_or_names_nobody_is_no_answer() {
        let places = |stores: usize, holders: Vec<Vec<u32>>| BlockPlaces {
            stores: vec!["a:1".to_owned(); stores],
            holders,
        };
        assert!(places(2, vec![vec![1, 0], vec![]]).answers(2));
        assert!(!places(2, vec![vec![1, 0], vec![]]).answers(3));
        assert!(!places(2, vec![vec![2]]).answers(1));
        assert!(!places(1, vec![vec![0; HOLDERS_MAX + 1]]).answers(1));
    }

    proptest! {
        #[test]
        fn those_that_were_added_are_named_once_in_their_order(
            added in prop::collection::vec((0..4_usize, 0..14_usize), 0..80),
        ) {
            let mut builder = PlacesBuilder::new(3);
            let mut expected = vec![Vec::<String>::new(); 4];
            for &(block, store) in &added {
                let name = format!("s{store}:1");
                builder.add(block, &name);
                if !expected[block].contains(&name) && expected[block].len() < HOLDERS_MAX {
                    expected[block].push(name);
                }
            }
            let found = builder.done();
            prop_assert!(found.answers(3));
            for (block, names) in expected[..3].iter().enumerate() {
                prop_assert_eq!(&found.of(block).collect::<Vec<_>>(), names);
            }
            prop_assert_eq!(found.of(3).count(), 0);
        }
    }
}
