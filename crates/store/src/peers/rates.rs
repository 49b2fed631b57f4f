//! Recent read rates of a peer and of the under level, and the choice between them.

use std::time::Duration;

/// Weight of earlier measurements, for each new one and for each second without any.
const OLD: f64 = 0.75;
/// The slower source is tried again after this many times the extra time that a try costs.
const AGAIN_AFTER: f64 = 100.0;
/// Shortest time before the slower source is tried again.
const AGAIN_AFTER_MIN: Duration = Duration::from_secs(1);

/// An exponential average of a rate, and the time of its last measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Bytes a second; `None` before the first measurement.
    pub bytes_per_s: Option<f64>,
    /// Time of the last measurement, on the caller's clock.
    at: Duration,
}

impl Rate {
    /// Adds the measurement that `bytes` took the time `took`.
    pub fn measured(&mut self, bytes: usize, took: Duration, now: Duration) {
        let rate = bytes as f64 / took.as_secs_f64().max(1e-9);
        // The average is of times, not of rates: one slow piece must not vanish among fast ones.
        let old = OLD.powf(now.saturating_sub(self.at).as_secs_f64().max(1.0));
        let mean = |before: f64| 1.0 / ((1.0 - old) / rate + old / before);
        *self = Self { bytes_per_s: Some(self.bytes_per_s.map_or(rate, mean)), at: now };
    }

    /// Records that a source failed: it is tried again like one that would be this slow.
    pub fn failed(&mut self, bytes: usize, now: Duration) {
        let penalty = bytes as f64 / AGAIN_AFTER_MIN.as_secs_f64();
        *self = Self { bytes_per_s: Some(penalty), at: now };
    }

    /// Returns the seconds that so many bytes would take.
    fn seconds(&self, bytes: usize) -> Option<f64> {
        self.bytes_per_s.map(|rate| bytes as f64 / rate)
    }
}

/// Returns whether to read so many bytes from a peer rather than from the under level.
pub fn is_peer_nearer(peer: &Rate, under: &Rate, bytes: usize, now: Duration) -> bool {
    let (Some(of_peer), Some(of_under)) = (peer.seconds(bytes), under.seconds(bytes)) else {
        // A source without a measurement is measured: the memory of a peer first.
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

    /// Returns the share of pieces read from the peer, for sources of these rates, and the total
    /// time divided by that of the faster source alone.
    fn shared(of_peer: f64, of_under: f64, pieces: u32) -> (f64, f64) {
        let (mut peer, mut under, mut now) = (Rate::default(), Rate::default(), Duration::ZERO);
        let mut count = 0;
        for _ in 0..pieces {
            let is_peer = is_peer_nearer(&peer, &under, PIECE, now);
            let rate = if is_peer { of_peer } else { of_under };
            let took = Duration::from_secs_f64(PIECE as f64 / rate);
            now += took;
            let source = if is_peer { &mut peer } else { &mut under };
            source.measured(PIECE, took, now);
            count += u32::from(is_peer);
        }
        // The slower source is measured once, whatever that costs.
        let [best, once] = [of_peer.max(of_under), of_peer.min(of_under)].map(|r| PIECE as f64 / r);
        let all = f64::from(pieces) * best + once;
        (f64::from(count) / f64::from(pieces), now.as_secs_f64() / all)
    }

    #[test]
    fn the_faster_source_serves_nearly_all_and_the_slower_source_costs_little() {
        for (of_peer, of_under) in [(1e9, 1e8), (1.2e8, 1e8), (5e9, 1e6)] {
            let (share, cost) = shared(of_peer, of_under, 5000);
            assert!(share > 0.95 && cost < 1.25, "{of_peer} {of_under}: {share} {cost}");
            let (share, cost) = shared(of_under, of_peer, 5000);
            assert!(share < 0.05 && cost < 1.25, "{of_under} {of_peer}: {share} {cost}");
        }
    }

    #[test]
    fn a_link_that_becomes_fast_is_used_again() {
        let (mut peer, mut under) = (Rate::default(), Rate::default());
        let at = Duration::from_secs;
        peer.measured(PIECE, at(2), at(2));
        under.measured(PIECE, Duration::from_millis(20), at(3));
        assert!(!is_peer_nearer(&peer, &under, PIECE, at(10)));
        // 198 s are a hundred times the cost of a try.
        assert!(is_peer_nearer(&peer, &under, PIECE, at(201)));
        peer.measured(PIECE, Duration::from_millis(2), at(202));
        under.measured(PIECE, Duration::from_millis(20), at(202));
        assert!(is_peer_nearer(&peer, &under, PIECE, at(202)));
    }

    #[test]
    fn a_peer_that_failed_is_not_tried_at_once() {
        let (mut peer, mut under) = (Rate::default(), Rate::default());
        let at = Duration::from_secs;
        under.measured(PIECE, Duration::from_millis(20), at(1));
        peer.failed(PIECE, at(2));
        assert!(!is_peer_nearer(&peer, &under, PIECE, at(3)));
        assert!(is_peer_nearer(&peer, &under, PIECE, at(120)));
    }
}
