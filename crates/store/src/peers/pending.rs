//! Connections before the end of their handshake: a limited number, in which no client can shut out
//! the others.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Mutex;

use cuesta_runtime::parallel::lock;

use super::limits::PENDING_MAX;

/// The pending connections, the oldest first.
#[derive(Debug, Default)]
pub struct Pending {
    state: Mutex<PendingState>,
}

#[derive(Debug, Default)]
struct PendingState {
    next: u64,
    waiting: Vec<PendingConnection>,
}

#[derive(Debug)]
struct PendingConnection {
    number: u64,
    address: IpAddr,
    stream: TcpStream,
}

impl Pending {
    /// Adds a connection; where there are too many, the oldest of the address with the most is
    /// closed.
    pub fn admit(&self, address: IpAddr, stream: TcpStream) -> u64 {
        let mut state = lock(&self.state);
        let number = state.next;
        state.next += 1;
        state.waiting.push(PendingConnection { number, address, stream });
        if state.waiting.len() <= PENDING_MAX {
            return number;
        }
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        state.waiting.iter().for_each(|pending| *counts.entry(pending.address).or_default() += 1);
        let most = counts.into_iter().max_by_key(|&(_, count)| count).map(|(address, _)| address);
        let place = state.waiting.iter().position(|pending| Some(pending.address) == most);
        if let Some(place) = place {
            let closed = state.waiting.remove(place);
            let _ = closed.stream.shutdown(Shutdown::Both);
        }
        number
    }

    /// Removes a connection that has finished its handshake, or was refused.
    pub fn remove_pending(&self, number: u64) {
        lock(&self.state).waiting.retain(|pending| pending.number != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn an_address_that_takes_all_places_loses_only_its_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || {
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (stream, listener.accept().unwrap().0)
        };
        let pending = Pending::default();
        let (mut good, accepted) = connect();
        let number = pending.admit("10.0.0.1".parse().unwrap(), accepted);
        let mut hostile = Vec::new();
        for _ in 0..3 * PENDING_MAX {
            let (stream, accepted) = connect();
            pending.admit("10.0.0.2".parse().unwrap(), accepted);
            hostile.push(stream);
        }
        let closed = |stream: &mut TcpStream| {
            stream.set_nonblocking(true).unwrap();
            matches!(stream.read(&mut [0; 1]), Ok(0))
        };
        assert!(!closed(&mut good));
        let count = hostile.iter_mut().filter_map(|stream| closed(stream).then_some(())).count();
        assert_eq!(count, 2 * PENDING_MAX + 1);
        pending.remove_pending(number);
        assert_eq!(lock(&pending.state).waiting.len(), PENDING_MAX - 1);
    }
}
