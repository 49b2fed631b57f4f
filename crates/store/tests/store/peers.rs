//! Stores of a job: each reads the blocks of another, even after that dies.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::job::{BLOCK_BYTES, Job, wait_for};
use crate::common::{at, bytes};
use cuesta_store::peers::frame::Direction;
use cuesta_store::peers::handshake;
use cuesta_store::peers::secret::PeerKey;
use cuesta_store::writeback::WriteMode;
use rustix::process::Signal;
use serde_json::json;

const SIZE: usize = 3 * BLOCK_BYTES as usize + 77;
/// Size of a file whose end is not filled ahead while its beginning is read.
const LONG: usize = 12 * BLOCK_BYTES as usize;
/// Waits until the directories of a job have `count` blocks in total.
fn wait_for_blocks(job: &Job, count: u64) {
    wait_for(|| {
        let known =
            job.stores.iter().map(|store| store.peers()["directory_blocks"].as_u64().unwrap());
        (known.sum::<u64>() == count).then_some(())
    });
}

#[test]
fn a_block_is_read_from_the_memory_of_the_store_that_has_it() {
    let job = Job::new(3);
    let content = bytes(1, SIZE);
    job.write_under("a", &content);
    assert_eq!(job.stores[0].read("a").unwrap(), content);
    wait_for_blocks(&job, 4);
    assert_eq!(job.stores[1].read("a").unwrap(), content);
    assert!(job.stores[1].read_from_peers() > 0);
    let peers = [job.stores[0].peers(), job.stores[1].peers()];
    assert_eq!(peers[0]["served_bytes"], job.stores[1].read_from_peers());
    // The blocks that the owner served are those that the other has read.
    let member = |index: usize, other: usize| {
        let members = peers[index]["members"].as_array().unwrap();
        members.iter().find(|member| member["name"] == job.stores[other].name).unwrap().clone()
    };
    let (owner, reader) = (member(0, 1), member(1, 0));
    assert_eq!(owner["served_bytes"], reader["read_bytes"]);
    assert_eq!(owner["served_blocks"], reader["read_blocks"]);
    assert_eq!(peers[0]["served_blocks"], reader["read_blocks"]);
    assert!(reader["read_blocks"].as_u64().unwrap() > 0, "{reader}");
    assert_eq!((&owner["read_blocks"], &reader["served_blocks"]), (&json!(0), &json!(0)));
    // No store has a block of the new version.
    let changed = bytes(2, SIZE);
    job.write_under("a", &changed);
    assert_eq!(job.stores[2].read("a").unwrap(), changed);
    assert_eq!(job.stores[2].read_from_peers(), 0);
}

#[test]
fn an_evicted_block_and_a_block_of_a_dead_store_are_read_from_the_folder() {
    let mut job = Job::new(3);
    let content = bytes(1, SIZE);
    job.write_under("a", &content);
    job.stores[0].read("a").unwrap();
    wait_for_blocks(&job, 4);
    job.stores[0].ask(&json!({"do": "free", "path": "a"}));
    assert_eq!(job.stores[1].read("a").unwrap(), content);
    job.stores[1].ask(&json!({"do": "free", "path": "a"}));
    job.stores[0].read("a").unwrap();
    wait_for_blocks(&job, 4);
    job.stores[0].kill();
    assert_eq!(job.stores[2].read("a").unwrap(), content);
}

#[test]
fn a_store_that_hangs_is_bypassed() {
    let job = Job::new(2);
    let content = bytes(1, SIZE);
    job.write_under("a", &content);
    job.stores[0].read("a").unwrap();
    wait_for_blocks(&job, 4);
    job.stores[0].signal(Signal::STOP);
    assert_eq!(job.stores[1].read("a").unwrap(), content);

    job.stores[0].signal(Signal::CONT);
    job.wait_until_all_live();
}

