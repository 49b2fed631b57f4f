//! The daemon and the other stores of its job.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use super::{Daemon, TICK};
use crate::peers::Peers;

/// Most connections that wait to be accepted; the system may have a lower limit.
const WAITING_MAX: i32 = 4096;

impl Daemon {
    /// Connects the store to the other stores, and answers them.
    pub(super) fn connect_peers(
        self: &Arc<Self>,
        peers: &Arc<Peers>,
        listener: TcpListener,
    ) -> io::Result<()> {
        peers.watch();
        self.store.join(Arc::clone(peers));
        listener.set_nonblocking(true)?;
        // Other members still connect while a client makes a thousand connections.
        rustix::net::listen(&listener, WAITING_MAX)?;
        let accepting = Arc::clone(peers);
        let daemon = Arc::clone(self);
        let thread = thread::Builder::new().name("cuesta-peers".to_owned());
        thread.spawn(move || daemon.accept_peers(&accepting, &listener))?;
        let peers = Arc::clone(peers);
        self.spawn("cuesta-tell", move |daemon| peers.publish_all(&daemon.store))
    }

    fn accept_peers(self: &Arc<Self>, peers: &Arc<Peers>, listener: &TcpListener) {
        while !peers.has_ended() {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(TICK);
                continue;
            };
            let (daemon, peers) = (Arc::clone(self), Arc::clone(peers));
            let thread = thread::Builder::new().name("cuesta-answer".to_owned());
            // If no thread can be started, the other end sees the connection closed.
            let _ = thread.spawn(move || {
                let blocking = stream.set_nonblocking(false);
                blocking.map(|()| peers.converse(&daemon.store, &stream))
            });
        }
    }
}
