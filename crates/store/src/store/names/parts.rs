//! Hidden names of files that are being written ("parts"). A name identifies the writing store:
//! without that, another store could not know whether the file is still being written.
//!
//! Two hosts may have the same name, and the same machine-id where a disk was copied. So a part
//! belongs to a dead store only where that is certain: the running kernel has started its process,
//! which has ended, or the process was started before this boot of the host.
//! gone, or had started it before this boot of the host.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::{Pid, test_kill_process};

use crate::name_text::name_of;
use crate::path::StorePath;

/// End of the hidden names of files that are being written.
const HIDDEN_END: &str = ".cuesta-part";
/// Most bytes of a name.
const NAME_BYTES_MAX: usize = 255;
const NS_A_SECOND: i64 = 1_000_000_000;

/// The process of a store, identified by boot and host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct PartOwner {
    /// Hash of the host's name, machine-id and network addresses.
    host: u64,
    /// Hash of the id of its boot.
    boot: u64,
    /// Number of the process id namespace, such as that of a container.
    space: u64,
    pid: u32,
    /// Start time of the process, in ticks of its boot.
    start: u64,
}

/// Whether the process that writes a part lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum PartLife {
    Living,
    Dead,
    /// Unknown on this host, for this reason.
    Unknown(&'static str),
}

/// A parsed hidden name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct PartName {
    /// `None` in a name of an older version.
    pub owner: Option<PartOwner>,
    /// Inode number of the file that was to be exchanged, and its name, truncated if needed.
    pub exchanged: Option<(u64, String)>,
}

/// Creates a hidden name for a file of this number.
pub(in crate::store) fn hidden_name(number: u64, now_ns: i64) -> String {
    let PartOwner { host, boot, space, pid, start } = PartOwner::here();
    format!(".{host:x}-{boot:x}-{space:x}-{pid:x}-{start:x}-{number:x}-{now_ns:x}{HIDDEN_END}")
}

/// Returns the hidden name of a file for its exchange with the file at `path`. It contains the
/// inode number, so that another file under that name is not taken for a part.
pub(in crate::store) fn exchange_name(
    hidden: &str,
    inode: u64,
    path: &StorePath,
) -> Option<String> {
    let start = hidden.strip_suffix(HIDDEN_END)?;
    let start = format!("{start}-{inode:x}.");
    let mut name = path.name();
    while start.len() + name_of(name).len() + HIDDEN_END.len() > NAME_BYTES_MAX {
        name = name.char_indices().next_back().map_or("", |(place, _)| &name[..place]);
    }
    Some(format!("{start}{name}{HIDDEN_END}"))
}

impl PartName {
    /// Parses a hidden name; `None` for any other name.
    pub fn of(name: &str) -> Option<Self> {
        let inner = name.strip_prefix('.')?.strip_suffix(HIDDEN_END)?;
        let (numbers, exchanged) = match inner.split_once('.') {
            Some((numbers, exchanged)) => (numbers, Some(exchanged.to_owned())),
            None => (inner, None),
        };
        let number = |text: &str| {
            let is_hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            u64::from_str_radix(text, 16).ok().filter(|_| is_hex)
        };
        let numbers: Vec<u64> = numbers.split('-').map(number).collect::<Option<_>>()?;
        match (numbers.as_slice(), exchanged) {
            ([_, _], None) => Some(Self { owner: None, exchanged: None }),
            (&[host, boot, space, pid, start, _, _, ref inode @ ..], exchanged) => {
                let pid = u32::try_from(pid).ok()?;
                let owner = Some(PartOwner { host, boot, space, pid, start });
                let exchanged = match (inode, exchanged) {
                    ([], None) => None,
                    ([inode], Some(name)) => Some((*inode, name)),
                    _ => return None,
                };
                Some(Self { owner, exchanged })
            }
            _ => None,
        }
    }
}

impl PartOwner {
    /// Returns the owner for this process.
    pub fn here() -> Self {
        static HERE: OnceLock<PartOwner> = OnceLock::new();
        *HERE.get_or_init(|| {
            let pid = std::process::id();
            let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
            let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
            let space = space.to_string_lossy();
            let digits = space.trim_matches(|letter: char| !letter.is_ascii_digit());
            Self {
                host: hash(&host_identity(Path::new("/sys/class/net"))),
                boot: hash(&read("/proc/sys/kernel/random/boot_id")),
                space: digits.parse().unwrap_or(0),
                pid,
                start: start_of(pid).unwrap_or(0),
            }
        })
    }

    /// Returns whether it may still write a part that was last changed at this time.
    pub fn life(self, changed_ns: i64) -> PartLife {
        self.life_at(Self::here(), changed_ns, boot_ns())
    }

    fn life_at(self, here: Self, changed_ns: i64, boot_ns: Option<i64>) -> PartLife {
        if self.boot == here.boot {
            return match self.space == here.space && self.space != 0 {
                true if is_running(self.pid, self.start) => PartLife::Living,
                true => PartLife::Dead,
                false => PartLife::Unknown("of another container"),
            };
        }
        match boot_ns {
            Some(boot_ns) if self.host == here.host && changed_ns < boot_ns => PartLife::Dead,
            _ => PartLife::Unknown("of another host"),
        }
    }
}

