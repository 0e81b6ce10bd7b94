"""The command line: what it prints, what it leaves behind, and its exit codes."""

import contextlib
import io
import json
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest

from daedalus import catalogue
from daedalus.command_line import main

DAEDALUS = [sys.executable, "-m", "daedalus.command_line"]

MODEL = """
import daedalus as dd
model = dd.Model("ball")
h = model.state("h", start=1.0)
v = model.state("v", start=0.0)
model.equation(model.der(h), v)
model.equation(model.der(v), -9.81)
model.event("floor", h, direction=-1, terminal=True)
"""


def call(*arguments, cwd="."):
    """What a command prints and its exit code, in this process: a new one takes seconds to import."""
    out, errors, code = io.StringIO(), io.StringIO(), 0
    with contextlib.ExitStack() as stack:
        for change in (
            mock.patch.object(sys, "argv", ["daedalus", *map(str, arguments)]),
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(errors),
        ):
            stack.enter_context(change)
        try:
            main()
        except SystemExit as end:
            code = end.code
    return SimpleNamespace(returncode=code or 0, stdout=out.getvalue(), stderr=errors.getvalue())


def test_it_runs_as_a_program(tmp_path):
    (tmp_path / "ball.py").write_text(MODEL)
    command = [*DAEDALUS, "simulate", "ball.py", "--until", "5"]
    out = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert out.returncode == 0, out.stderr
    assert "ball: event 'floor' ended the run at t = 0.451524" in out.stdout


OSCILLATOR = """cross-coupled oscillator
VDD vdd 0 3
L1 vdd a 10n
L2 vdd b 10n
R1 vdd a 1k
R2 vdd b 1k
C1 a 0 1p
C2 b 0 1p
M1 a b s 0 nm W=50u L=1u
M2 b a s 0 nm W=50u L=1u
I1 s 0 2m
.model nm nmos(vto=0.7 kp=100u lambda=0.02)
.tran 10p 50n
"""


