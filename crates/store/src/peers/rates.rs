//! How fast bytes came lately from a peer and from the under level, and from which to read next.

use std::time::Duration;

/// Weight of what was measured before, for each measurement, and for each second without any.
const OLD: f64 = 0.75;
/// The slower source is tried again after so many times what that costs more than the faster one.
const AGAIN_AFTER: f64 = 100.0;
/// And never sooner than this.
const AGAIN_AFTER_MIN: Duration = Duration::from_secs(1);

/// An exponential average of a rate, and when it was measured last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Bytes a second; `None` before the first measurement.
    pub bytes_per_s: Option<f64>,
    /// On the clock of whoever measures.
    at: Duration,
}

impl Rate {
    /// Takes in that so many bytes took so long.
    pub fn measured(&mut self, bytes: usize, took: Duration, now: Duration) {
        let found = bytes as f64 / took.as_secs_f64().max(1e-9);
        // Of times, not of rates: one slow piece must not vanish beside fast ones.
        let old = OLD.powf(now.saturating_sub(self.at).as_secs_f64().max(1.0));
        let mean = |before: f64| 1.0 / ((1.0 - old) / found + old / before);
        *self = Self { bytes_per_s: Some(self.bytes_per_s.map_or(found, mean)), at: now };
    }

    /// A source that failed is tried again as one that would be this slow.
    pub fn failed(&mut self, bytes: usize, now: Duration) {
        let penalty = bytes as f64 / AGAIN_AFTER_MIN.as_secs_f64();
        *self = Self { bytes_per_s: Some(penalty), at: now };
    }

    /// How long so many bytes would take.
    fn seconds(&self, bytes: usize) -> Option<f64> {
        self.bytes_per_s.map(|rate| bytes as f64 / rate)
    }
}

/// Whether to read so many bytes from a peer, and not from the under level.
pub fn is_peer_nearer(peer: &Rate, under: &Rate, bytes: usize, now: Duration) -> bool {
    let (Some(of_peer), Some(of_under)) = (peer.seconds(bytes), under.seconds(bytes)) else {
        // What was never measured is measured: the memory of a peer first.
        return peer.bytes_per_s.is_none();
    };
    let is_nearer = of_peer <= of_under;
    let slower = if is_nearer { under } else { peer };
    let again = Duration::from_secs_f64((AGAIN_AFTER * (of_peer - of_under).abs()).min(1e6));
    let is_due = now.saturating_sub(slower.at) > again.max(AGAIN_AFTER_MIN);
    is_nearer != is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 2 << 20;

    /// The share of pieces that come from the peer, of sources of these rates, and the time that
    /// all took by that of the faster source alone.
    fn shared(of_peer: f64, of_under: f64, pieces: u32) -> (f64, f64) {
        let (mut peer, mut under, mut now) = (Rate::default(), Rate::default(), Duration::ZERO);
        let mut count = 0;
        for _ in 0..pieces {
            let is_peer = is_peer_nearer(&peer, &under, PIECE, now);
            let rate = if is_peer { of_peer } else { of_under };
            let took = Duration::from_secs_f64(PIECE as f64 / rate);
            now += took;
            let one = if is_peer { &mut peer } else { &mut under };
            one.measured(PIECE, took, now);
            count += u32::from(is_peer);
        }
        // The slower one is measured once, whatever that costs.
        let [best, once] = [of_peer.max(of_under), of_peer.min(of_under)].map(|r| PIECE as f64 / r);
        let all = f64::from(pieces) * best + once;
        (f64::from(count) / f64::from(pieces), now.as_secs_f64() / all)
    }

    #[test]
    fn the_faster_source_gives_nearly_all_and_the_slower_one_costs_little() {
        for (of_peer, of_under) in [(1e9, 1e8), (1.2e8, 1e8), (5e9, 1e6)] {
            let (share, cost) = shared(of_peer, of_under, 5000);
            assert!(share > 0.95 && cost < 1.25, "{of_peer} {of_under}: {share} {cost}");
            let (share, cost) = shared(of_under, of_peer, 5000);
            assert!(share < 0.05 && cost < 1.25, "{of_under} {of_peer}: {share} {cost}");
        }
    }

    #[test]
    fn a_link_that_becomes_fast_is_found_again() {
        let (mut peer, mut under) = (Rate::default(), Rate::default());
        let at = Duration::from_secs;
        peer.measured(PIECE, at(2), at(2));
        under.measured(PIECE, Duration::from_millis(20), at(3));
        assert!(!is_peer_nearer(&peer, &under, PIECE, at(10)));
        // 198 s are a hundred times of what it costs to try.
        assert!(is_peer_nearer(&peer, &under, PIECE, at(201)));
        peer.measured(PIECE, Duration::from_millis(2), at(202));
        under.measured(PIECE, Duration::from_millis(20), at(202));
        assert!(is_peer_nearer(&peer, &under, PIECE, at(202)));
    }

    #[test]
    fn a_peer_that_failed_is_not_asked_at_once() {
        let (mut peer, mut under) = (Rate::default(), Rate::default());
        let at = Duration::from_secs;
        under.measured(PIECE, Duration::from_millis(20), at(1));
        peer.failed(PIECE, at(2));
        assert!(!is_peer_nearer(&peer, &under, PIECE, at(3)));
        assert!(is_peer_nearer(&peer, &under, PIECE, at(120)));
    }
}
