//! A client reads the content of the under level, whatever happens to the store.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{BLOCK, Setting, at, bytes, patient};
use cuesta_core::progress::Progress;
use cuesta_store::client::limits::Patience;
use cuesta_store::client::{Client, StoredFile, WrittenFile};
use cuesta_store::daemon;
use cuesta_store::store::StoreOptions;
use cuesta_store::under::Under;
use cuesta_store::writeback::WriteMode;
use cuesta_store::writeback::is_alone;
use rustix::process::{Pid, Signal, kill_process};

/// Environment variable with the folder of the setting, for the process of
/// [`a_daemon_of_another_test`].
const VARIABLE: &str = "CUESTA_TEST_SETTING";

fn memory_of(setting: &Setting) -> PathBuf {
    setting.folder.path().join("memory")
}

/// Serves a setting in this process while `test` runs.
fn with_daemon(setting: &Setting, test: impl FnOnce(&Arc<Client>)) {
    crate::common::with_daemon(setting, |memory| {
        test(&Arc::new(Client::connect(memory, patient()).unwrap()));
    });
}

/// A daemon in a separate process, which can be stopped and killed.
struct OtherProcess(Child);

impl OtherProcess {
    fn serve(setting: &Setting) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "client::a_daemon_of_another_test"]).stdout(Stdio::null());
        let child = command.env(VARIABLE, setting.folder.path()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        while Client::connect(&memory_of(setting), Patience::default()).is_err() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(5));
        }
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        // A stopped process may give an answer before it notices.
        let facts = format!("/proc/{}/stat", self.0.id());
        while signal == Signal::STOP && !fs::read_to_string(&facts).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_daemon_of_another_test() {
    let Some(folder) = std::env::var_os(VARIABLE) else { return };
    let folder = Path::new(&folder);
    let options: StoreOptions = Setting::new(6).options;
    let (memory, under) = (folder.join("memory"), folder.join("under"));
    daemon::serve(&memory, &under, crate::common::serving(options), &Progress::default(), || ())
        .unwrap();
}

fn read(file: &StoredFile, mut offset: u64, piece: usize) -> std::io::Result<Vec<u8>> {
    let (mut bytes, mut into) = (Vec::new(), vec![0; piece]);
    loop {
        let count = file.read_at(&mut into, offset)?;
        if count == 0 {
            return Ok(bytes);
        }
        bytes.extend(&into[..count]);
        offset += count as u64;
    }
}

