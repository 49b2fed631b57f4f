//! Holders of blocks: each store of a job names the stores that have them, and none of a dead
//! store.

use std::net::TcpStream;
use std::time::Duration;

use crate::common::job::{BLOCK_BYTES, Job, RunningStore, wait_for};
use crate::common::{at, bytes};
use cuesta_store::peers::frame::Direction;
use cuesta_store::peers::handshake;
use cuesta_store::peers::secret::PeerKey;
use cuesta_store::writeback::WriteMode;
use rustix::process::Signal;
use serde_json::{Value, json};

const BLOCKS: u64 = 4;
const SIZE: usize = 3 * BLOCK_BYTES as usize + 77;
/// Returns the stores that have each block of a file, sorted by name, as a store reports them.
fn places(store: &RunningStore, name: &str) -> Vec<Vec<String>> {
    let mut holders = store.client().places(&at(name), 0..BLOCKS).unwrap();
    holders.iter_mut().for_each(|names| names.sort());
    holders
}

/// Waits until these stores report these holders of each block of a file.
fn wait_for_places(stores: &[RunningStore], name: &str, expected: [&[&str]; BLOCKS as usize]) {
    let mut expected = expected.map(|names| names.iter().map(ToString::to_string).collect());
    expected.iter_mut().for_each(|names: &mut Vec<String>| names.sort());
    for store in stores {
        wait_for(|| (places(store, name) == expected).then_some(()));
    }
}

/// Reads a byte of some blocks, from the last to the first, so that none is filled ahead.
fn read_blocks(store: &RunningStore, name: &str, indexes: &[u64]) {
    let file = store.client().open(&at(name)).unwrap();
    for index in indexes.iter().rev() {
        assert_eq!(file.read_at(&mut [0], index * BLOCK_BYTES).unwrap(), 1);
    }
}

#[test]
fn all_stores_name_the_holders_of_a_block() {
    let job = Job::new(3);
    let [first, second, third] = &job.stores[..] else { panic!("there are three") };
    job.write_under("a", &bytes(1, SIZE));
    wait_for_places(&job.stores, "a", [&[]; 4]);
    read_blocks(first, "a", &[0, 1]);
    read_blocks(second, "a", &[3]);
    let (one, two) = (first.name.as_str(), second.name.as_str());
    wait_for_places(&job.stores, "a", [&[one], &[one], &[], &[two]]);
    // A copy counts as well, until it is evicted.
    read_blocks(third, "a", &[1, 3]);
    let three = third.name.as_str();
    wait_for_places(&job.stores, "a", [&[one], &[one, three], &[], &[two, three]]);
    first.ask(&json!({"do": "free", "path": "a"}));
    wait_for_places(&job.stores, "a", [&[], &[three], &[], &[two, three]]);
    // The first name is that of the store that was asked.
    let answer = second.ask(&json!({"do": "places", "path": "a", "first": 3, "count": 2}));
    assert_eq!(answer["stores"][0], two);
    assert_eq!(answer["holders"][1], json!([]));
    // No store has a block of the new version.
    job.write_under("a", &bytes(2, SIZE));
    wait_for_places(&job.stores, "a", [&[]; 4]);
    for nothing in ["none", ""] {
        assert_eq!(places(first, nothing), vec![Vec::<String>::new(); 4]);
    }
}

#[test]
fn a_file_in_memory_alone_is_with_the_store_that_wrote_it() {
    let mut job = Job::new(3);
    // An older file of the same name is ignored.
    job.write_under("a", &bytes(2, 10));
    job.stores[0].write("a", &bytes(1, SIZE), WriteMode::Memory).unwrap();
    let owner = job.stores[0].name.clone();
    let owner: &[&str] = &[&owner];
    wait_for_places(&job.stores, "a", [owner; 4]);
    job.stores[0].kill();
    places(&job.stores[1], "a");

    // Opening the file is an error, but asking for its holders is not.
    wait_for_places(&job.stores[1..], "a", [&[]; 4]);
    assert_eq!(job.stores[1].peers()["losses"], 0);
}

