"""Limits of time and number of this package."""

from __future__ import annotations

START_SECONDS = 120.0
"""Time for agents to connect, and then for Spark's workers to register."""
LATE_SECONDS = 10.0
"""Time after which a node is reported whose agent has not connected."""
LOST_SECONDS = 60.0
"""Silence after which a node or a leader counts as lost."""
PING_SECONDS = 2.0
"""Interval of messages by which leader and agents show that they run."""
POLL_SECONDS = 15.0
"""Interval of the leader's queries to the scheduler for the state of the allocation."""
ASK_SECONDS = 10.0
"""Time for a scheduler to report the state of a job."""
FOLLOW_SECONDS = 1.0
"""Interval of a waiting client's queries to the scheduler; it reads the state file far oftener."""
GUARD_SECONDS = 60.0
"""Time before the end of the allocation at which the leader stops the cluster."""
STOP_SECONDS = 10.0
"""Time for a process to end before it is killed."""
STORE_GRACE_SECONDS = 30.0
"""Time for the store of a node to write dirty files to the shared folder."""
STORE_SECRET_SECONDS = 3600.0
"""Interval at which the stores of a cluster receive a new secret."""
TICK_SECONDS = 0.05
"""Longest wait of leader and agents for a message between their periodic checks."""
HANDSHAKE_SECONDS = 5.0
"""Time for an answer in a handshake, and for a proven peer to read a message."""
HANDSHAKE_BYTES_MAX = 1 << 10
"""Bytes that are read from an unproven peer."""
STRANGERS_MAX = 2048
"""Unproven connections; beyond that the oldest of the most crowded address is closed."""
ACCEPTED_AT_ONCE = 256
"""Connections that are accepted before messages of accepted ones are read."""
CONNECT_SECONDS = 30.0
"""Time for an agent to connect to the leader."""
MESSAGE_BYTES_MAX = 1 << 20
REPORT_CHARACTERS_MAX = 300
"""Characters of a process's output that are part of a message."""
RESTARTS_MAX = 3
"""Restarts of a worker that dies on a node."""
NODE_MANAGER_LOST_SECONDS = 20
"""Silence after which YARN takes a NodeManager for lost and repeats its work elsewhere;
NodeManagers send heartbeats every second."""
PORT_TRIES_MAX = 5
"""Starts of a service on other ports when another process has taken the chosen ones."""
NODES_MAX = 10_000
SCRATCH_BYTES_MIN = 1 << 30
"""Least free space on a node's scratch; an estimate, `--set scratch-min=SIZE` changes it."""
MEMORY_SHARE = 0.8
"""Fraction of a node's memory that is used unless the user sets the amount."""
