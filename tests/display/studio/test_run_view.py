"""What the worker sends while a run goes on: the run's own values, in messages that stay short."""

import base64
import json

import numpy as np
import pytest
from test_studio import MODEL

from daedalus.display.studio import run_view
from daedalus.display.studio.job import RunValues
from daedalus.display.studio.worker import StudioWorker
from daedalus.model_source import load_source


class Wire:
    """Takes what a worker tells, and asks it to stop after some messages of a kind."""

    def __init__(self, kind="", most=0):
        self.told, self.kind, self.most = [], kind, most
        self.value = 0  # the number of the job that is to end

    def send(self, message):
        self.told.append(message)
        if message[0] == self.kind and len(self.of(self.kind)) == self.most:
            self.value = message[1]

    def of(self, kind):
        return [message for message in self.told if message[0] == kind]


def worker_of(folder, wire, text=MODEL):
    (folder / "model.py").write_text(text)
    worker = StudioWorker(wire, wire)
    worker.begin(lambda: load_source(str(folder / "model.py")))
    return worker


def numbers(text):
    return np.frombuffer(base64.b64decode(text), "<f4").astype(float)


def curve(data, name):
    panel = next(panel for panel in data["panels"] if panel["label"].startswith(name))
    return numbers(panel["series"][0]["values"])


def test_partial_rows_are_those_of_the_run(tmp_path):
    wire = Wire("seen", 3)
    worker = worker_of(tmp_path, wire)
    worker.serve(("run", 1, RunValues(end="1e9")))
    seen, tr = [json.loads(text) for _, _, text in wire.of("seen")], worker._runs[1]
    assert len(seen) == 3
    reached = []
    for data in seen:
        times = numbers(data["times"])
        assert 2 <= len(times) <= run_view.MOST_ROWS
        rows = np.minimum(np.searchsorted(tr.time.astype("<f4").astype(float), times), len(tr.time) - 1)
        # Steps by the thousand are closer together than single precision tells apart, late in a long run.
        early = times < 1e3
        np.testing.assert_array_equal(curve(data, "angle")[early], tr["angle"].astype("<f4")[rows][early])
        bob = next(shape for shape in data["runs"][0]["shapes"] if shape["name"] == "bob" and shape["kind"] == "sphere")
        place = numbers(bob["track"]).reshape(len(times), -1)[early, :2]
        angle = tr["angle"][rows][early]
        np.testing.assert_allclose(place, 0.5 * np.column_stack([np.sin(angle), -np.cos(angle)]), atol=1e-6)
        # The axis ends at a half of a half of the span that has just been begun.
        assert times[-1] <= data["until"] <= 2 * times[-1]
        assert np.log2(1e9 / data["until"]) == round(np.log2(1e9 / data["until"]))
        reached.append(times[-1])
    assert reached[0] < reached[-1]
    # Stopped, it shows all that it has.
    ((_, _, told, text),) = wire.of("done")
    assert "interrupted by the user" in told["stop_reason"]
    final = numbers(json.loads(text)["times"])
    assert final[0] == 0.0
    assert final[-1] == np.float32(tr.time[-1])


FAST = """
import daedalus as dd

model = dd.Model("crystal")
x = model.state("x", start=1.0)
v = model.state("v", start=0.0)
model.equation(model.der(x), 1e5 * v)
model.equation(model.der(v), -1e5 * x)
span = (0.0, 1.0)
"""


def bounds(data, name):
    panel = next(panel for panel in data["panels"] if panel["label"].startswith(name))
    return numbers(panel["series"][0]["least"]), numbers(panel["series"][0]["most"])


def test_fast_oscillations_are_envelopes_while_they_run_and_after(tmp_path):
    """A picture of a sixteen-kilohertz oscillation over a second shows how far it goes, never a slower one."""
    wire = Wire()
    worker_of(tmp_path, wire, FAST).serve(("run", 1, RunValues()))
    seen = [json.loads(text) for _, _, text in wire.of("seen")]
    shown = [*seen[-1:], json.loads(wire.of("done")[0][-1])]
    for data in shown:
        least, most = bounds(data, "x")
        assert len(least) == len(most) == len(numbers(data["times"])) - 1
        assert np.quantile(most, 0.1) > 0.8
        assert np.quantile(least, 0.9) < -0.8


def test_slow_curves_have_no_envelope(tmp_path):
    wire = Wire()
    worker_of(tmp_path, wire).serve(("run", 1, RunValues()))
    data = json.loads(wire.of("done")[0][-1])
    assert all("least" not in series for panel in data["panels"] for series in panel["series"])


def test_a_short_run_is_sent_once(tmp_path):
    wire = Wire()
    worker_of(tmp_path, wire).serve(("run", 1, RunValues()))
    assert wire.of("seen") == []
    assert len(wire.of("done")) == 1


@pytest.mark.wide
def test_messages_stay_short(tmp_path, monkeypatch):
    def last_seen(longest, fewest):
        monkeypatch.setattr(run_view, "LONGEST_TEXT", longest)
        monkeypatch.setattr(run_view, "FEWEST_ROWS", fewest)
        wire = Wire("progress", 12)
        worker_of(tmp_path, wire).serve(("run", 1, RunValues(end="1e9")))
        texts = [text for _, _, text in wire.of("seen")]
        assert all(len(text) <= longest for text in texts)
        assert len(wire.of("done")) == 1
        return json.loads(texts[-1]) if texts else None

    usual, thinned = last_seen(1 << 20, 40), last_seen(8000, 40)
    assert len(numbers(usual["times"])) > 3 * len(numbers(thinned["times"]))
    assert thinned["runs"][0]["shapes"]
    # Where fewer rows do not help, motion is left out, and then the curves.
    still = last_seen(30000, 400)
    assert still["runs"][0]["shapes"] == []
    assert len(curve(still, "angle")) > 100
    assert last_seen(200, 400) is None


def test_a_picture_that_fails_ends_no_run(tmp_path, monkeypatch):
    def broken(*_):
        raise MemoryError

    wire = Wire("progress", 4)
    worker = worker_of(tmp_path, wire)
    monkeypatch.setattr(run_view, "_view", broken)
    with pytest.raises(MemoryError):
        run_view._view()
    worker.serve(("run", 1, RunValues(end="1e9")))
    assert wire.of("seen") == []
    assert 1 in worker._runs


def test_long_explicit_runs_with_many_steps_are_shown_at_these(tmp_path, monkeypatch):
    wire = Wire()
    worker = worker_of(tmp_path, wire)

    def shown(long, enough):
        monkeypatch.setattr(run_view, "LONG", long)
        monkeypatch.setattr(run_view, "ENOUGH", enough)
        worker.serve(("run", 1, RunValues(end="300")))
        return json.loads(wire.of("done")[-1][-1])

    data, tr = shown(0.0, 1e-3), worker._runs[1]
    times = numbers(data["times"])
    rows = np.searchsorted(tr.time.astype("<f4").astype(float), times)
    assert (times[0], times[-1]) == (0.0, 300.0)
    np.testing.assert_array_equal(curve(data, "angle"), tr["angle"].astype("<f4")[rows])
    assert type(tr._source).__name__ == "Run"  # nothing was made once more
    # Short runs, and those with few steps, are shown between them.
    for long, enough in ((1e9, 1e-3), (0.0, 1e9)):
        np.testing.assert_allclose(np.diff(numbers(shown(long, enough)["times"])), 300 / 1200, rtol=1e-3)
