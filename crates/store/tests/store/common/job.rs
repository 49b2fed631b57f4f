//! Stores of a job, each in a separate process over the same folder, on this machine.

use cuesta_core::progress::Progress;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuesta_store::client::{Client, WrittenFile};
use cuesta_store::writeback::WriteMode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{at, settle};

/// Environment variable with the request of a daemon, for its process.
pub const VARIABLE: &str = "CUESTA_TEST_STORE";
/// Most stores of a job in these tests.
const MEMBERS_MAX: usize = 8;
pub const BLOCK_BYTES: u64 = 1 << 16;

/// A folder with several stores over it.
pub struct Job {
    pub folder: TempDir,
    pub stores: Vec<RunningStore>,
}

/// A store in a separate process.
pub struct RunningStore {
    pub memory: PathBuf,
    pub name: String,
    process: Child,
}

impl Job {
    /// Starts `count` stores, and waits until they know each other.
    pub fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("under")).unwrap();
        let job = Self { folder, stores: vec![] };
        job.write_secret(&["1".repeat(64)]);
        let stores = (0..count).map(|index| job.start(index, "127.0.0.1:0")).collect();
        let job = Self { stores, ..job };
        let names: Vec<&str> = job.stores.iter().map(|store| store.name.as_str()).collect();
        job.write_members(&names);
        job.wait_until_all_live();
        job
    }

    pub fn write_members(&self, names: &[&str]) {
        (0..MEMBERS_MAX).for_each(|index| self.write_members_of(index, names));
    }

    fn write_members_of(&self, index: usize, names: &[&str]) {
        let place = |name: &str| self.folder.path().join(format!("{name}{index}"));
        fs::write(place("part"), names.join("\n")).unwrap();
        fs::rename(place("part"), place("members")).unwrap();
    }

    /// Partitions the job: no store of one side knows a store of the other.
    pub fn split(&self, first: &[usize]) {
        let side = |is_first: bool| -> Vec<usize> {
            (0..self.stores.len()).filter(|index| first.contains(index) == is_first).collect()
        };
        for indexes in [side(true), side(false)] {
            let names: Vec<&str> = indexes.iter().map(|&i| self.stores[i].name.as_str()).collect();
            indexes.iter().for_each(|&index| self.write_members_of(index, &names));
            indexes.iter().for_each(|&index| self.stores[index].wait_until_listed(&names));
        }
    }

    /// Ends the partition.
    pub fn heal(&self) {
        let names: Vec<&str> = self.stores.iter().map(|store| store.name.as_str()).collect();
        self.write_members(&names);
        self.wait_until_all_live();
    }

    /// Runs a check; returns false, whatever it says, if a store took another one for dead
    /// meanwhile, as on a busy machine.
    pub fn is_judged(&self, check: impl FnOnce(&Self)) -> bool {
        let before = self.returns();
        let checked = catch_unwind(AssertUnwindSafe(|| check(self)));
        self.wait_until_all_live();
        let is_judged = self.returns() == before;
        if let Err(panic) = checked
            && is_judged
        {
            resume_unwind(panic);
        }
        is_judged
    }

    /// Returns the number of returns of each other store that each store has seen.
    fn returns(&self) -> Vec<u64> {
        let members = |store: &RunningStore| -> Vec<u64> {
            let status = store.ask(&json!({"do": "status"}));
            let members = status["peers"]["members"].as_array().unwrap().iter();
            members.map(|member| member["returns"].as_u64().unwrap()).collect()
        };
        self.stores.iter().flat_map(members).collect()
    }

    /// Writes the secrets, the current one first.
    pub fn write_secret(&self, secrets: &[String]) {
        let (part, path) = (self.folder.path().join("part"), self.folder.path().join("secret"));
        fs::write(&part, secrets.join("\n")).unwrap();
        fs::set_permissions(&part, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(part, path).unwrap();
    }

    /// Starts a store.
    pub fn start(&self, index: usize, listen: &str) -> RunningStore {
        let place = |name: &str| self.folder.path().join(name);
        let memory = place(&format!("memory{index}"));
        let request = json!({
            "folder": memory, "under": place("under"), "memory_bytes": 64 * BLOCK_BYTES,
            "block_bytes": BLOCK_BYTES, "policy": "lru", "max_age_seconds": 0.0,
            "write": "through", "grace_seconds": 10.0, "admission": false, "rules": [],
            "stripes": null, "stripe_bytes": BLOCK_BYTES, "preallocate": false,
            "peers": {
                "listen": listen, "members": [], "members_file": place(&format!("members{index}")),
                "secret": place("secret"),
            },
        });
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["common::job::a_store_of_another_test", "--exact", "--nocapture"]);
        command.env(VARIABLE, request.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let status = wait_for(|| try_ask(&memory, &json!({"do": "status"})));
        let name = status["peers"]["name"].as_str().unwrap().to_owned();
        RunningStore { memory, name, process }
    }

    /// Restarts a killed store at its old address.
    pub fn start_again(&mut self, index: usize) {
        let name = self.stores[index].name.clone();
        self.stores[index] = self.start(index, &name);
    }

    /// Writes a file of the under level, and waits until its change is old.
    pub fn write_under(&self, name: &str, content: &[u8]) {
        let path = self.folder.path().join("under").join(name);
        fs::write(&path, content).unwrap();
        settle(&path);
    }

    pub fn wait_until_all_live(&self) {
        let names: Vec<&str> = self.stores.iter().map(|store| store.name.as_str()).collect();
        self.stores.iter().for_each(|store| store.wait_until_live(&names));
    }
}