#[test]
fn directories_are_rebuilt_after_a_death() {
    let mut job = Job::new(3);
    let contents: Vec<Vec<u8>> = (0..8).map(|seed| bytes(seed, SIZE)).collect();
    for (index, content) in contents.iter().enumerate() {
        job.write_under(&format!("f{index}"), content);
        job.stores[0].read(&format!("f{index}")).unwrap();
    }
    wait_for_blocks(&job, 32);
    job.stores[2].kill();
    let names = [job.stores[0].name.clone(), job.stores[1].name.clone()];
    let names = names.each_ref().map(String::as_str);
    job.stores[..2].iter().for_each(|store| store.wait_until_live(&names));
    wait_for(|| {
        let known = job.stores[..2].iter();
        let known = known.map(|store| store.peers()["directory_blocks"].as_u64().unwrap());
        (known.sum::<u64>() == 32).then_some(())
    });
    job.start_again(2);
    job.wait_until_all_live();
    // It has its part of the directory again, and reads blocks of the first store.
    wait_for_blocks(&job, 32);
    assert_eq!(job.stores[2].read("f3").unwrap(), contents[3]);
    assert!(job.stores[2].read_from_peers() > 0);
}

#[test]
fn a_file_in_memory_alone_is_read_from_all_stores() {
    let job = Job::new(4);
    let content = bytes(1, SIZE);
    for mode in [WriteMode::Memory, WriteMode::Memory] {
        job.stores[0].write("folder/a", &content, mode).unwrap();
        for store in &job.stores {
            assert_eq!(store.read("folder/a").unwrap(), content);
            let facts = store.client().facts(&at("folder/a")).unwrap();
            assert_eq!((facts.size_bytes, facts.is_folder), (SIZE as u64, false));
            assert!(store.client().facts(&at("folder")).unwrap().is_folder);
            assert_eq!(store.client().list(&at("folder")).unwrap(), ["a"]);
            assert_eq!(store.client().list(&at("")).unwrap(), ["folder"]);
        }
    }
    // Another store replaces it, and the first one forgets its file.
    let changed = bytes(2, SIZE);
    job.stores[1].write("folder/a", &changed, WriteMode::Memory).unwrap();
    for store in &job.stores {
        assert_eq!(store.read("folder/a").unwrap(), changed);
    }
    let alone =
        |index: usize| job.stores[index].ask(&json!({"do": "status"}))["memory_only_bytes"].clone();
    assert_eq!((alone(0), alone(1)), (json!(0), json!(SIZE)));
}