#[test]
fn hits_are_mapped_and_copied_alike() {
    let setting = Setting::new(10);
    let content = bytes(1, 4321);
    setting.write("a", &content);
    setting.write("empty", b"");
    with_daemon(&setting, |client| {
        let file = client.open(&at("a")).unwrap();
        assert_eq!(file.size_bytes(), 4321);
        // Often enough that blocks are copied by the system and then from their mappings.
        for piece in [77, 1000, 5000, 300, 77, 5000, 1000] {
            assert!(read(&file, 0, piece).unwrap() == content, "{piece}");
        }
        assert!(read(&file, 1999, 300).unwrap() == content[1999..]);
        assert_eq!(file.read_at(&mut [0; 9], 5000).unwrap(), 0);
        let again = client.open(&at("/a")).unwrap();
        let blocks: Vec<_> = (0..5).map(|index| again.block(index).unwrap().unwrap()).collect();
        assert!(blocks.iter().flat_map(|block| block.iter()).eq(&content));
        assert!(again.block(5).is_err());
        for offset in [0, 999, 1000, 4320] {
            let end = content.len().min((offset / 1000 + 1) * 1000);
            let rest = again.bytes_from(offset as u64).unwrap().unwrap();
            assert!(rest[..] == content[offset..end], "{offset}");
        }
        assert!(again.bytes_from(4321).unwrap().is_none());
        let empty = client.open(&at("empty")).unwrap();
        assert_eq!(read(&empty, 0, 10).unwrap(), b"");
        drop((file, again));
        // A mapping remains valid after its block is removed from the store.
        fs::remove_file(setting.folder.path().join("under/a")).unwrap();
        for path in setting.block_files() {
            fs::remove_file(path).unwrap();
        }
        assert!(blocks.iter().flat_map(|block| block.iter()).eq(&content));
        assert_eq!(client.open(&at("a")).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn facts_and_names_are_those_of_the_under_level() {
    let setting = Setting::new(3);
    setting.write("b", b"four");
    setting.write("a", b"");
    with_daemon(&setting, |client| {
        assert_eq!(client.list(&at("")).unwrap(), ["a", "b"]);
        assert_eq!(client.facts(&at("b")).unwrap().size_bytes, 4);
        assert!(client.facts(&at("/")).unwrap().is_folder);
        assert_eq!(client.facts(&at("c")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(client.list(&at("c")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(client.open(&at("")).is_err());
    });
}

#[test]
fn threads_share_a_file_whose_blocks_are_loaded_and_evicted() {
    let setting = Setting::new(4);
    let content = bytes(2, 20_500);
    setting.write("a", &content);
    with_daemon(&setting, |client| {
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (client, content) = (Arc::clone(client), &content);
                scope.spawn(move || {
                    for pass in 0..5 {
                        let file = client.open(&at("a")).unwrap();
                        let start = worker * 3000 + pass * 100;
                        assert!(read(&file, start as u64, 350).unwrap() == content[start..]);
                    }
                });
            }
        });
    });
}

/// A client that once held all blocks of a memory bypassed it for ever afterwards.
#[test]
fn a_full_memory_is_bypassed_until_it_has_room() {
    let setting = Setting::new(2);
    let content = bytes(3, 6000);
    setting.write("a", &content);
    with_daemon(&setting, |client| {
        let other = Client::connect(&memory_of(&setting), patient()).unwrap();
        let third = Client::connect(&memory_of(&setting), patient()).unwrap();
        let files = [&**client, &other, &third].map(|client| client.open(&at("a")).unwrap());
        assert!(files[0].block(3).unwrap().is_some());
        assert!(files[1].block(1).unwrap().is_some());
        assert!(files[2].block(5).unwrap().is_none());
        assert!(read(&files[2], 0, 90).unwrap() == content);
        drop((files, other));
        let file = third.open(&at("a")).unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        // A block that is filled ahead may take the room for a moment.
        while file.block(5).unwrap().is_none() {
            assert!(Instant::now() < until);
            assert!(read(&file, 5000, 1000).unwrap() == content[5000..]);
        }
    });
}

#[test]
fn a_file_that_was_changed_is_an_error_and_then_another_file() {
    let setting = Setting::new(1);
    let (old, new) = (bytes(1, 9000), bytes(2, 9000));
    setting.write("a", &old);
    with_daemon(&setting, |client| {
        let other = Client::connect(&memory_of(&setting), patient()).unwrap();
        let (file, past) = (client.open(&at("a")).unwrap(), other.open(&at("a")).unwrap());
        assert!(file.block(0).unwrap().is_some());
        // The memory has no room for the second reader, which reads from the under level.
        let mut into = [0; 100];
        assert_eq!(past.read_at(&mut into, 4000).unwrap(), 100);
        assert_eq!(into, old[4000..4100]);
        setting.write("a", &new);
        let error = past.read_at(&mut into, 8000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        let error = file.read_at(&mut into, 6000).unwrap_err();
        assert!(error.to_string().contains("was changed"), "{error}");
        drop((file, past));
        assert!(read(&client.open(&at("a")).unwrap(), 0, 400).unwrap() == new);
    });
}

#[test]
fn a_store_that_hangs_or_ends_is_bypassed_and_lost_once() {
    for signal in [Signal::STOP, Signal::KILL] {
        let setting = Setting::new(6);
        let content = bytes(4, 50_000);
        setting.write("a", &content);
        setting.write("b", &content[1..]);
        let daemon = OtherProcess::serve(&setting);
        let patience = Patience { retry: Duration::from_secs(3600), ..Patience::default() };
        let client = Client::connect(&memory_of(&setting), patience).unwrap();
        let file = client.open(&at("a")).unwrap();
        let mapped = file.block(0).unwrap().unwrap();
        daemon.signal(signal);
        assert!(read(&file, 0, 700).unwrap() == content, "{signal:?}");
        // It is lost once, rather than once for each file: no further attempt to connect is made.
        let socket = memory_of(&setting).join(daemon::SOCKET);
        let aside = socket.with_extension("aside");
        fs::rename(&socket, &aside).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        assert!(read(&client.open(&at("b")).unwrap(), 0, 7000).unwrap() == content[1..]);
        assert_eq!(client.list(&at("")).unwrap(), ["a", "b"]);
        assert_eq!(client.facts(&at("b")).unwrap().size_bytes, 49_999);
        assert!(client.open(&at("c")).is_err());
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        fs::rename(&aside, &socket).unwrap();
        assert_eq!(mapped[..], content[..BLOCK as usize]);
        let error = Client::connect(&memory_of(&setting), Patience::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
        setting.write("a", &content[1..]);
        assert_eq!(read(&file, 0, 700).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

#[test]
fn a_store_that_was_started_again_is_used_again() {
    let setting = Setting::new(6);
    let content = bytes(4, 5000);
    setting.write("a", &content);
    let mut daemon = OtherProcess::serve(&setting);
    let patience = Patience { retry: Duration::ZERO, ..Patience::default() };
    let client = Client::connect(&memory_of(&setting), patience).unwrap();
    let file = client.open(&at("a")).unwrap();
    for _ in 0..2 {
        drop(daemon);
        assert!(read(&file, 0, 700).unwrap() == content);
        assert_eq!(client.open(&at("a")).unwrap().block_bytes(), None);
        daemon = OtherProcess::serve(&setting);
        let again = client.open(&at("a")).unwrap();
        assert!(again.block(0).unwrap().is_some());
    }
    // A store that only hung answers again.
    daemon.signal(Signal::STOP);
    assert_eq!(client.open(&at("a")).unwrap().block_bytes(), None);
    daemon.signal(Signal::CONT);
    assert_eq!(client.open(&at("a")).unwrap().block_bytes(), Some(BLOCK));
}

/// Forwards questions to a store, except those that need the under level, which get no answer.
fn pass_on(listener: &UnixListener, store: &Path) {
    use std::io::{Read, Write};
    for stream in listener.incoming() {
        let (mut stream, store) = (stream.unwrap(), store.join(daemon::SOCKET));
        std::thread::spawn(move || {
            let mut other = UnixStream::connect(store).unwrap();
            let mut lengths = [0; 8];
            while stream.read_exact(&mut lengths).is_ok() {
                let count = u32::from_le_bytes(lengths[..4].try_into().unwrap());
                let mut text = vec![0; count as usize];
                stream.read_exact(&mut text).unwrap();
                if text.windows(6).any(|word| word == b"\"open\"") {
                    continue;
                }
                other.write_all(&[&lengths[..], &text].concat()).unwrap();
                let mut answer = vec![0; 1 << 16];
                let count = other.read(&mut answer).unwrap();
                stream.write_all(&answer[..count]).unwrap();
            }
        });
    }
}

#[test]
fn an_under_level_that_does_not_answer_is_reported_in_a_line() {
    let setting = Setting::new(6);
    let hung = setting.folder.path().join("hung");
    fs::create_dir(&hung).unwrap();
    fs::set_permissions(&hung, fs::Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(hung.join(daemon::SOCKET)).unwrap();
    with_daemon(&setting, |_| {
        let store = memory_of(&setting);
        std::thread::spawn(move || pass_on(&listener, &store));
        let patience = Patience {
            answer: Duration::from_millis(50),
            fill: Duration::from_millis(400),
            ..Patience::default()
        };
        let client = Client::connect(&hung, patience).unwrap();
        let begun = Instant::now();
        let error = client.open(&at("a")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("the under level has not answered"), "{error}");
        assert!(begun.elapsed() >= Duration::from_millis(400));
    });
}

#[test]
fn links_lead_nowhere_outside_without_a_store_either() {
    let setting = Setting::new(6);
    setting.write("a", b"inside");
    let outside = setting.folder.path().join("secret");
    fs::write(&outside, b"secret").unwrap();
    std::os::unix::fs::symlink(&outside, setting.folder.path().join("under/link")).unwrap();
    assert!(setting.under().facts(&at("link")).is_err());
    let daemon = OtherProcess::serve(&setting);
    let client = Client::connect(&memory_of(&setting), Patience::default()).unwrap();
    drop(daemon);
    assert_eq!(read(&client.open(&at("a")).unwrap(), 0, 9).unwrap(), b"inside");
    let error = client.open(&at("link")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn a_file_in_memory_alone_is_never_read_from_an_older_file() {
    let setting = Setting::new(20);
    setting.write("a", b"older");
    let store = setting.store();
    crate::common::write(&store, "a", &bytes(1, 1500), WriteMode::Back).unwrap();
    drop(store);
    // The records of a killed store report this to a client without a store.
    let memory = setting.folder.path().join("memory");
    assert!(is_alone(&memory, &at("a")));
    assert!(!is_alone(&memory, &at("b")));
    let store = setting.store();
    store.flush(None).unwrap();
    assert!(!is_alone(&memory, &at("a")));
}

#[test]
fn a_file_of_many_blocks_that_are_sealed_at_its_end_is_committed() {
    let setting = Setting::new(1200);
    let content = bytes(1, 1100 * BLOCK as usize);
    with_daemon(&setting, |_| {
        let back = Some(WriteMode::Back);
        let mut file = WrittenFile::create(&memory_of(&setting), &at("a"), back).unwrap();
        // Like formats whose first bytes state the length of the rest.
        file.write_at(&content[8..], 8).unwrap();
        file.write_at(&content[..8], 0).unwrap();
        file.commit().unwrap();
    });
    assert!(fs::read(setting.folder.path().join("under/a")).unwrap() == content);
}
