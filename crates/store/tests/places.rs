//! Where blocks are: each store of a job names those that have them, and nobody for what died.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::TcpStream;
use std::time::Duration;

use common::job::{BLOCK_BYTES, Job, RunningStore, VARIABLE, wait_for};
use common::{at, bytes};
use cuesta_core::progress::Progress;
use cuesta_store::peers::frame::Direction;
use cuesta_store::peers::handshake;
use cuesta_store::peers::secret::PeerKey;
use cuesta_store::store::promise::WriteMode;
use rustix::process::Signal;
use serde_json::{Value, json};

const BLOCKS: u64 = 4;
const SIZE: usize = 3 * BLOCK_BYTES as usize + 77;
/// What a child of these tests does: it is the daemon.
#[test]
fn a_store_of_another_test() {
    if let Ok(request) = std::env::var(VARIABLE) {
        cuesta_store::serve(&request, &Progress::default(), || ()).unwrap();
    }
}

/// The names of those that have each block of a file, as a store says, in the order of names.
fn places(store: &RunningStore, name: &str) -> Vec<Vec<String>> {
    let mut found = store.client().places(&at(name), 0..BLOCKS).unwrap();
    found.iter_mut().for_each(|names| names.sort());
    found
}

/// Waits until these stores say that each block of a file is in the memory of some of them.
fn wait_for_places(stores: &[RunningStore], name: &str, expected: [&[&str]; BLOCKS as usize]) {
    let mut expected = expected.map(|names| names.iter().map(ToString::to_string).collect());
    expected.iter_mut().for_each(|names: &mut Vec<String>| names.sort());
    for store in stores {
        wait_for(|| (places(store, name) == expected).then_some(()));
    }
}

/// Reads a byte of each of some blocks, from the last to the first: none is filled ahead.
fn read_blocks(store: &RunningStore, name: &str, indexes: &[u64]) {
    let file = store.client().open(&at(name)).unwrap();
    for index in indexes.iter().rev() {
        assert_eq!(file.read_at(&mut [0], index * BLOCK_BYTES).unwrap(), 1);
    }
}

#[test]
fn every_store_names_those_that_have_a_block() {
    let job = Job::new(3);
    let [first, second, third] = &job.stores[..] else { panic!("there are three") };
    job.write_under("a", &bytes(1, SIZE));
    wait_for_places(&job.stores, "a", [&[]; 4]);
    read_blocks(first, "a", &[0, 1]);
    read_blocks(second, "a", &[3]);
    let (one, two) = (first.name.as_str(), second.name.as_str());
    wait_for_places(&job.stores, "a", [&[one], &[one], &[], &[two]]);
    // A copy is a place too, until it leaves.
    read_blocks(third, "a", &[1, 3]);
    let three = third.name.as_str();
    wait_for_places(&job.stores, "a", [&[one], &[one, three], &[], &[two, three]]);
    first.ask(&json!({"do": "free", "path": "a"}));
    wait_for_places(&job.stores, "a", [&[], &[three], &[], &[two, three]]);
    // The first that is named is the store that was asked.
    let said = second.ask(&json!({"do": "places", "path": "a", "first": 3, "count": 2}));
    assert_eq!(said["stores"][0], two);
    assert_eq!(said["holders"][1], json!([]));
    // Of another version nobody has a block.
    job.write_under("a", &bytes(2, SIZE));
    wait_for_places(&job.stores, "a", [&[]; 4]);
    for nothing in ["none", ""] {
        assert_eq!(places(first, nothing), vec![Vec::<String>::new(); 4]);
    }
}

#[test]
fn a_file_in_memory_alone_is_with_the_store_that_wrote_it() {
    let mut job = Job::new(3);
    // An older file of the name is not what is asked for.
    job.write_under("a", &bytes(2, 10));
    job.stores[0].write("a", &bytes(1, SIZE), WriteMode::Memory).unwrap();
    let one = job.stores[0].name.clone();
    let one: &[&str] = &[&one];
    wait_for_places(&job.stores, "a", [one; 4]);
    job.stores[0].kill();
    places(&job.stores[1], "a");

    // Opening it is an error, and asking where it is none.
    wait_for_places(&job.stores[1..], "a", [&[]; 4]);
    assert_eq!(job.stores[1].peers()["losses"], 0);
}

