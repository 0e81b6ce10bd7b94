"""What a run leaves behind: JSON, Markdown, plots and sheets, also when parts are missing."""

import json

import pytest
from benchmarks import machine, numbers, report
from benchmarks.figure import Row
from benchmarks.peers import Peers
from benchmarks.precision import Curve, Point
from benchmarks.session import Session, Settings
from rich.console import Console

PEERS = Peers("python", "key", {"SciPy": "1.17", "solve_dae": "0.2"}, {"numbalsoda": "no Fortran compiler"})


@pytest.fixture
def session() -> Session:
    good = Curve("quadrotor", "daedalus", "dop853", (Point(1e-3, 1e-4, 1e-5), Point(1e-9, 1e-9, 4e-5)), 0.1, 0.2)
    bad = Curve("quadrotor", "numbalsoda", "dop853", failure="numbalsoda not installed: no Fortran compiler")
    rows = [
        Row("quadrotor rhs", "CasADi VM", 16e-9, 302e-9, 10.0),
        Row("cold start", "casadi cvodes", 0.5, 0.2, 2.0, "at most"),
        Row("flight", "numbalsoda", 1e-5, None, 1.0, note="not installed | no Fortran"),
    ]
    return Session(PEERS, Settings(), {curve.name: curve for curve in (good, bad)}, rows)


def test_ratios_and_verdicts(session):
    assert [numbers.ratio(row) for row in session.rows] == ["18.9×", "2.5×", "–"]
    assert [numbers.target(row) for row in session.rows] == ["≥ 10×", "≤ 2×", "≥ 1×"]
    assert [numbers.verdict(row) for row in session.rows] == ["yes", "no", "not measured"]
    assert numbers.verdict(Row("c", "c", 1.0, 2.0, None)) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (1.5, "1.5 s"), (0.9999, "1 s"), (0.0123, "12.3 ms"), (5e-6, "5 µs"), (1.6e-8, "16 ns")],
)
def test_seconds(value, text):
    assert numbers.seconds(value) == text


def test_json_holds_everything(session, tmp_path):
    report.save(session, {"processor": "a"}, tmp_path)
    found = json.loads((tmp_path / "results.json").read_text())
    assert [figure["reached"] for figure in found["figures"]] == [True, False, None]
    assert found["figures"][0]["ratio"] == pytest.approx(18.875)
    assert found["curves"][0]["points"][1] == {"rtol": 1e-9, "error": 1e-9, "seconds": 4e-5, "failure": None}
    assert found["curves"][0]["compile_seconds"] == pytest.approx(0.2 - 1e-5)
    assert found["curves"][1]["failure"] == "numbalsoda not installed: no Fortran compiler"
    assert found["settings"]["tolerances"][0] == 1e-2
    assert (tmp_path / "quadrotor.png").stat().st_size > 10_000


def test_markdown_has_the_sheets_and_the_machine(session):
    page = report.markdown(session, {"processor": "a", "peers": {"scipy": "1.17"}, "not_installed": {}})
    assert "- peers: scipy 1.17\n- not installed: –\n" in page
    assert "| quadrotor rhs | CasADi VM | 16 ns | 302 ns | 18.9× | ≥ 10× | yes |  |" in page
    assert r"not installed \| no Fortran" in page
    # 1e-5 lies a fifth of the way from 1e-4 to 1e-9, so the time is 10 µs · 4^(1/5).
    assert "| daedalus | dop853 | – | 13.2 µs | 30.3 µs | – | 200 ms | 100 ms |  |" in page
    assert "numbalsoda | dop853 | – | – | – | – | – | – | numbalsoda not installed: no Fortran compiler |" in page


def test_the_terminal_shows_remarks_below_the_sheet(session):
    console = Console(width=120, record=True)
    report.show(session, console)
    shown = console.export_text()
    assert "numbalsoda, dop853: numbalsoda not installed: no Fortran compiler" in shown


def test_the_machine_is_described():
    found = machine.describe(PEERS, "scipy\nsolve-dae\nnumbalsoda\n")
    assert found["peers"] == {"scipy": "1.17", "solve-dae": "0.2", "numbalsoda": None}
    assert found["not_installed"] == {"numbalsoda": "no Fortran compiler"}
    assert found["processor"]
    assert found["versions"]["casadi"]
