//! Names of files that lost their name to another file, and are retained under a new one.

use crate::path::StorePath;

/// Most bytes of a name.
const NAME_BYTES_MAX: usize = 255;
/// Separator between the file's name and the host that retained it.
const MARK: &str = ".conflict-";
const NS_A_SECOND: i64 = 1_000_000_000;

/// Returns a path in the same folder as `path`, for a file that has lost that name:
/// `NAME.conflict-HOST-TIME`, with the time in UTC. `tries` distinguishes further files of the same
/// time.
pub fn conflict_name(path: &StorePath, at_ns: i64, tries: u32) -> StorePath {
    let suffix = if tries == 0 { String::new() } else { format!("-{tries}") };
    let end = format!("{MARK}{}-{}{suffix}", host_name(), utc(at_ns));
    let mut start = path.name();
    while start.len() + end.len() > NAME_BYTES_MAX {
        start = start.char_indices().next_back().map_or("", |(place, _)| &start[..place]);
    }
    let folder = path.parent().unwrap_or_default();
    folder.join(&format!("{start}{end}")).unwrap_or_else(|_| path.clone())
}

/// Returns whether a path has the form of a conflict name.
pub fn is_conflict(path: &StorePath) -> bool {
    let Some((_, end)) = path.name().rsplit_once(MARK) else { return false };
    let mut parts = end.rsplit('-');
    let last = parts.next().unwrap_or_default();
    is_utc(last)
        || (last.bytes().all(|byte| byte.is_ascii_digit()) && parts.next().is_some_and(is_utc))
}

/// Returns the name of this host, without characters that a file name must not have.
fn host_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_');
    let name: String = name.chars().filter(is_plain).take(64).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

fn is_utc(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| bytes[from..to].iter().all(u8::is_ascii_digit);
    bytes.len() == 19 && bytes[8] == b'T' && bytes[18] == b'Z' && digits(0, 8) && digits(9, 18)
}

/// Formats a time in nanoseconds since 1970 as `YYYYMMDDTHHMMSSmmmZ`.
fn utc(at_ns: i64) -> String {
    let (seconds, rest) = (at_ns.div_euclid(NS_A_SECOND), at_ns.rem_euclid(NS_A_SECOND));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 1 March of the year 0, in eras of 400 years (H. Hinnant, days_from_civil).
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let milliseconds = rest / 1_000_000;
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}{milliseconds:03}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (at_ns, text) in [
            (0, "19700101T000000000Z"),
            (951_782_400_123_000_000, "20000229T000000123Z"),
            (1_795_836_011_000_000_000, "20261128T032011000Z"),
        ] {
            assert_eq!(utc(at_ns), text);
        }
    }

    proptest! {
        #[test]
        fn a_conflict_name_is_valid_and_recognized(
            name in "[a-zé\u{10fea0}.-]{1,255}",
            tries in 0_u32..3,
        ) {
            let Ok(path) = format!("d/{name}").parse::<StorePath>() else { return Ok(()) };
            prop_assume!(!is_conflict(&path));
            let renamed = conflict_name(&path, 1_795_836_011_000_000_000, tries);
            prop_assert!(is_conflict(&renamed), "{}", renamed);
            prop_assert_eq!(renamed.parent(), path.parent());
            prop_assert!(renamed.name().len() <= NAME_BYTES_MAX);
            prop_assert_ne!(renamed, path);
        }
    }
}
