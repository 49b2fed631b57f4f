"""YARN of a cluster, in view of another account: its pages start nothing and show no log."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import testbed_yarn
from adversarykit import needs_root
from clusterkit import call, folder, state
from cuesta.cluster import watchdog
from strangerkit import as_stranger, ports

__all__ = ["folder"]

pytestmark = [
    needs_root,
    pytest.mark.skipif(
        testbed_yarn.missing() is not None, reason="YARN's jars come by Maven and PySpark"
    ),
]
ACCOUNT = 54_321
"""An account number that no user has."""
ASK = """
import http.client, encodings.idna
become_stranger()
def ask(host, method, path, body):
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {"Content-Type": "application/json", "name": "mapreduce", "version": "1.0.0"}
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    return [reply.status, reply.read().decode(errors="replace")]
answer([ask(*words) for words in request["asked"]])
"""


SHUFFLE = "/mapOutput?job=job_1_0001&reduce=0&map=attempt_1_0001_m_000000_0"


def test_pages_of_yarn_start_nothing_for_a_stranger(folder: Path, tmp_path: Path) -> None:
    """The page of the ResourceManager trusted the user name in a request: any client, from any
    host, had containers started as us by two requests. Now it starts nothing.
    """
    sizes = ["--cores", "1", "--memory", "2GiB", "-n", "1", "--scratch", str(tmp_path)]
    sets = ["--set", "stop=3", "--set", "scratch-min=1MiB"]
    done = call("up", "--with", "yarn", *sizes, *sets, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    page = state(folder)["yarn"]["page"].removeprefix("http://")
    application = json.dumps({"application-id": "application_1_1", "application-type": "YARN"})
    apps = "/ws/v1/cluster/apps"
    requests = [
        (page, "POST", f"{apps}/new-application?user.name=root", None),
        (page, "POST", f"{apps}?user.name=root", application),
        (
            page,
            "PUT",
            f"{apps}/application_1_1/state?user.name=root",
            json.dumps({"state": "KILLED"}),
        ),
        (page, "POST", "/ws/v1/cluster/scheduler-conf/validate?user.name=root", "{}"),
        (page, "POST", "/ws/v1/cluster/delegation-token?user.name=root", '{"renewer": "root"}'),
        (page, "GET", "/conf", None),
    ]
    answers = as_stranger(ASK, asked=requests)
    assert [text for status, text in answers[:-1] if status < 400] == []
    places = ports(watchdog.marked(f"{state(folder)['cluster']}/"))
    address = state(folder)["leader"]["address"]
    # MapReduce's shuffle can only listen on all addresses; it wants a hash by the job's token.
    (shuffle,) = [place for place in places if place[0] != address]
    replies = as_stranger(ASK, asked=[(f"{address}:{shuffle[1]}", "GET", SHUFFLE, None)])
    assert replies[0][0] == 401
    assert call("down", str(folder)).returncode == 0


def test_yarn_does_not_start_where_other_accounts_are_at_work(folder: Path, tmp_path: Path) -> None:
    """YARN without Kerberos trusts the name that a client sends: any account on a node starts
    containers as the cluster's owner. Only the guide warned of it. Now YARN does not start there.
    """
    account = [f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups"]
    with subprocess.Popen(["setpriv", *account, "sleep", "600"]) as other:
        try:
            sizes = ["--cores", "1", "--memory", "2GiB", "-n", "1", "--scratch", str(tmp_path)]
            done = call("up", "--with", "yarn", *sizes, "-o", str(folder))
        finally:
            other.kill()
    assert done.returncode == 2
    assert f"accounts {ACCOUNT} are at work there" in done.stderr
    assert "--set yarn-strangers=1" in done.stderr
