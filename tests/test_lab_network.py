"""The rate of a connection is measured between two processes, and a silent host is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cuesta.errors import InputError
from cuesta.lab import network


def test_a_connection_within_a_process_is_measured_in_both_directions() -> None:
    with network.listening("127.0.0.1") as port:
        measured = network.probe("127.0.0.1", port, seconds=0.1)
    assert measured.sent_bytes_per_s > 0
    assert measured.received_bytes_per_s > 0
    assert measured.round_trip_seconds > 0


def test_a_process_listens_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "cuesta.lab.network", "127.0.0.1", "0"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout
        port = int(running.stdout.readline())
        assert network.probe("127.0.0.1", port, seconds=0.1).sent_bytes_per_s > 0
    finally:
        running.kill()
        running.communicate()


def test_a_host_without_a_listener_is_named_with_the_remedy() -> None:
    with network.listening("127.0.0.1") as port:
        pass
    with pytest.raises(InputError, match=rf"127.0.0.1:{port}: connection refused; listen there"):
        network.probe("127.0.0.1", port)
    with (
        pytest.raises(InputError, match="cannot assign requested address"),
        network.listening("192.0.2.1"),
    ):
        pass
