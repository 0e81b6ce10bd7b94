"""The figure of falling boxes: each tool in its own environment, and the fastest of its runs within an overlap."""

import pytest
from benchmarks import launch
from benchmarks.figures import contact
from benchmarks.launch import Outcome
from benchmarks.peers import Peers
from benchmarks.session import QUICK, Session

OURS = [{"seconds": 1.0, "depth": 0.02, "step": 5e-3}, {"seconds": 4.0, "depth": 0.001, "step": None}]
THEIRS = [{"seconds": 0.5, "depth": 0.029, "step": 2e-3}, {"seconds": 2.0, "depth": 0.009, "step": 1e-3, "stiff": True}]


@pytest.fixture
def rows(monkeypatch):
    def measure(python, measurement, options, extra=None, limit=0.0):
        own = options["tool"] == "daedalus"
        # What a peer's process imports is in the peers' environment alone.
        assert (python == "peers' python") != own
        return Outcome(OURS if own else THEIRS, None)

    monkeypatch.setattr(launch, "measure", measure)
    peers = Peers("peers' python", "", {}, {"drake": "No matching distribution found for drake"})
    return list(contact.evaluate(Session(peers, QUICK)))


def test_peers_run_in_their_environment_and_the_fastest_within_an_overlap_is_told(rows):
    beside = [row for row in rows if row.peer_name == "MuJoCo"]
    assert [(row.ours, row.peer) for row in beside] == [(1.0, 0.5), (4.0, 2.0)] * len(contact.COUNTS)
    assert beside[1].note == (
        "ours goes in by 1.0 mm with the usual steps; MuJoCo goes in by 9.0 mm with steps of 1 ms and its stiffest "
        "contacts"
    )


def test_a_peer_that_is_missing_is_told(rows):
    beside = [row for row in rows if row.peer_name == "Drake"]
    assert len(beside) == len(contact.COUNTS) * len(contact.OVERLAPS)
    for row in beside:
        assert row.peer is None
        assert "Drake did not run: drake not installed: No matching distribution found for drake" in row.note


def test_runs_that_all_go_in_too_deep_say_how_deep():
    assert contact.fastest(OURS, 1e-4, "stopped after 180 s") == (
        None, "goes in by 1.0 mm at least: stopped after 180 s")  # fmt: skip