fn hash(text: &str) -> u64 {
    let hash = blake3::derive_key("cuesta store, owner of a part", text.as_bytes());
    u64::from_le_bytes(*hash.first_chunk().unwrap_or(&[0; 8]))
}

/// Returns the name of the host, its machine-id, and the addresses of its network devices.
fn host_identity(devices: &Path) -> String {
    let name = rustix::system::uname();
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let devices = fs::read_dir(devices).into_iter().flatten().flatten();
    let mut addresses: Vec<String> = devices
        .filter(|device| device.path().join("device").exists())
        .filter_map(|device| fs::read_to_string(device.path().join("address")).ok())
        .collect();
    addresses.sort_unstable();
    format!("{}\n{machine}\n{}", name.nodename().to_string_lossy(), addresses.concat())
}

/// Returns the start time of a process, in ticks of this boot; for a zombie, a time of no process.
fn start_of(pid: u32) -> Option<u64> {
    let facts = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may contain any characters.
    let mut facts = facts.rsplit_once(')')?.1.split_ascii_whitespace();
    if matches!(facts.next()?, "Z" | "X") {
        return Some(u64::MAX);
    }
    facts.nth(18)?.parse().ok()
}

fn is_running(pid: u32, start: u64) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return true };
    match test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => false,
        // Another process may have its number by now.
        _ => start_of(pid.as_raw_nonzero().get().unsigned_abs()).is_none_or(|now| now == start),
    }
}

/// Returns the time of this boot, in nanoseconds since 1970.
fn boot_ns() -> Option<i64> {
    let facts = fs::read_to_string("/proc/stat").ok()?;
    let line = facts.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse::<i64>().ok()?.checked_mul(NS_A_SECOND)
}

/// Returns the reason why a part is not swept.
pub(in crate::store) fn reason_of(life: PartLife) -> &'static str {
    match life {
        PartLife::Living => "a store of this host writes it",
        PartLife::Dead => "its store has ended",
        PartLife::Unknown(reason) => reason,
    }
}

/// Returns whether it is the hidden name of a file that is being written.
pub(in crate::store) fn is_hidden(name: &str) -> bool {
    PartName::of(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn owner() -> impl Strategy<Value = PartOwner> {
        (0..3_u64, 0..3_u64, 0..3_u64, 1..3_u32, 0..3_u64)
            .prop_map(|(host, boot, space, pid, start)| PartOwner { host, boot, space, pid, start })
    }

    proptest! {
        #[test]
        fn a_hidden_name_identifies_its_owner(number: u64, now_ns in 0..i64::MAX, inode: u64,
                                          name in "[^/\0]{1,80}") {
            let hidden = hidden_name(number, now_ns);
            let part = PartName::of(&hidden).unwrap();
            prop_assert_eq!(part.owner, Some(PartOwner::here()));
            prop_assert_eq!(part.exchanged, None);
            let Ok(path) = format!("d/{name}").parse::<StorePath>() else { return Ok(()) };
            let exchange = exchange_name(&hidden, inode, &path).unwrap();
            prop_assert!(name_of(&exchange).len() <= NAME_BYTES_MAX);
            let (parsed_inode, start) = PartName::of(&exchange).unwrap().exchanged.unwrap();
            prop_assert_eq!(parsed_inode, inode);
            prop_assert!(path.name().starts_with(&start));
        }

        #[test]
        fn a_foreign_name_is_no_part(name: String) {
            prop_assert!(!is_hidden(&name));
            let name = format!(".{name}-.cuesta-part");
            prop_assert!(!is_hidden(&name));
        }

        #[test]
        fn a_store_of_another_boot_and_host_is_never_dead(
            owner in owner(), here in owner(), changed_ns in 0..9_i64, boot_ns in 0..9_i64,
        ) {
            let life = owner.life_at(here, changed_ns, Some(boot_ns));
            if owner.boot != here.boot && owner.host != here.host {
                prop_assert!(matches!(life, PartLife::Unknown(_)));
            }
            if owner.boot != here.boot && changed_ns >= boot_ns {
                prop_assert!(matches!(life, PartLife::Unknown(_)));
            }
            if owner.boot == here.boot && owner.space != here.space {
                prop_assert!(matches!(life, PartLife::Unknown(_)));
            }
        }
    }

    #[test]
    fn a_part_belongs_to_a_dead_store_once_its_process_has_ended() {
        let here = PartOwner::here();
        assert_eq!(here.life(i64::MAX), PartLife::Living);
        assert_eq!(PartOwner { start: here.start + 1, ..here }.life(0), PartLife::Dead);
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id();
        let of_child = PartOwner { pid, start: start_of(pid).unwrap(), ..here };
        assert_eq!(of_child.life(0), PartLife::Living);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of_child.life(0), PartLife::Dead);
    }

    #[test]
    fn two_hosts_with_the_same_name_are_distinguished_by_their_boot() {
        let here = PartOwner::here();
        let other = PartOwner { boot: here.boot + 1, pid: 1, ..here };
        assert_eq!(other.life(i64::MAX), PartLife::Unknown("of another host"));
        // The same host, before it was started again.
        assert_eq!(other.life_at(here, 1, Some(2)), PartLife::Dead);
    }
}
