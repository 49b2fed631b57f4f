"""Every bound of time and number of this package, in one place."""

from __future__ import annotations

START_SECONDS = 120.0
"""For agents to connect, and then for Spark's workers to register."""
LATE_SECONDS = 10.0
"""A node whose agent has not connected after so long is named."""
LOST_SECONDS = 60.0
"""A node or a leader that was not heard of for so long is lost."""
PING_SECONDS = 2.0
"""How often leader and agents say that they are there."""
POLL_SECONDS = 15.0
"""How often the leader asks the scheduler whether the allocation is still there."""
ASK_SECONDS = 10.0
"""How long a scheduler may take to say how a job is."""
FOLLOW_SECONDS = 1.0
"""How often who waits for a cluster asks the scheduler; its file is read far more often."""
GUARD_SECONDS = 60.0
"""How long before the allocation ends the leader stops what runs."""
STOP_SECONDS = 10.0
"""How long a process may take to end before it is killed."""
STORE_GRACE_SECONDS = 30.0
"""How long the store of a node may take to bring what is dirty to the shared folder."""
STORE_SECRET_SECONDS = 3600.0
"""How often the stores of a cluster get a new secret."""
TICK_SECONDS = 0.05
"""How long the leader and an agent wait for anything to happen before they look around."""
HANDSHAKE_SECONDS = 5.0
"""For an answer to who connects, and for a proven peer to read what is sent."""
HANDSHAKE_BYTES_MAX = 1 << 10
"""So much of what a stranger sends is looked at."""
STRANGERS_MAX = 2048
"""Connections whose other end has proven nothing; the oldest of the most crowded address goes."""
ACCEPTED_AT_ONCE = 256
"""Connections that are let in before those that have got in are heard."""
CONNECT_SECONDS = 30.0
"""For an agent to reach the leader."""
MESSAGE_BYTES_MAX = 1 << 20
SAID_CHARACTERS_MAX = 300
"""So much of what a process has said is part of a message."""
RESTARTS_MAX = 3
"""How often a worker that dies on a node is started again."""
NODE_MANAGER_LOST_SECONDS = 20
"""YARN takes a NodeManager for lost that was silent for so long; they say something every second,
and what has run there is done again elsewhere only then."""
PORT_TRIES_MAX = 5
"""How often a service is tried on other ports when somebody was faster."""
NODES_MAX = 10_000
SCRATCH_BYTES_MIN = 1 << 30
"""Less than this on a node's scratch is refused; a guess, `--set scratch-min=SIZE` changes it."""
MEMORY_SHARE = 0.8
"""Part of a node's memory that is used where nobody says how much."""