#[test]
fn a_file_in_memory_alone_is_removed_renamed_and_flushed_from_all_stores() {
    let job = Job::new(3);
    let content = bytes(1, SIZE);
    job.stores[0].write("a", &content, WriteMode::Memory).unwrap();
    let done = job.stores[1].ask(&json!({"do": "rename", "path": "a", "to": "b"}));
    assert_eq!(done, json!({"done": true}));
    for store in &job.stores {
        assert_eq!(store.read("a").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(store.read("b").unwrap(), content);
    }
    let flushed = job.stores[2].ask(&json!({"do": "flush", "path": "b"}));
    assert_eq!(flushed, json!({"bytes": SIZE}));
    assert_eq!(fs::read(job.folder.path().join("under/b")).unwrap(), content);
    job.stores[0].write("c", &content, WriteMode::Memory).unwrap();
    job.stores[1].ask(&json!({"do": "remove", "path": "c"}));
    for store in &job.stores {
        assert_eq!(store.read("c").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(store.read("b").unwrap(), content);
    }
    // A name that exists on another store is taken.
    job.stores[0].write("d", &content, WriteMode::Memory).unwrap();
    let refused = job.stores[1].commit_new("d");
    assert_eq!(refused["errno"], libc::EEXIST, "{refused}");
    assert_eq!(job.stores[1].read("d").unwrap(), content);
}

#[test]
fn a_full_store_reads_a_file_in_the_memory_of_another_without_caching_it() {
    let mut job = Job::new(2);
    job.write_under("pinned", &bytes(1, 64 * BLOCK_BYTES as usize));
    job.stores[1].ask(&json!({"do": "pin", "path": "pinned"}));
    let content = bytes(2, SIZE);
    job.stores[0].write("a", &content, WriteMode::Memory).unwrap();
    assert_eq!(job.stores[1].read("a").unwrap(), content);
    assert!(job.stores[1].ask(&json!({"do": "status"}))["bypassed"].as_u64().unwrap() > 0);
    // A block that is lost with the other store is named in the error, also without a lease.
    let open = job.stores[1].client().open(&at("a")).unwrap();
    open.read_at(&mut [0; 100], 0).unwrap();
    let name = job.stores[0].name.clone();
    job.stores[0].kill();
    let error = open.read_at(&mut [0; 10], SIZE as u64 - 10).unwrap_err().to_string();
    assert!(error.contains("block 3 of cuesta:///a") && error.contains(&name), "{error}");
}

#[test]
fn a_file_lost_with_a_store_is_an_error_that_names_it() {
    let mut job = Job::new(4);
    let content = bytes(1, LONG);
    // An older file of the same name is not read instead.
    job.write_under("a", &bytes(2, 10));
    job.stores[0].write("a", &content, WriteMode::Memory).unwrap();
    let open = job.stores[1].client().open(&at("a")).unwrap();
    let mut first = vec![0; 100];
    open.read_at(&mut first, 0).unwrap();
    job.stores[0].kill();
    let error = open.read_at(&mut first, LONG as u64 - 10).unwrap_err();

    let name = job.stores[0].name.clone();
    assert!(error.to_string().contains("cuesta:///a"), "{error}");
    assert!(error.to_string().contains(&name), "{error}");
    let survivors: Vec<String> = job.stores[1..].iter().map(|store| store.name.clone()).collect();
    let survivors: Vec<&str> = survivors.iter().map(String::as_str).collect();
    for store in &job.stores[1..] {
        store.wait_until_live(&survivors);
        let opened = store.ask(&json!({"do": "open", "path": "a"}));
        let error = opened["error"].as_str().unwrap();
        assert!(error.contains("cuesta:///a") && error.contains(&name), "{error}");
        for error in [store.read("a").unwrap_err(), store.client().facts(&at("a")).unwrap_err()] {
            assert!(error.to_string().contains(&name), "{error}");
        }
        let peers = store.peers();
        assert!(peers["losses"].as_u64().unwrap() >= 3, "{peers}");
        assert!(peers["last_loss"].as_str().unwrap().contains("cuesta:///a"), "{peers}");
    }
    // The restarted store still has it.
    job.start_again(0);
    job.wait_until_all_live();
    job.stores.iter().for_each(|store| assert_eq!(store.read("a").unwrap(), content));
    // After the loss of its memory, the file is lost until it is written again.
    job.stores[0].kill();
    fs::remove_dir_all(&job.stores[0].memory).unwrap();
    job.start_again(0);
    job.wait_until_all_live();
    for store in &job.stores {
        wait_for(|| store.ask(&json!({"do": "open", "path": "a"}))["error"].as_str().map(|_| ()));
    }
    job.stores[2].write("a", &content, WriteMode::Memory).unwrap();
    job.stores.iter().for_each(|store| assert_eq!(store.read("a").unwrap(), content));
}

#[test]
fn a_store_that_ends_in_order_leaves_no_names() {
    let mut job = Job::new(3);
    job.stores[0].write("a", b"text", WriteMode::Memory).unwrap();
    assert_eq!(job.stores[1].read("a").unwrap(), b"text");
    job.stores[0].ask(&json!({"do": "stop", "discards": false, "discards_memory": true}));
    wait_for(|| (!job.stores[0].memory.exists()).then_some(()));
    let error = job.stores[1].read("a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    job.start_again(0);
}

#[test]
fn a_secret_is_rotated_while_stores_read_from_each_other() {
    let job = Job::new(2);
    let (first, second, third) = ("1".repeat(64), "2".repeat(64), "3".repeat(64));
    for secrets in [[second.clone(), first], [third, second]] {
        job.write_secret(&secrets);
        let end = Instant::now() + Duration::from_millis(800);
        let mut count = 0;
        while Instant::now() < end || count < 4 {
            let (name, content) = (format!("f{count}"), bytes(count, 1000));
            job.stores[0].write(&name, &content, WriteMode::Memory).unwrap();
            assert_eq!(job.stores[1].read(&name).unwrap(), content);
            count += 1;
        }
        job.wait_until_all_live();
    }
    assert_eq!(job.stores[1].peers()["members"][0]["is_live"], true);
}

#[test]
fn a_member_that_is_listed_later_joins_the_job() {
    let mut job = Job::new(2);
    job.stores[0].write("a", b"text", WriteMode::Memory).unwrap();
    let late = job.start(2, "127.0.0.1:0");
    job.stores.push(late);
    let names: Vec<&str> = job.stores.iter().map(|store| store.name.as_str()).collect();
    job.write_members(&names);
    job.wait_until_all_live();
    assert_eq!(job.stores[2].read("a").unwrap(), b"text");
}

/// Waits until a store has refused a connection for a reason.
fn wait_until_refused(store: &crate::common::job::RunningStore, reason: &str) {
    wait_for(|| {
        let last = store.peers()["last_refusal"].as_str().map(str::to_owned);
        last.filter(|last| last.contains(reason))
    });
    let log = fs::read_to_string(store.memory.join("refused.log")).unwrap();
    assert!(log.contains(reason), "{log}");
}

#[test]
fn strangers_are_refused_and_logged_and_the_job_continues() {
    let job = Job::new(2);
    let store = &job.stores[0];
    let connect = || {
        let stream = TcpStream::connect(&store.name).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    };
    let keys = |letter: &str| vec![PeerKey::of(&letter.repeat(64))];
    let mut stream = connect();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0);
    wait_until_refused(store, "language of stores");
    assert!(handshake::dial(&mut connect(), &keys("2"), "a:1", &store.name).is_err());
    wait_until_refused(store, "another secret");
    assert!(handshake::dial(&mut connect(), &keys("1"), "a:1", "b:1").is_err());
    wait_until_refused(store, "another member");
    // A client that sends nothing.
    assert_eq!(connect().read(&mut [0; 8]).unwrap_or(0), 0);
    wait_until_refused(store, "in time");
    // A client that has the secret, and sends an oversized message, or a message twice.
    let mut stream = connect();
    handshake::dial(&mut stream, &keys("1"), "a:1", &store.name).unwrap();
    stream.write_all(&[255; 8]).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0);
    wait_until_refused(store, "longer than any");
    let mut stream = connect();
    let session = handshake::dial(&mut stream, &keys("1"), "a:1", &store.name).unwrap();
    let mut message = Vec::new();
    Direction::new(session.of_dialler).send(&mut message, &json!({"do": "ping"}), &[]).unwrap();
    stream.write_all(&message).unwrap();
    stream.write_all(&message).unwrap();
    wait_until_refused(store, "not in its place");
    // A client without a hello gets no answer.
    let mut received = Direction::new(session.of_acceptor);
    let text = received.receive(&mut stream, &mut Vec::new()).unwrap().unwrap();
    assert!(String::from_utf8(text).unwrap().contains("begins with hello"));
    let refusals = store.peers()["refusals"].clone();
    for reason in ["other_secret", "other_member", "replayed", "oversized", "malformed", "silent"] {
        assert!(refusals[reason].as_u64().unwrap() > 0, "{reason}: {refusals}");
    }
    store.write("a", b"text", WriteMode::Memory).unwrap();
    assert_eq!(job.stores[1].read("a").unwrap(), b"text");
    job.wait_until_all_live();
}

#[test]
fn a_thousand_idle_connections_keep_no_store_out() {
    let mut job = Job::new(2);
    let content = bytes(1, SIZE);
    job.stores[0].write("a", &content, WriteMode::Memory).unwrap();
    let name = job.stores[0].name.clone();
    let mut idle = Vec::new();
    for index in 0..1000 {
        idle.push(TcpStream::connect(&name).unwrap());
        if index % 200 == 0 {
            assert_eq!(job.stores[1].read("a").unwrap(), content);
        }
    }
    // A member that starts now still connects.
    job.stores[1].kill();
    job.start_again(1);
    job.wait_until_all_live();
    assert_eq!(job.stores[1].read("a").unwrap(), content);
    wait_for(|| (job.stores[0].peers()["refused"].as_u64().unwrap() >= 1000).then_some(()));
    drop(idle);
}