#[test]
fn the_blocks_of_a_dead_store_have_no_holder_and_those_of_live_stores_do() {
    let mut job = Job::new(3);
    job.write_under("a", &bytes(1, SIZE));
    read_blocks(&job.stores[0], "a", &[0, 1]);
    read_blocks(&job.stores[1], "a", &[2, 3]);
    let names: Vec<String> = job.stores.iter().map(|store| store.name.clone()).collect();
    let (first, second): (&[&str], &[&str]) = (&[&names[0]], &[&names[1]]);
    wait_for_places(&job.stores, "a", [first, first, second, second]);
    for is_killed in [false, true] {
        if is_killed {
            job.stores[0].kill();
        } else {
            job.stores[0].signal(Signal::STOP);
        }
        for store in &job.stores[1..] {
            places(store, "a");
        }
        wait_for_places(&job.stores[1..], "a", [&[], &[], second, second]);
        if !is_killed {
            job.stores[0].signal(Signal::CONT);
            job.wait_until_all_live();
            wait_for_places(&job.stores, "a", [first, first, second, second]);
        }
    }
}

#[test]
fn the_only_live_store_names_itself() {
    let mut job = Job::new(2);
    job.write_under("a", &bytes(1, SIZE));
    read_blocks(&job.stores[0], "a", &[1]);
    job.stores[1].kill();
    let name = job.stores[0].name.clone();
    wait_for_places(&job.stores[..1], "a", [&[], &[&name], &[], &[]]);
}

#[test]
fn a_question_for_too_many_blocks_is_refused_and_a_client_splits_it() {
    let job = Job::new(2);
    job.write_under("a", &bytes(1, SIZE));
    read_blocks(&job.stores[0], "a", &[3]);
    let name = job.stores[0].name.clone();
    let ask = |first: u64, count: u64| {
        job.stores[0].ask(&json!({"do": "places", "path": "a", "first": first, "count": count}))
    };
    for (first, count) in [(0, (1 << 16) + 1), (u64::MAX, 2), (1, u64::MAX)] {
        let answer = ask(first, count);
        assert!(answer["error"].as_str().unwrap().contains("give 65536 at most"), "{answer}");
    }
    assert_eq!(ask(u64::MAX - 1, 1)["holders"], json!([[]]));
    let holders = job.stores[0].client().places(&at("a"), 0..3 << 16).unwrap();
    assert_eq!(holders.len(), 3 << 16);
    let named: Vec<usize> =
        (0..holders.len()).filter(|&index| !holders[index].is_empty()).collect();
    assert_eq!((named, &holders[3]), (vec![3], &vec![name]));
}

/// Asks a question as a member that has the secret.
fn ask_as_a_member(to: &str, question: &Value) -> Value {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let keys = vec![PeerKey::of(&"1".repeat(64))];
    let session = handshake::dial(&mut stream, &keys, "a:1", to).unwrap();
    let mut sends = Direction::new(session.of_dialler);
    let mut receives = Direction::new(session.of_acceptor);
    let hello = json!({"do": "hello", "incarnation": 1, "block_bytes": BLOCK_BYTES});
    let mut reply = Value::Null;
    for question in [&hello, question] {
        sends.send(&mut stream, question, &[]).unwrap();
        let text = receives.receive(&mut stream, &mut Vec::new()).unwrap().unwrap();
        reply = serde_json::from_slice(&text).unwrap();
    }
    reply
}

#[test]
fn a_member_gets_an_answer_for_at_most_4096_blocks() {
    let job = Job::new(1);
    let ask = |count: u64| {
        let indexes: Vec<u64> = (0..count).collect();
        let question = json!({"do": "where", "file": "0".repeat(32), "indexes": indexes});
        ask_as_a_member(&job.stores[0].name, &question)
    };
    let reply = ask(4096);
    assert_eq!(reply["places"]["holders"].as_array().unwrap().len(), 4096, "{reply}");
    let reply = ask(4097);
    assert!(reply["error"].as_str().unwrap().contains("more than 4096"), "{reply}");
}
