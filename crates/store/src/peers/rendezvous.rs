//! Rendezvous hashing: the directory of a thing is at the live member with the highest weight for
//! it. When a member dies, only the things of its directory move.

/// Returns the hash of a member's name, equal on all members.
pub fn number_of(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap_or(&[0; 8]))
}

/// Returns the weight of a thing at a member, both as numbers that are spread evenly.
fn weight(member: u64, thing: u64) -> u64 {
    // The finalizer of SplitMix64.
    let mixed = member ^ thing.rotate_left(32);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns the index in `members` of the home of a thing; `None` without members.
pub fn home(members: &[u64], thing: u64) -> Option<usize> {
    homes(members, thing)[0]
}

/// Returns the indexes of the home of a thing and of the next one.
pub fn homes(members: &[u64], thing: u64) -> [Option<usize>; 2] {
    let mut best: [Option<(u64, u64, usize)>; 2] = [None; 2];
    for (place, &member) in members.iter().enumerate() {
        let candidate = Some((weight(member, thing), member, place));
        if candidate > best[0] {
            best = [candidate, best[0]];
        } else if candidate > best[1] {
            best[1] = candidate;
        }
    }
    best.map(|entry| entry.map(|(_, _, place)| place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(count: u64) -> Vec<u64> {
        (0..count).map(|index| number_of(&format!("node{index}:7000"))).collect()
    }

    /// Returns a number like that of a block: the hash of a file and an index.
    fn thing(index: u64) -> u64 {
        number_of(&index.to_string())
    }

    #[test]
    fn things_are_spread_evenly() {
        let members = members(7);
        let mut counts = [0; 7];
        (0..7000).for_each(|index| counts[home(&members, thing(index)).unwrap()] += 1);
        assert!(counts.iter().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    }

    #[test]
    fn when_a_member_dies_only_its_things_move_and_to_the_second_home() {
        let all = members(5);
        for dead in 0..5 {
            let mut survivors = all.clone();
            survivors.remove(dead);
            for index in 0..500 {
                let [first, second] = homes(&all, thing(index)).map(|place| all[place.unwrap()]);
                let now = survivors[home(&survivors, thing(index)).unwrap()];
                assert_eq!(now, if first == all[dead] { second } else { first });
            }
        }
    }

    #[test]
    fn the_order_of_members_does_not_count() {
        let order = members(6);
        let reversed: Vec<u64> = order.iter().rev().copied().collect();
        for index in 0..200 {
            let name = |members: &[u64]| home(members, thing(index)).map(|place| members[place]);
            assert_eq!(name(&order), name(&reversed));
        }
        assert_eq!((home(&[], 1), homes(&[7], 1)), (None, [Some(0), None]));
    }
}
