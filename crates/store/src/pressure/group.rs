//! The control group of this process, in version 1 or 2 of the kernel's interface.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a control group, and those of its ancestors, which limit its memory as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    folders: Vec<PathBuf>,
    files: GroupFiles,
}

/// Names of files in the folder of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
    /// Lines of `memory.stat` for pages of files, which the kernel can reclaim by itself. Pages of
    /// memory file systems are not among them.
    cached: [&'static str; 2],
}

const FIRST: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_inactive_file ", "total_active_file "],
};
const SECOND: GroupFiles = GroupFiles {
    limit: "memory.max",
    used: "memory.current",
    cached: ["inactive_file ", "active_file "],
};

impl ControlGroup {
    /// Returns the group of this process; `None` where the system has no groups, or hides them.
    pub fn current() -> Option<Self> {
        let of = |name: &str| fs::read_to_string(name).ok();
        Self::parsed(&of("/proc/self/cgroup")?, &of("/proc/self/mountinfo")?)
    }

    /// Finds the group from the process' groups and the system's mounts.
    fn parsed(groups: &str, mounts: &str) -> Option<Self> {
        let mut second = None;
        for line in groups.lines() {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            if controllers.split(',').any(|controller| controller == "memory") {
                let is_memory = |kind: &str, options: &str| {
                    kind == "cgroup" && options.split(',').any(|option| option == "memory")
                };
                return Self::below(path, mounts, FIRST, is_memory);
            }
            second = if controllers.is_empty() { Some(path) } else { second };
        }
        Self::below(second?, mounts, SECOND, |kind, _| kind == "cgroup2")
    }

    fn below(
        path: &str,
        mounts: &str,
        files: GroupFiles,
        is_mount: impl Fn(&str, &str) -> bool,
    ) -> Option<Self> {
        let (root, place) = mounts.lines().find_map(|line| {
            let (facts, system) = line.split_once(" - ")?;
            let mut system = system.split(' ');
            let (kind, options) = (system.next()?, system.nth(1)?);
            let mut facts = facts.split(' ').skip(3);
            is_mount(kind, options).then_some((facts.next()?, facts.next()?))
        })?;
        let place = Path::new(place);
        // In a container, the mount shows only a part of the groups.
        let within = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let folders = within.ancestors().map(|within| place.join(within)).collect();
        Some(Self { folders, files })
    }

    /// Returns the limit and the available bytes, each the minimum over all groups; `None` without
    /// any limit.
    pub fn memory(&self) -> Option<(u64, u64)> {
        let limits = self.folders.iter().filter_map(|folder| self.of_folder(folder));
        limits.reduce(|left, right| (left.0.min(right.0), left.1.min(right.1)))
    }

    fn of_folder(&self, folder: &Path) -> Option<(u64, u64)> {
        let number = |name: &str| -> Option<u64> {
            fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
        };
        let (limit, used) = (number(self.files.limit)?, number(self.files.used)?);
        let facts = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let cached = facts.lines().filter_map(|line| {
            let bytes = self.files.cached.iter().find_map(|name| line.strip_prefix(name))?;
            bytes.trim().parse::<u64>().ok()
        });
        Some((limit, limit.saturating_sub(used.saturating_sub(cached.sum()))))
    }

    /// Returns the pressure stall information of the group, where the kernel provides it.
    pub fn pressure_file(&self) -> Option<PathBuf> {
        let file = self.folders.first()?.join("memory.pressure");
        file.exists().then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        30 25 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n\
        31 25 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n\
        32 25 0:28 /box /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn folders(groups: &str, mounts: &str) -> Option<Vec<String>> {
        let group = ControlGroup::parsed(groups, mounts)?;
        Some(group.folders.iter().map(|folder| folder.display().to_string()).collect())
    }

    #[test]
    fn both_versions_are_parsed_with_all_ancestors() {
        let paths = folders("5:cpu:/\n4:memory,x:/a/b\n0::/\n", MOUNTS).unwrap();
        let root = "/sys/fs/cgroup/memory/";
        assert_eq!(paths, [format!("{root}a/b"), format!("{root}a"), root.to_owned()]);
        let paths = folders("0::/box/job\n", MOUNTS).unwrap();
        assert_eq!(paths, ["/sys/fs/cgroup/unified/job", "/sys/fs/cgroup/unified/"]);
        assert_eq!(folders("0::/other\n", MOUNTS).unwrap(), ["/sys/fs/cgroup/unified/"]);
        assert_eq!(folders("0::/\n", "no mount"), None);
        assert_eq!(folders("nothing", MOUNTS), None);
    }

    #[test]
    fn the_minimum_over_all_groups_counts_and_pages_of_files_are_available() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let write = |folder: &Path, limit: &str, used: &str, facts: &str| {
            fs::write(folder.join("memory.max"), limit).unwrap();
            fs::write(folder.join("memory.current"), used).unwrap();
            fs::write(folder.join("memory.stat"), facts).unwrap();
        };
        let folders = vec![inner.clone(), folder.path().to_owned()];
        let group = ControlGroup { folders, files: SECOND };
        assert_eq!((group.memory(), group.pressure_file()), (None, None));
        write(&inner, "max\n", "70\n", "");
        assert_eq!(group.memory(), None);
        write(folder.path(), "1000\n", "900\n", "anon 5\ninactive_file 40\nactive_file 20\n");
        assert_eq!(group.memory(), Some((1000, 160)));
        write(&inner, "500\n", "70\n", "file 3\n");
        assert_eq!(group.memory(), Some((500, 160)));
    }
}
