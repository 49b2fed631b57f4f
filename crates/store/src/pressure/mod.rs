//! Memory pressure: the store uses no more memory than the system, or the control group of the job,
//! can spare, and frees memory when it runs short.

pub mod group;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::Store;
use group::ControlGroup;

/// Interval between two readings: between them, the store fills no more than the first found
/// available.
const INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes reserved for other processes, ...
const RESERVE_MAX_BYTES: u64 = 1 << 30;
/// ... and the fraction of the total that is reserved if that is less, ...
const RESERVE_PART: u64 = 16;
/// ... but at least this, which the store's threads and buffers may take between two readings, ...
const RESERVE_MIN_BYTES: u64 = 32 << 20;
/// ... or this fraction of a total that is very small.
const RESERVE_MIN_PART: u64 = 4;
/// Pressure is tasks that stall on memory for more than this share of the time; an estimate.
const STALLED_SHARE: f64 = 0.1;
/// Stalls count where less than this fraction of the memory is available: a node that reads many
/// files stalls for a moment for each page, however much it could free.
const AVAILABLE_PART: u64 = 2;
/// Under pressure, all memory is freed within this many seconds.
const SHRINK_SECONDS: f64 = 8.0;
/// Without pressure, it is used again within this many seconds.
const GROW_SECONDS: f64 = 60.0;

/// Reading of the memory at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryReading {
    /// Total memory for this process.
    pub total_bytes: u64,
    /// Memory that can be allocated without taking it from other processes.
    pub available_bytes: u64,
    /// Unused memory, where tasks that stall may be held by the limits of other jobs' control
    /// groups. 0 where they belong to this job.
    pub free_bytes: u64,
    /// Share of the time since the last reading in which tasks stalled on memory.
    pub stalled_share: f64,
}

impl MemoryReading {
    fn reserve_bytes(&self) -> u64 {
        let least = RESERVE_MIN_BYTES.min(self.total_bytes / RESERVE_MIN_PART);
        (self.total_bytes / RESERVE_PART).clamp(least, RESERVE_MAX_BYTES)
    }
}

/// Returns the new limit of the bytes of blocks, from the current `limit_bytes`, the configured
/// maximum and `used_bytes`; `elapsed` is the time since the last reading.
///
/// The reserve for other processes is freed at once; under pressure the limit decreases from the
/// used bytes, and where twice the reserve is available it increases slowly.
pub fn next_limit(
    (limit_bytes, configured_bytes): (u64, u64),
    used_bytes: u64,
    reading: MemoryReading,
    elapsed: Duration,
) -> u64 {
    let reserve = reading.reserve_bytes();
    let spare = used_bytes.saturating_add(reading.available_bytes);
    let (limit, most) = (limit_bytes.min(configured_bytes), spare.saturating_sub(reserve));
    let step = |seconds: f64| (configured_bytes as f64 * elapsed.as_secs_f64() / seconds) as u64;
    // With this much unused memory, or half of all in use for files that the kernel has read, the
    // stalls have another cause than the store.
    let is_short = reading.free_bytes < 2 * reserve
        && reading.available_bytes < reading.total_bytes / AVAILABLE_PART;
    if reading.stalled_share > STALLED_SHARE && is_short {
        limit.min(most).min(used_bytes.saturating_sub(step(SHRINK_SECONDS)))
    } else if limit > most {
        most
    } else {
        let roomy = spare.saturating_sub(2 * reserve);
        let grown = limit.saturating_add(step(GROW_SECONDS));
        limit.max(grown.min(roomy).min(configured_bytes))
    }
}

/// Reads the state of the memory, and sets the limit of a store.
#[derive(Debug)]
pub struct MemoryGuard {
    group: Option<ControlGroup>,
    configured_bytes: u64,
    /// Time of the last reading, and the total stall time until then.
    before: Option<(Instant, Duration)>,
}

impl MemoryGuard {
    /// Creates a guard for a store with this configured maximum, in the control group of this
    /// process.
    pub fn new(configured_bytes: u64) -> Self {
        Self { group: ControlGroup::current(), configured_bytes, before: None }
    }

    /// Reads the memory, unless the last reading was a moment ago.
    pub fn look(&mut self, store: &Store) {
        let now = Instant::now();
        let elapsed = self.before.map_or(INTERVAL, |(then, _)| now - then);
        if elapsed < INTERVAL {
            return;
        }
        let stalled = self.stalled();
        let before = self.before.replace((now, stalled.unwrap_or_default()));
        let waited = stalled.zip(before).map_or(0.0, |(stalled, (_, before))| {
            stalled.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64()
        });
        // A system without this information is not Linux; the configured maximum applies.
        let Some(memory) = self.memory() else { return };
        let reading = MemoryReading { stalled_share: waited, ..memory };
        let (limit, used) = (store.limit_bytes(), store.taken_bytes());
        let next = next_limit((limit, self.configured_bytes), used, reading, elapsed);
        // Also if it is unchanged: the ledger may have grown meanwhile.
        store.set_limit(next);
    }

    /// Returns the memory of the system, or of the group if that is less, without a stall share.
    fn memory(&self) -> Option<MemoryReading> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let (total, available, free) = meminfo(&text)?;
        let group =
            self.group.as_ref().and_then(ControlGroup::memory).unwrap_or((total, available));
        let has_group_pressure =
            self.group.as_ref().and_then(ControlGroup::pressure_file).is_some();
        Some(MemoryReading {
            total_bytes: total.min(group.0),
            available_bytes: available.min(group.1),
            free_bytes: if has_group_pressure { 0 } else { free.min(group.1) },
            stalled_share: 0.0,
        })
    }

    /// Returns the total time that tasks have stalled on memory.
    fn stalled(&self) -> Option<Duration> {
        let group = self.group.as_ref().and_then(ControlGroup::pressure_file);
        let file = group.as_deref().unwrap_or(Path::new("/proc/pressure/memory"));
        stalled(&fs::read_to_string(file).ok()?)
    }
}