@pytest.mark.parametrize("measure", ["", ".meas tran highest MAX v(a)\n"])
def test_simulate_tells_that_an_oscillator_rests_and_how_fast_a_nudge_would_grow(tmp_path, measure):
    """Another program starts it by its rounding errors; a run of ours stays at the rest, and has to say so."""
    (tmp_path / "oscillator.cir").write_text(f"{OSCILLATOR}{measure}.end\n")
    out = call("simulate", "oscillator.cir", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "note: the state is at an unstable equilibrium at t = 0" in out.stdout
    assert "rate 1.09e+09 1/s, oscillating at 9.94e+09 rad/s" in out.stdout
    assert "or .ic and uic in a netlist" in out.stdout


def test_a_nudge_in_the_netlist_starts_the_oscillator(tmp_path):
    nudged = OSCILLATOR.replace("C1 a 0 1p", "C1 a 0 1p IC=3.01").replace("50n", "50n uic")
    (tmp_path / "nudged.cir").write_text(f"{nudged}.meas tran highest MAX v(a)\n.end\n")
    out = call("simulate", "nudged.cir", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "unstable equilibrium" not in out.stdout
    # 4.25598 V by ngspice 39 (reltol 1e-3), which starts by its rounding errors.
    assert float(out.stdout.split("highest = ")[1].split()[0]) == pytest.approx(4.256, abs=2e-3)


def test_simulate_prints_the_outcome_and_writes_files(tmp_path):
    (tmp_path / "ball.py").write_text(MODEL)
    out = call("simulate", "ball.py", "--until", 5, "--out", "run.nc", "--plot", "run.png", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "ball: event 'floor' ended the run at t = 0.451524" in out.stdout
    assert (tmp_path / "run.nc").exists()
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_the_only_model_of_a_file_may_have_any_name(tmp_path):
    (tmp_path / "ball.py").write_text(MODEL.replace("model", "m"))
    out = call("analyse", "ball.py", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "ball: linear explicit ODE" in out.stdout
    (tmp_path / "two.py").write_text(
        MODEL.replace("model", "m") + 'n = dd.Model("other")\nn.equation(n.der(n.state("x")), 1.0)\n'
    )
    out = call("analyse", "two.py", "--model", "n", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "other: linear explicit ODE" in out.stdout


def test_a_run_that_stops_early_has_exit_code_1(tmp_path):
    text = MODEL.replace("-9.81", "-9.81 + 1e3 * v**2").replace("start=0.0", "start=1.0")
    (tmp_path / "ball.py").write_text(text)
    out = call("simulate", "ball.py", cwd=tmp_path)
    assert out.returncode == 1
    assert "step size fell below" in out.stdout


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (None, ["nothing.py"], "daedalus: There is no file 'nothing.py'."),
        ("x = 1", ["file.py"], "daedalus: 'file.py' defines no model."),
        ("model = 3", ["file.py"], "`model` is a int there"),
        ("\n1 / 0", ["file.py"], "line 2: ZeroDivisionError: division by zero"),
        (MODEL.replace("model", "m") + "n = m.copy()", ["file.py"], "they have the names m, n\n  Try: --model m"),
        (MODEL, ["file.py", "--model", "m"], "`m` is nothing there; models have the names model\n  Try: --model model"),
        (MODEL, ["file.py", "--method", "rk5"], "daedalus: There is no method 'rk5'."),
        (MODEL, ["file.py", "--until", "nan"], "daedalus: The span is not a time."),
        (MODEL, ["file.py", "--out", "run.csv"], "daedalus: A run is saved as NetCDF."),
        (MODEL, ["file.py", "--plot", "run.xyz"], "daedalus: The picture 'run.xyz' cannot be written."),
    ],
)
def test_mistakes_have_exit_code_2_and_no_traceback(tmp_path, text, arguments, message):
    if text is not None:
        (tmp_path / "file.py").write_text(text)
    out = call("simulate", *arguments, cwd=tmp_path)
    assert out.returncode == 2
    assert message in out.stderr
    assert "Traceback" not in out.stderr


def test_methods_info_and_help():
    out = call("methods")
    assert out.returncode == 0
    assert "dop853" in out.stdout
    out = call("info")
    assert out.returncode == 0
    assert "casadi:" in out.stdout
    for arguments in (["--help"], ["simulate", "--help"]):
        out = call(*arguments)
        assert out.returncode == 0
        assert "simulate" in out.stdout


def test_demo_writes_a_picture_and_a_run(tmp_path):
    out = call("demo", "--out", tmp_path / "demo")
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "demo" / "demo.png").stat().st_size > 50_000
    assert (tmp_path / "demo" / "pendulum.nc").exists()
    assert "energy kept to" in out.stdout
    assert "semi-explicit DAE, index 3, 4 start values free" in out.stdout.replace("\n", "").replace("   ", " ")


DRIVEN = """
import daedalus as dd
m = dd.Model("arm")
angle = m.state("angle", start=0.0, rate=0.0)
torque = m.input("torque", 2)
length = m.parameter("length", 1.0)
m.equation(length * m.der(m.der(angle)), torque[0] - torque[1])
span = 2.0
"""


def test_values_from_the_command_line(tmp_path):
    (tmp_path / "arm.py").write_text(DRIVEN)
    out = call("simulate", "arm.py", "--input", "torque=3,1", "--parameter", "length=2", "--start", "angle=0.5",
               "--start", "angle_dot=1", "--json", cwd=tmp_path)  # fmt: skip
    assert out.returncode == 0, out.stderr
    told = json.loads(out.stdout)
    assert told["time"] == 2.0
    assert told["end"]["angle"] == pytest.approx(0.5 + 2.0 + 0.5 * 1.0 * 4.0)
    assert told["success"] is True
    assert set(told["work"]) == {"steps", "rejected", "rhs", "jacobians", "seconds"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "The input 'torque' has no value.\n  Because a run needs every input.\n  Try: --input torque=0,0"),
        (["--input", "torqe=1,1"], "The model has no input 'torqe'.\n  inputs: torque"),
        (["--input", "torque=1,2,3"], "--input torque=1,2,3 cannot be read."),
        (["--input", "torque"], "--input 'torque' is not an assignment."),
        (["--input", "torque=1", "--parameter", "angle=1"], "The model has no parameter 'angle'."),
        (["--input", "torque=1", "--start", "length=1"], "The model has no state 'length'."),
    ],
)
def test_wrong_values_are_told_in_the_words_of_the_command_line(tmp_path, arguments, message):
    (tmp_path / "arm.py").write_text(DRIVEN)
    out = call("simulate", "arm.py", *arguments, cwd=tmp_path)
    assert out.returncode == 2
    assert message in out.stderr
    assert "inputs={" not in out.stderr


def test_one_number_for_a_vector_is_told(tmp_path):
    (tmp_path / "arm.py").write_text(DRIVEN)
    out = call("simulate", "arm.py", "--input", "torque=3,1", "--input", "torque=1", "--json", cwd=tmp_path)
    assert out.returncode == 0
    assert out.stderr == "note: torque = 1 in each of its 2 elements\n"
    assert json.loads(out.stdout)["success"] is True
    out = call("simulate", "arm.py", "--input", "torque=1,1", "--parameter", "length=2", cwd=tmp_path)
    assert "note:" not in out.stderr


def test_errors_are_json_too(tmp_path):
    (tmp_path / "arm.py").write_text(DRIVEN)
    out = call("simulate", "arm.py", "--json", cwd=tmp_path)
    assert out.returncode == 2
    assert json.loads(out.stdout)["error"]["remedy"] == "--input torque=0,0"


def test_the_catalogue_by_name(tmp_path):
    out = call("simulate", "catalogue:delta_robot", "--json")
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout)["time"] == 0.5
    out = call("analyse", "catalogue:delta_robot", "--json")
    told = json.loads(out.stdout)
    assert (told["index"], told["kind"]) == (3, "semi-explicit DAE")
    out = call("analyse", "catalogue:delta_robt")
    assert out.returncode == 2
    assert "Try: delta_robot" in out.stderr or "delta_robot" in out.stderr


