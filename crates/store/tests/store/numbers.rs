//! Sizes and offsets of any 64-bit number: each question gets a single answer, without delay.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use crate::common::{BLOCK, Setting, at, bytes, patient, with_daemon};
use cuesta_store::client::{Client, WrittenFile};
use cuesta_store::daemon;
use cuesta_store::writeback::WriteMode;
use serde_json::{Value, json};

/// Values at which sums and products of 64-bit numbers overflow.
const EDGES: [u64; 9] =
    [0, 1, BLOCK, (1 << 32) - 1, 1 << 32, 1 << 60, (1 << 63) - 1, 1 << 63, u64::MAX];

fn ask(stream: &mut UnixStream, question: &Value) -> Value {
    let text = question.to_string();
    let lengths = [(text.len() as u32).to_le_bytes(), 0_u32.to_le_bytes()].concat();
    stream.write_all(&[&lengths[..], text.as_bytes()].concat()).unwrap();
    let mut lengths = [0; 8];
    stream.read_exact(&mut lengths).unwrap_or_else(|error| panic!("{question}: {error}"));
    let [text, payload] =
        [0, 4].map(|at| u32::from_le_bytes(lengths[at..at + 4].try_into().unwrap()) as usize);
    let mut bytes = vec![0; text + payload];
    stream.read_exact(&mut bytes).unwrap();
    serde_json::from_slice(&bytes[..text]).unwrap()
}

#[test]
fn all_questions_are_answered_for_any_numbers() {
    let setting = Setting::new(6);
    let content = bytes(1, 2500);
    setting.write("a", &content);
    with_daemon(&setting, |memory| {
        let mut stream = UnixStream::connect(memory.join(daemon::SOCKET)).unwrap();
        let opened = ask(&mut stream, &json!({"do": "open", "path": "a"}));
        let open = opened["number"].as_u64().unwrap();
        for first in EDGES {
            for second in EDGES {
                let create = json!({"do": "create", "path": "b", "mode": "bypass"});
                let written = ask(&mut stream, &create)["created"].as_u64().unwrap();
                for question in [
                    json!({"do": "lease", "number": open, "index": first}),
                    json!({"do": "release", "number": first, "index": second}),
                    json!({"do": "read", "number": open, "offset": first, "bytes": second as u32}),
                    json!({"do": "places", "path": "a", "first": first, "count": second}),
                    json!({"do": "fits", "bytes": first}),
                    json!({"do": "seal", "number": written, "index": first, "bytes": second}),
                    json!({"do": "hole", "number": written, "first": first, "count": second}),
                    json!({"do": "place", "number": written, "index": first, "past_memory": true}),
                    json!({"do": "commit", "number": written, "bytes": second, "is_new": true}),
                    json!({"do": "permit", "path": "none", "permissions": second as u32}),
                    json!({"do": "abandon", "number": written}),
                    json!({"do": "remove", "path": "b"}),
                ] {
                    let answer = ask(&mut stream, &question);
                    assert!(answer.is_object(), "{question}: {answer}");
                }
            }
        }
        assert_eq!(ask(&mut stream, &json!({"do": "ping"})), json!({"done": true}));
        let file = Client::connect(memory, patient()).unwrap().open(&at("a")).unwrap();
        for place in EDGES {
            let mut bytes = [0; 10];
            let expected = content.get(place as usize..).unwrap_or_default();
            let count = file.read_at(&mut bytes, place).unwrap();
            assert_eq!(bytes[..count], expected[..count]);
            assert_eq!(count == 0, place >= 2500, "{place}");
        }
    });
}

#[test]
fn a_size_that_no_file_can_have_is_refused_at_once() {
    // `truncate -s 1E` asked for a path for each of 2^38 blocks in turn, and in mode memory wrote
    // an exabyte of zeros to the folder below.
    for mode in WriteMode::ALL {
        let setting = Setting::new(6);
        with_daemon(&setting, |memory| {
            let mut file = WrittenFile::create(memory, &at("a"), Some(mode)).unwrap();
            file.write_at(b"start", 0).unwrap();
            for size_bytes in [1 << 50, 1 << 60, (1 << 63) - 1, u64::MAX] {
                for errno in [
                    file.resize(size_bytes).unwrap_err().raw_os_error(),
                    file.write_at(b"end", size_bytes - 3).unwrap_err().raw_os_error(),
                    file.write_at(b"end", size_bytes).unwrap_err().raw_os_error(),
                ] {
                    let is_named = [Some(libc::EFBIG), Some(libc::ENOSPC)].contains(&errno);
                    assert!(is_named, "{mode} {size_bytes}: {errno:?}");
                }
            }
            // The bytes written before still exist.
            assert_eq!(file.size_bytes(), 5);
            file.commit().unwrap();
            let client = Client::connect(memory, patient()).unwrap();
            assert_eq!(client.facts(&at("a")).unwrap().size_bytes, 5);
        });
    }
}

#[test]
fn a_hole_takes_no_room_and_is_zero() {
    const SIZE: u64 = 300_000 * BLOCK + 77;
    for mode in WriteMode::ALL {
        let setting = Setting::new(6);
        with_daemon(&setting, |memory| {
            let mut file = WrittenFile::create(memory, &at("a"), Some(mode)).unwrap();
            file.write_at(b"start", 0).unwrap();
            file.write_at(b"middle", SIZE / 2).unwrap();
            file.resize(SIZE).unwrap();
            file.commit().unwrap();
            let client = Client::connect(memory, patient()).unwrap();
            let stored = client.open(&at("a")).unwrap();
            assert_eq!(stored.size_bytes(), SIZE, "{mode}");
            for (place, expected) in [
                (0, &b"start\0\0"[..]),
                (SIZE / 2 - 1, b"\0middle"),
                (SIZE / 4, b"\0\0\0"),
                (SIZE - 3, b"\0\0\0"),
            ] {
                let mut bytes = vec![1; expected.len()];
                let mut done = 0;
                while done < bytes.len() {
                    done += stored.read_at(&mut bytes[done..], place + done as u64).unwrap();
                }
                assert_eq!(bytes, expected, "{mode} {place}");
            }
        });
        let facts = fs::metadata(setting.folder.path().join("under/a")).unwrap();
        assert_eq!(facts.len(), SIZE, "{mode}");
        assert!(facts.blocks() * 512 < SIZE / 100, "{mode}: {} blocks", facts.blocks());
    }
}
