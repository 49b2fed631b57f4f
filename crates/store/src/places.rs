//! Stores of a job that have blocks of a file in memory, as sent between stores and to clients.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Most stores that are named as holders of a block: schedulers look at a few.
pub const HOLDERS_MAX: usize = 10;

/// The stores that have each of some blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockPlaces {
    /// Names of stores.
    pub stores: Vec<String>,
    /// For each block, the indexes in `stores` of its holders.
    pub holders: Vec<Vec<u32>>,
}

impl BlockPlaces {
    /// Returns whether this is a valid answer to a question for `count` blocks.
    pub fn answers(&self, count: usize) -> bool {
        let is_sound = |holders: &Vec<u32>| {
            let is_listed = |&place: &u32| (place as usize) < self.stores.len();
            holders.len() <= HOLDERS_MAX && holders.iter().all(is_listed)
        };
        self.holders.len() == count && self.holders.iter().all(is_sound)
    }

    /// Returns the names of the stores that have a block.
    pub fn of(&self, block: usize) -> impl Iterator<Item = &str> {
        let holders = self.holders.get(block).into_iter().flatten();
        holders.filter_map(move |&place| self.stores.get(place as usize)).map(String::as_str)
    }
}

/// Builder of [`BlockPlaces`], to which holders are added one at a time.
#[derive(Debug)]
pub struct PlacesBuilder {
    places: BlockPlaces,
    indexes: HashMap<String, u32>,
}

impl PlacesBuilder {
    /// Creates a builder for `count` blocks without holders.
    pub fn new(count: usize) -> Self {
        let places = BlockPlaces { stores: vec![], holders: vec![vec![]; count] };
        Self { places, indexes: HashMap::new() }
    }

    /// Returns the index of a store in the list of names.
    pub fn store(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.indexes.get(name) {
            return place;
        }
        let place = self.places.stores.len() as u32;
        self.places.stores.push(name.to_owned());
        self.indexes.insert(name.to_owned(), place);
        place
    }

    /// Adds a store that has a block. Blocks out of range, and stores past the limit, are left out.
    pub fn add(&mut self, block: usize, name: &str) {
        let store = self.store(name);
        if let Some(holders) = self.places.holders.get_mut(block)
            && holders.len() < HOLDERS_MAX
            && !holders.contains(&store)
        {
            holders.push(store);
        }
    }

    /// Returns the result.
    pub fn done(self) -> BlockPlaces {
        self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_of_another_length_or_with_an_unknown_store_is_invalid() {
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
        fn holders_are_named_once_in_the_order_they_were_added(
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
            let answer = builder.done();
            prop_assert!(answer.answers(3));
            for (block, names) in expected[..3].iter().enumerate() {
                prop_assert_eq!(&answer.of(block).collect::<Vec<_>>(), names);
            }
            prop_assert_eq!(answer.of(3).count(), 0);
        }
    }
}
