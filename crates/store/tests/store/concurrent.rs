//! Threads read, change, pin and free files concurrently: each read returns a single complete
//! version.

use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{BLOCK, Setting, at, bytes, read};
use cuesta_core::random::Stream;
use cuesta_store::cache::policy::PolicyName;

const FILES: [&str; 3] = ["a", "b", "c"];
const STEPS: u64 = 400;

fn run(policy: PolicyName, blocks: u64, seed: u64) {
    let mut setting = Setting::new(blocks);
    setting.options.policy = policy;
    let versions = Mutex::new(HashSet::new());
    let write = |name: &str, seed: u64| {
        let content = bytes(seed, 1 + (seed * 37 % 5000) as usize);
        versions.lock().unwrap().insert(content.clone());
        let under = setting.folder.path().join("under");
        fs::write(under.join(format!("{name}.{seed}")), &content).unwrap();
        fs::rename(under.join(format!("{name}.{seed}")), under.join(name)).unwrap();
    };
    FILES.iter().enumerate().for_each(|(index, name)| write(name, index as u64));
    let store = setting.store();
    let (refused, right) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let fillers = [scope.spawn(|| store.fill_ahead()), scope.spawn(|| store.fill_ahead())];
        let mut users = Vec::new();
        for thread in 0..4 {
            let (store, write, versions, refused, right) =
                (&store, &write, &versions, &refused, &right);
            users.push(scope.spawn(move || {
                let chance = Stream::new(seed, thread);
                for step in 0..STEPS {
                    let name = FILES[chance.below(3 * step, 3) as usize];
                    match chance.below(3 * step + 1, 20) {
                        0 => write(name, 1000 * (thread + 1) + step),
                        1 => _ = store.free(&at(name)).unwrap(),
                        2 => _ = store.pin(&at(name)),
                        3 => store.unpin(&at(name)),
                        4 => assert_eq!(store.scrub(), []),
                        _ => match read(store, name) {
                            Ok(found) => {
                                right.fetch_add(1, Ordering::Relaxed);
                                assert!(versions.lock().unwrap().contains(&found), "a mix");
                            }
                            Err(error) => {
                                refused.fetch_add(1, Ordering::Relaxed);
                                assert!(
                                    error.message().contains("was changed"),
                                    "{}",
                                    error.message()
                                );
                            }
                        },
                    }
                    assert!(store.counts().used_bytes <= blocks * BLOCK);
                }
            }));
        }
        let ended: Vec<_> = users.into_iter().map(|user| user.join()).collect();
        store.end_ahead();
        fillers.into_iter().for_each(|filler| filler.join().unwrap());
        ended.into_iter().for_each(|user| user.unwrap());
    });
    // All blocks are leased: where there is room for all, no read bypasses the memory.
    assert!(blocks < 100 || store.counts().bypassed == 0);
    assert!(right.load(Ordering::Relaxed) > refused.load(Ordering::Relaxed));
    FILES.iter().for_each(|name| _ = store.free(&at(name)).unwrap());
    let counts = store.counts();
    assert_eq!((counts.leases, counts.used_bytes, counts.blocks), (0, 0, 0));
    assert_eq!(setting.block_files().len(), 0);
}

#[test]
fn with_room_for_all() {
    run(PolicyName::Lru, 100, 1);
}

#[test]
fn with_room_for_some() {
    for (seed, policy) in PolicyName::ALL.into_iter().enumerate() {
        run(policy, 4, seed as u64);
    }
}