impl RunningStore {
    pub fn client(&self) -> Arc<Client> {
        Arc::new(Client::connect(&self.memory, super::patient()).unwrap())
    }

    /// Reads a complete file with a new client.
    pub fn read(&self, name: &str) -> std::io::Result<Vec<u8>> {
        let file = self.client().open(&at(name))?;
        let mut content = vec![0; file.size_bytes() as usize];
        let mut done = 0;
        while done < content.len() {
            done += file.read_at(&mut content[done..], done as u64)?;
        }
        Ok(content)
    }

    pub fn write(&self, name: &str, content: &[u8], mode: WriteMode) -> std::io::Result<()> {
        let mut file = WrittenFile::create(&self.memory, &at(name), Some(mode))?;
        file.write_at(content, 0)?;
        file.commit()
    }

    pub fn ask(&self, question: &Value) -> Value {
        try_ask(&self.memory, question).unwrap()
    }

    /// Returns the reply to the commit of an empty new file.
    pub fn commit_new(&self, path: &str) -> Value {
        let mut stream = UnixStream::connect(self.memory.join("socket")).unwrap();
        let created = ask_on(&mut stream, &json!({"do": "create", "path": path, "mode": "memory"}));
        let number = &created.unwrap()["created"];
        let commit = json!({"do": "commit", "number": number, "bytes": 0, "is_new": true});
        ask_on(&mut stream, &commit).unwrap()
    }

    pub fn peers(&self) -> Value {
        self.ask(&json!({"do": "status"}))["peers"].clone()
    }

    /// Returns the bytes of blocks read from other stores.
    pub fn read_from_peers(&self) -> u64 {
        let members = self.peers()["members"].as_array().unwrap().clone();
        members.iter().map(|member| member["read_bytes"].as_u64().unwrap()).sum()
    }

    /// Waits until exactly these stores live, as seen by this one.
    pub fn wait_until_live(&self, names: &[&str]) {
        self.wait_until_members(names, |member| member["is_live"] == true);
    }

    /// Waits until this store has exactly these members: others, taken for dead by a busy machine,
    /// may come back until then.
    fn wait_until_listed(&self, names: &[&str]) {
        self.wait_until_members(names, |_| true);
        self.wait_until_live(names);
    }

    fn wait_until_members(&self, names: &[&str], counts: impl Fn(&Value) -> bool) {
        let mut wanted: Vec<&str> = names.iter().copied().filter(|&n| n != self.name).collect();
        wanted.sort_unstable();
        wait_for(|| {
            let peers = self.peers();
            let members = peers["members"].as_array().unwrap();
            let counted = members.iter().filter(|member| counts(member));
            let counted: Vec<&str> =
                counted.map(|member| member["name"].as_str().unwrap()).collect();
            (counted == wanted).then_some(())
        });
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for RunningStore {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Asks a daemon, if it runs.
fn try_ask(memory: &Path, question: &Value) -> Option<Value> {
    ask_on(&mut UnixStream::connect(memory.join("socket")).ok()?, question)
}

/// Asks on a connection.
fn ask_on(stream: &mut UnixStream, question: &Value) -> Option<Value> {
    let text = question.to_string();
    let mut message = (text.len() as u32).to_le_bytes().to_vec();
    message.extend([0; 4]);
    message.extend(text.as_bytes());
    stream.write_all(&message).ok()?;
    let mut lengths = [0; 8];
    stream.read_exact(&mut lengths).ok()?;
    let length = u32::from_le_bytes(lengths[..4].try_into().unwrap());
    let mut text = vec![0; length as usize];
    stream.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Waits for a result; the timeout only guards against hanging.
pub fn wait_for<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The daemon of a store of these tests, run in a child process.
#[test]
fn a_store_of_another_test() {
    if let Ok(request) = std::env::var(VARIABLE) {
        cuesta_store::serve(&request, &Progress::default(), || ()).unwrap();
    }
}