/// Parses total, available and free bytes.
fn meminfo(text: &str) -> Option<(u64, u64, u64)> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some((of("MemTotal:")?, of("MemAvailable:")?, of("MemFree:")?))
}

/// Parses the total time of the line `some` of pressure stall information.
fn stalled(text: &str) -> Option<Duration> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let (_, total) = line.rsplit_once("total=")?;
    total.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A reading of 1600 MiB, of which 100 MiB are reserved.
    fn reading(available_mib: u64, stalled_share: f64) -> MemoryReading {
        let (total_bytes, available_bytes) = (1600 << 20, available_mib << 20);
        MemoryReading { total_bytes, available_bytes, free_bytes: 0, stalled_share }
    }

    /// Returns the next limit in MiB after a second.
    fn next_mib((limit, configured): (u64, u64), used: u64, reading: MemoryReading) -> u64 {
        after(SECOND, (limit, configured), used, reading)
    }

    fn after(
        elapsed: Duration,
        (limit, configured): (u64, u64),
        used: u64,
        reading: MemoryReading,
    ) -> u64 {
        next_limit((limit << 20, configured << 20), used << 20, reading, elapsed) >> 20
    }

    #[test]
    fn a_reserve_is_left_at_once_and_memory_taken_again_slowly() {
        assert_eq!(next_mib((600, 600), 500, reading(400, 0.0)), 600);
        assert_eq!(next_mib((600, 600), 500, reading(150, 0.0)), 550);
        assert_eq!(next_mib((600, 600), 500, reading(0, 0.0)), 400);
        assert_eq!(next_mib((600, 600), 50, reading(0, 0.0)), 0);
        assert_eq!(next_mib((300, 600), 300, reading(150, 0.0)), 300);
        assert_eq!(next_mib((300, 600), 300, reading(900, 0.0)), 310);
        assert_eq!(next_mib((300, 600), 300, reading(205, 0.0)), 305);
        assert_eq!(after(100 * SECOND, (300, 600), 300, reading(900, 0.0)), 600);
    }

    /// A store was killed in a group of 160 MiB, where the reserve was 10 MiB: its threads took
    /// more than that between two readings.
    #[test]
    fn the_reserve_of_a_small_group_has_room_for_threads_and_buffers() {
        let reserve = |mib: u64| {
            MemoryReading { total_bytes: mib << 20, ..reading(0, 0.0) }.reserve_bytes() >> 20
        };
        assert_eq!([16, 64, 160, 1600, 100_000].map(reserve), [4, 16, 32, 100, 1024]);
    }

    #[test]
    fn memory_is_freed_where_tasks_stall_on_memory() {
        assert_eq!(next_mib((600, 800), 500, reading(799, 0.5)), 400);
        assert_eq!(next_mib((600, 800), 50, reading(799, 0.5)), 0);
        assert_eq!(next_mib((400, 800), 400, reading(900, 0.05)), 413);
    }

    #[test]
    fn stalls_with_much_unused_memory_do_not_shrink_the_store() {
        let free = |mib: u64| MemoryReading { free_bytes: mib << 20, ..reading(700, 0.5) };
        assert_eq!(next_mib((600, 800), 500, free(199)), 400);
        assert_eq!(next_mib((600, 800), 500, free(200)), 613);
    }

    /// The store gave all its memory back on a node where programs read and wrote many files,
    /// though 20 of 24 GB were available in the kernel's cache of files.
    #[test]
    fn stalls_with_half_of_the_memory_available_do_not_shrink_the_store() {
        assert_eq!(next_mib((600, 800), 500, reading(799, 0.5)), 400);
        assert_eq!(next_mib((600, 800), 500, reading(800, 0.5)), 613);
    }

    #[test]
    fn the_files_of_the_kernel_are_parsed() {
        let text = "MemTotal:       24031232 kB\nMemFree:  5 kB\nMemAvailable:   7 kB\n";
        assert_eq!(meminfo(text), Some((24_031_232 << 10, 7 << 10, 5 << 10)));
        assert_eq!(meminfo("MemTotal: x kB"), None);
        let text = "some avg10=0.00 avg60=0.12 avg300=0.00 total=1500\nfull avg10=0.00 total=7\n";
        assert_eq!(stalled(text), Some(Duration::from_micros(1500)));
        assert_eq!(stalled(""), None);
        let now = MemoryGuard::new(1).memory().unwrap();
        assert!(now.total_bytes >= now.available_bytes);
    }

    proptest! {
        #[test]
        fn no_limit_exceeds_the_spare_memory_or_the_configured_maximum(
            (limit, configured, used, available) in any::<(u64, u64, u64, u64)>(),
            total_bytes in any::<u64>(),
            stalled_share in 0.0f64..1.0,
        ) {
            let reading = MemoryReading {
                total_bytes,
                available_bytes: available,
                free_bytes: 0,
                stalled_share,
            };
            let next = next_limit((limit, configured), used, reading, INTERVAL);
            prop_assert!(next <= configured);
            let spare = used.saturating_add(available);
            prop_assert!(next <= spare.saturating_sub(reading.reserve_bytes()));
            let is_available = available >= total_bytes / AVAILABLE_PART;
            prop_assert!(stalled_share <= STALLED_SHARE || is_available || next <= used);
        }
    }
}
