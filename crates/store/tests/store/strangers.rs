//! Clients and the store's folder on a machine with other accounts.
//!
//! Threads act as these accounts, which requires root; without it the tests check as much as they
//! can.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use crate::common::{Setting, at, bytes, patient, with_daemon};
use cuesta_store::client::block::StoredBlock;
use cuesta_store::client::limits::Patience;
use cuesta_store::client::{Client, WrittenFile};
use cuesta_store::daemon;
use rustix::process::{Gid, Uid};
use tempfile::TempDir;

/// User and group `nobody`.
const STRANGER: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes this thread act as another account, for good.
fn become_account(number: u32) {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    rustix::thread::set_thread_groups(&[]).unwrap();
    rustix::thread::set_thread_res_gid(group, group, group).unwrap();
    rustix::thread::set_thread_res_uid(user, user, user).unwrap();
}

/// Does `work` as another account.
fn as_account<T: Send>(number: u32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_account(number);
            work()
        });
        thread.join().unwrap()
    })
}

/// Makes a folder in memory that all accounts may enter.
fn public_folder() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

fn private_folder(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

/// A daemon of an account in a folder that replies to any question; it counts the bytes received.
struct Forger {
    socket: PathBuf,
    has_ended: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Forger {
    fn serve(folder: &Path, account: u32) -> Self {
        let (socket, has_ended) = (folder.join(daemon::SOCKET), Arc::new(AtomicBool::new(false)));
        let (ready, wait) = mpsc::channel();
        let (listens_at, ends) = (socket.clone(), Arc::clone(&has_ended));
        let thread = std::thread::spawn(move || {
            become_account(account);
            let listener = UnixListener::bind(listens_at).unwrap();
            ready.send(()).unwrap();
            let mut received_bytes = 0;
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    break;
                }
                received_bytes += answer(stream.unwrap());
            }
            received_bytes
        });
        wait.recv().unwrap();
        Self { socket, has_ended, thread }
    }

    /// Ends it; returns the number of bytes received.
    fn end(self) -> usize {
        self.has_ended.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.socket);
        self.thread.join().unwrap()
    }
}

/// Replies to a client until it ends; returns the number of bytes received.
fn answer(mut stream: UnixStream) -> usize {
    let mut received_bytes = 0;
    let mut received = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut received) {
        received_bytes += count;
        let text = br#"{"done":true}"#;
        let lengths = [(text.len() as u32).to_le_bytes(), 0_u32.to_le_bytes()].concat();
        let _ = stream.write_all(&[&lengths[..], text].concat());
    }
    received_bytes
}

fn connect(folder: &Path) -> std::io::Error {
    Client::connect(folder, Patience::default()).err().unwrap()
}

/// Checks that an error is a single line with the folder, an account and the remedy.
fn assert_names(error: &std::io::Error, folder: &Path, account: &str) {
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{text}");
    for wanted in [&*folder.display().to_string(), account, "$CUESTA_STORE"] {
        assert!(text.contains(wanted), "{text}");
    }
    assert!(!text.contains('\n') && !text.contains("no store runs"), "{text}");
}

#[test]
fn a_stranger_who_makes_the_folder_of_a_store_first_is_sent_nothing() {
    // Clients took any daemon in the folder for their store: an account that made
    // `/dev/shm/cuesta-1000` before its user did had files written to a path of its choice, and its
    // forged bytes were verified as an answer.
    if !is_root() {
        return;
    }
    let public = public_folder();
    let folder = public.path().join("cuesta-0");
    as_account(STRANGER, || private_folder(&folder));
    let forger = Forger::serve(&folder, STRANGER);
    assert_names(&connect(&folder), &folder, "(65534)");
    let error = WrittenFile::create(&folder, &at("a"), None).unwrap_err();
    assert_names(&error, &folder, "(65534)");
    assert_eq!(forger.end(), 0);
}

#[test]
fn a_daemon_of_another_account_in_a_folder_of_ours_is_sent_nothing() {
    if !is_root() {
        return;
    }
    let public = public_folder();
    // Also of root, where this is a user.
    for (own, other) in [(0, STRANGER), (STRANGER, 0)] {
        let folder = public.path().join(format!("of-{own}"));
        as_account(own, || private_folder(&folder));
        let open = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        open(0o777);
        let forger = Forger::serve(&folder, other);
        as_account(own, || assert_names(&connect(&folder), &folder, "mode 777"));
        open(0o700);
        let account = format!("({other})");
        as_account(own, || assert_names(&connect(&folder), &folder, &account));
        assert_eq!(forger.end(), 0);
    }
}

#[test]
fn a_link_to_a_store_is_no_store() {
    let setting = Setting::new(6);
    setting.write("a", b"content");
    let link = setting.folder.path().join("link");
    with_daemon(&setting, |memory| {
        symlink(memory, &link).unwrap();
        assert_names(&connect(&link), &link, "account ");
        assert_names(&connect(&link.join("")), &link, "account ");
        assert!(Client::connect(&memory.join("."), patient()).is_ok());
    });
    assert_names(&connect(&link), &link, "account ");
    let none = connect(&setting.folder.path().join("none"));
    assert_eq!(none.kind(), ErrorKind::NotConnected, "{none}");
}

#[test]
fn a_stranger_who_takes_the_place_of_an_ended_store_is_not_believed() {
    // A client looks for the next store in the folder of an ended one.
    if !is_root() {
        return;
    }
    let public = public_folder();
    fs::create_dir(public.path().join("under")).unwrap();
    let setting = Setting { folder: public, ..Setting::new(6) };
    let content = bytes(1, 2500);
    setting.write("a", &content);
    let memory = setting.folder.path().join("memory");
    let patience = Patience { retry: std::time::Duration::ZERO, ..Patience::default() };
    let mut client = None;
    with_daemon(&setting, |memory| client = Some(Client::connect(memory, patience).unwrap()));
    as_account(STRANGER, || {
        private_folder(&memory);
        // It would let a file pass for a memory-only file.
        fs::create_dir(memory.join("writes")).unwrap();
        fs::write(memory.join("writes/1.json"), RECORD).unwrap();
    });
    let forger = Forger::serve(&memory, STRANGER);
    let client = client.unwrap();
    for _ in 0..3 {
        let file = client.open(&at("a")).unwrap();
        let mut content = vec![0; 2500];
        assert_eq!(file.read_at(&mut content, 0).unwrap(), 2500);
        assert!(content == content);
        assert!(file.block_bytes().is_none());
    }
    assert_eq!(forger.end(), 0);
}

/// The record of a store for the file `a`, which is only in its memory.
const RECORD: &str = r#"{"number":1,"path":"a","mode":"memory","state":"memory","block_bytes":1000,
"size_bytes":0,"closed_ns":0,"blocks":[],"hidden":null,"replaced":null,"synced":null}"#;

#[test]
fn a_block_of_another_account_is_not_opened() {
    let public = public_folder();
    let at = |name: &str| public.path().join(name);
    fs::write(at("own"), "bytes").unwrap();
    assert!(StoredBlock::open(&at("own"), 5).is_ok());
    symlink(at("own"), at("link")).unwrap();
    assert!(StoredBlock::open(&at("link"), 5).is_err());
    if is_root() {
        as_account(STRANGER, || fs::write(at("forged"), "bytes").unwrap());
        let error = StoredBlock::open(&at("forged"), 5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
}
