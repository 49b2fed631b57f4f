//! Rules for folders: how much memory their files may use, and whether they are pinned.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::path::StorePath;

/// Treatment of the blocks of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderUse {
    /// They are loaded when they are read, and pinned.
    Pin,
    /// The policy decides.
    Normal,
    /// They are loaded only where a user loads or pins them, and otherwise read from the under
    /// level.
    Bypass,
}

/// Rule for the files below a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderRule {
    /// The folder; the root for all files.
    pub folder: StorePath,
    /// Most bytes of their blocks in memory.
    pub quota_bytes: Option<u64>,
    /// Treatment of their blocks; the rule of the longest folder applies.
    #[serde(rename = "use")]
    pub folder_use: Option<FolderUse>,
}

/// A quota and its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// Folder of the files that it applies to.
    pub folder: StorePath,
    /// Most bytes of their blocks in memory.
    pub quota_bytes: u64,
    /// Bytes of their blocks in memory, including those being filled.
    pub used_bytes: u64,
}

/// Rule that applies to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileRule {
    /// Indexes of the rules whose quotas it counts towards.
    pub(super) quotas: Vec<usize>,
    pub(super) folder_use: FolderUse,
}

/// Returns the combined rule for a file.
pub(super) fn rule_of(rules: &[FolderRule], path: &StorePath) -> FileRule {
    // The root is an empty path, which all paths start with.
    let root = Path::new("");
    let is_below = |rule: &FolderRule| path.below(root).starts_with(rule.folder.below(root));
    let length = |rule: &&FolderRule| rule.folder.below(root).components().count();
    let uses = rules.iter().filter(|rule| is_below(rule) && rule.folder_use.is_some());
    let folder_use = uses.max_by_key(length).and_then(|rule| rule.folder_use);
    let has_quota = |rule: &FolderRule| is_below(rule) && rule.quota_bytes.is_some();
    let quotas = (0..rules.len()).filter(|&index| has_quota(&rules[index])).collect();
    FileRule { quotas, folder_use: folder_use.unwrap_or(FolderUse::Normal) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_folder_decides_and_all_quotas_above_a_file_hold() {
        let rule = |folder: &str, quota_bytes, folder_use| FolderRule {
            folder: folder.parse().unwrap(),
            quota_bytes,
            folder_use,
        };
        let rules = [
            rule("/a/b", Some(10), Some(FolderUse::Pin)),
            rule("/", Some(100), Some(FolderUse::Bypass)),
            rule("/a", Some(50), None),
            rule("/a/b/c", None, Some(FolderUse::Normal)),
        ];
        let of = |path: &str| {
            let rule = rule_of(&rules, &path.parse().unwrap());
            (rule.quotas, rule.folder_use)
        };
        assert_eq!(of("/x"), (vec![1], FolderUse::Bypass));
        assert_eq!(of("/a/bc"), (vec![1, 2], FolderUse::Bypass));
        assert_eq!(of("/a/b/x"), (vec![0, 1, 2], FolderUse::Pin));
        assert_eq!(of("/a/b/c/x"), (vec![0, 1, 2], FolderUse::Normal));
    }
}
