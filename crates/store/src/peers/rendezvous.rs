//! Which member keeps where something is: the one with the most weight for it, over those that
//! live. When one dies, only what it kept moves.

/// The number of a member's name, the same on all.
pub fn number_of(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap_or(&[0; 8]))
}

/// The weight of a thing at a member, both given by numbers that are spread evenly.
fn weight(member: u64, thing: u64) -> u64 {
    // The finalizer of SplitMix64.
    let mixed = member ^ thing.rotate_left(32);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The place, in `members`, of the one that keeps a thing; `None` without members.
pub fn home(members: &[u64], thing: u64) -> Option<usize> {
    homes(members, thing)[0]
}

/// As [`home`], and of the next one.
pub fn homes(members: &[u64], thing: u64) -> [Option<usize>; 2] {
    let mut best: [Option<(u64, u64, usize)>; 2] = [None; 2];
    for (place, &member) in members.iter().enumerate() {
        let found = Some((weight(member, thing), member, place));
        if found > best[0] {
            best = [found, best[0]];
        } else if found > best[1] {
            best[1] = found;
        }
    }
    best.map(|one| one.map(|(_, _, place)| place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(count: u64) -> Vec<u64> {
        (0..count).map(|index| number_of(&format!("node{index}:7000"))).collect()
    }

    /// A thing as numbers of blocks are: the hash of a file and of an index.
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
    fn when_a_member_dies_its_things_alone_move_and_to_the_next_one() {
        let all = members(5);
        for dead in 0..5 {
            let mut left = all.clone();
            left.remove(dead);
            for index in 0..500 {
                let [first, second] = homes(&all, thing(index)).map(|place| all[place.unwrap()]);
                let now = left[home(&left, thing(index)).unwrap()];
                assert_eq!(now, if first == all[dead] { second } else { first });
            }
        }
    }

    #[test]
    fn the_order_of_members_does_not_count() {
        let one = members(6);
        let other: Vec<u64> = one.iter().rev().copied().collect();
        for index in 0..200 {
            let name = |members: &[u64]| home(members, thing(index)).map(|place| members[place]);
            assert_eq!(name(&one), name(&other));
        }
        assert_eq!((home(&[], 1), homes(&[7], 1)), (None, [Some(0), None]));
    }
}