def test_animate_writes_a_page(tmp_path):
    out = call("animate", "catalogue:four_bar", "-o", "run.html", "--until", "0.2", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "wrote run.html" in out.stdout
    assert (tmp_path / "run.html").read_text().startswith("<!DOCTYPE html>")
    out = call("animate", "catalogue:robertson", cwd=tmp_path)
    assert out.returncode == 2
    assert "'robertson' has no geometry to draw" in out.stderr


def test_version_and_completion(tmp_path):
    import daedalus

    out = call("--version")
    assert out.stdout.strip() == f"daedalus {daedalus.__version__}"
    # What a shell asks for while somebody types.
    from daedalus.command_line import _method_names
    from daedalus.model_source import source_labels

    assert "catalogue:delta_robot" in source_labels("catalogue:del")
    assert "radau5" in _method_names("rad")
    assert call("--help").stdout.count("completion") >= 2


def test_methods_and_info_as_json():
    assert any(m["name"] == "radau5" for m in json.loads(call("methods", "--json").stdout))
    assert "casadi" in json.loads(call("info", "--json").stdout)


# What takes more than seconds waits for the wide ring.
SLOW = {"two_bit_adder", "nand_gate", "water_tube", "fekete", "medical_akzo", "emep", "ring_modulator", "wheelset",
        "pollution", "beam", "four_bar", "andrews", "charge_pump"}  # fmt: skip
EVERY = [pytest.param(name, marks=[pytest.mark.wide] if name in SLOW else []) for name in catalogue.names()]


@pytest.mark.parametrize("name", EVERY)
def test_every_known_system_runs_with_no_further_argument(name):
    out = call("simulate", f"catalogue:{name}")
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith(f"{name}: reached t = ")


@pytest.mark.wide
@pytest.mark.parametrize("name", catalogue.names())
@pytest.mark.parametrize("command", ["analyse", "simulate", "animate", "report"])
def test_every_command_on_every_system(name, command, tmp_path):
    files = {"analyse": ["--plot", "structure.png"], "simulate": ["--plot", "run.png", "--out", "run.nc"]}
    more = ["--json"] if command in files else ["-o", "page.html"]
    out = call(command, f"catalogue:{name}", *more, *files.get(command, ()), cwd=tmp_path)
    assert out.returncode or all((tmp_path / file).exists() for file in files.get(command, ())[1::2])
    if command == "animate" and out.returncode == 2:
        assert "has no geometry to draw" in out.stderr
        return
    assert out.returncode == 0, out.stderr
    if more == ["--json"]:
        found = json.loads(out.stdout)
        assert not any("…" in text for text in found.get("hidden_constraints", ()))
        assert not any("… " in note for note in found.get("notes", ()) if "conditions" in note)
    else:
        assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize("name", ["delta_robot", "bricard", "pendulum_3d"])
def test_json_never_cuts_a_formula(name):
    found = json.loads(call("analyse", f"catalogue:{name}", "--json").stdout)
    assert found["hidden_constraints"]
    for text in found["hidden_constraints"]:
        assert "…" not in text
        assert text.endswith(" = 0")
        assert "differentiated" in text.partition(": ")[0]


def test_notes_are_not_cut_either():
    found = json.loads(call("simulate", "catalogue:motor_speed_loop", "--json").stdout)
    (switches,) = (note for note in found["notes"] if "located:" in note)
    assert "…" not in switches
    assert "pid.integral_part > pid.lower" in switches


def test_the_catalogue_is_listed_with_a_line_each():
    lines = call("catalogue").stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(catalogue.names())
    assert all(len(line.split()) > 3 for line in lines)
    found = json.loads(call("catalogue", "--json").stdout)
    assert {entry["name"] for entry in found} == set(catalogue.names())


def test_help_keeps_its_brackets():
    assert 'pip install "daedalus[studio]"' in call("studio", "--help").stdout


def test_inputs_of_parts_that_are_joined_are_not_asked_for():
    out = call("simulate", "catalogue:hydraulic_servo", "--input", "control.setpoint=0")
    assert out.returncode == 2
    assert "it has no inputs" in out.stderr


def test_end_values_have_units():
    lines = call("simulate", "catalogue:heated_house").stdout.splitlines()
    assert lines[0] == "heated_house: reached t = 21600 s"
    assert next(line for line in lines if "air.temperature" in line).endswith(" K")
    assert next(line for line in lines if "integral_part" in line).endswith(" W")


def test_every_small_system_of_the_catalogue_is_reached_by_its_name():
    from daedalus.catalogue.textbook.small_dae import EXAMPLES

    assert len(EXAMPLES) == 12
    for name in EXAMPLES:
        found = call("analyse", f"catalogue:small_dae:{name}")
        assert (found.stdout.startswith("small_dae: "), found.returncode) == (True, 0)
    wrong = call("analyse", "catalogue:small_dae:savin_7")
    assert wrong.returncode != 0
    assert "There is no small system 'savin_7'" in wrong.stderr
    assert "has no variants" in call("analyse", "catalogue:cstr:one").stderr