#[test]
fn the_blocks_of_a_dead_store_are_nowhere_and_the_others_are_found() {
    let mut job = Job::new(3);
    job.write_under("a", &bytes(1, SIZE));
    read_blocks(&job.stores[0], "a", &[0, 1]);
    read_blocks(&job.stores[1], "a", &[2, 3]);
    let names: Vec<String> = job.stores.iter().map(|store| store.name.clone()).collect();
    let (one, two): (&[&str], &[&str]) = (&[&names[0]], &[&names[1]]);
    wait_for_places(&job.stores, "a", [one, one, two, two]);
    for is_killed in [false, true] {
        if is_killed {
            job.stores[0].kill();
        } else {
            job.stores[0].signal(Signal::STOP);
        }
        for store in &job.stores[1..] {
            places(store, "a");
        }
        wait_for_places(&job.stores[1..], "a", [&[], &[], two, two]);
        if !is_killed {
            job.stores[0].signal(Signal::CONT);
            job.wait_until_all_live();
            wait_for_places(&job.stores, "a", [one, one, two, two]);
        }
    }
}

#[test]
fn a_store_without_others_names_itself() {
    let mut job = Job::new(2);
    job.write_under("a", &bytes(1, SIZE));
    read_blocks(&job.stores[0], "a", &[1]);
    job.stores[1].kill();
    let own = job.stores[0].name.clone();
    wait_for_places(&job.stores[..1], "a", [&[], &[&own], &[], &[]]);
}

#[test]
fn more_blocks_than_are_answered_at_once_are_refused_and_asked_for_in_parts() {
    let job = Job::new(2);
    job.write_under("a", &bytes(1, SIZE));
    read_blocks(&job.stores[0], "a", &[3]);
    let own = job.stores[0].name.clone();
    let ask = |first: u64, count: u64| {
        job.stores[0].ask(&json!({"do": "places", "path": "a", "first": first, "count": count}))
    };
    for (first, count) in [(0, (1 << 16) + 1), (u64::MAX, 2), (1, u64::MAX)] {
        let said = ask(first, count);
        assert!(said["error"].as_str().unwrap().contains("give 65536 at most"), "{said}");
    }
    assert_eq!(ask(u64::MAX - 1, 1)["holders"], json!([[]]));
    let found = job.stores[0].client().places(&at("a"), 0..3 << 16).unwrap();
    assert_eq!(found.len(), 3 << 16);
    let named: Vec<usize> = (0..found.len()).filter(|&index| !found[index].is_empty()).collect();
    assert_eq!((named, &found[3]), (vec![3], &vec![own]));
}

/// One question of somebody who has the secret.
fn ask_as_a_member(to: &str, question: &Value) -> Value {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let keys = vec![PeerKey::of(&"1".repeat(64))];
    let session = handshake::dial(&mut stream, &keys, "a:1", to).unwrap();
    let mut sends = Direction::new(session.of_dialler);
    let mut receives = Direction::new(session.of_acceptor);
    let hello = json!({"do": "hello", "incarnation": 1, "block_bytes": BLOCK_BYTES});
    let mut said = Value::Null;
    for question in [&hello, question] {
        sends.send(&mut stream, question, &[]).unwrap();
        let text = receives.receive(&mut stream, &mut Vec::new()).unwrap().unwrap();
        said = serde_json::from_slice(&text).unwrap();
    }
    said
}

#[test]
fn a_member_is_answered_for_so_many_blocks_at_once() {
    let job = Job::new(1);
    let ask = |count: u64| {
        let indexes: Vec<u64> = (0..count).collect();
        let question = json!({"do": "where", "file": "0".repeat(32), "indexes": indexes});
        ask_as_a_member(&job.stores[0].name, &question)
    };
    let said = ask(4096);
    assert_eq!(said["places"]["holders"].as_array().unwrap().len(), 4096, "{said}");
    let said = ask(4097);
    assert!(said["error"].as_str().unwrap().contains("more than 4096"), "{said}");
}
