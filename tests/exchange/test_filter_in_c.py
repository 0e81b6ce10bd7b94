"""Filters that leave as C: calls equal those of the package, for free, constrained and linear models."""

import shutil
import subprocess

import numpy as np
import pytest
from tests.exchange.test_c_code import needs_compiler, run_test

import daedalus as dd
from daedalus import catalogue


def swing(name="swing (1)"):
    m = dd.Model(name)
    angle, rate, torque = m.state("angle", start=0.3), m.state("rate", start=0.0), m.input("torque")
    length = m.parameter("length", 0.8)
    m.equation([m.der(angle), m.der(rate)], [rate, -9.81 / length * np.sin(angle) + torque])
    m.output("height", -length * np.cos(angle))
    return m


def cart():
    m = dd.Model("cart")
    x, v, force = m.state("x", start=0.2), m.state("v", start=0.0), m.input("force")
    m.equation([m.der(x), m.der(v)], [v, force - 0.3 * v])
    return m


def swing_filter(every=0.02, **options):
    noises = {"start_covariance": [0.1, 0.2], "process_noise": {"rate": 0.2}, "measurement_noise": [1e-3, 2e-2]}
    return dd.Estimator(swing(), ["angle", "height"], every=every, **{**noises, **options})


def cart_filter():
    noises = {"start_covariance": 1e-2, "process_noise": {"v": 0.5}, "measurement_noise": 1e-3}
    return dd.Estimator(cart(), ["x"], every=0.1, **noises)


def cable_filter():
    noises = {"start_covariance": 0.01, "process_noise": 0.1, "measurement_noise": 1e-3}
    return dd.Estimator(catalogue.load("pendulum_3d").model, ["position"], every=0.02, **noises)


@needs_compiler
@pytest.mark.parametrize("made", [swing_filter, cart_filter, cable_filter])
def test_calls_are_those_of_the_package(made, tmp_path):
    written = made().to_c(tmp_path)
    assert written.functions[-4:] == tuple(
        f"{written.files[0][:-2]}_filter_{k}" for k in ("begin", "call", "predict", "update")
    )
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "_filter: P" in done.stdout


def told(name, folder, measured, inputs):
    """What a program of its own hears from the filter: states, then covariance, one row a call."""
    count, m, nu = len(measured), measured.shape[1], inputs.shape[1]
    as_c = [", ".join("NAN" if np.isnan(v) else repr(float(v)) for v in rows.ravel()) for rows in (measured, inputs)]
    (folder / "own.c").write_text(f"""#include <math.h>
#include <stdio.h>
#include "{name}_filter.h"
int main(void) {{
  static const double y[] = {{{as_c[0]}}}, u[] = {{{as_c[1]}}};
  {name}_filter filter;
  int k, i;
  {name}_filter_begin(&filter);
  for (k = 0; k < {count}; ++k) {{
    if ({name}_filter_call(&filter, y + k * {m}, u + k * {nu})) return 1;
    for (i = 0; i < {name.upper()}_NX; ++i) printf("%.17g ", filter.x[i]);
    for (i = 0; i < {name.upper()}_NX * {name.upper()}_NX; ++i) printf("%.17g ", filter.P[i]);
    printf("\\n");
  }}
  return 0;
}}
""")
    built = [shutil.which("cc"), "-std=c99", "-o", "own", "own.c", f"{name}_filter.c", f"{name}.c", "-lm"]
    subprocess.run(built, cwd=folder, check=True, timeout=300)
    done = subprocess.run([folder / "own"], capture_output=True, text=True, check=True, timeout=60)
    return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])


@needs_compiler
@pytest.mark.parametrize(("made", "name", "tolerance"), [(cart_filter, "cart", 1e-10), (swing_filter, "swing_1", 1e-6)])
def test_a_filter_agrees_with_the_estimator_on_other_measurements(made, name, tolerance, tmp_path):
    """One step an interval is what the estimator does; several agree to its tolerance for covariances."""
    estimator, count = made(), 20
    estimator.to_c(tmp_path)
    rng = np.random.default_rng(5)
    rows = len(estimator.labels["y"])
    measured, inputs = 0.2 + 0.05 * rng.normal(size=(count, rows)), rng.normal(size=(count, 1))
    measured[3] = np.nan
    measured[5, 0] = np.nan
    found = told(name, tmp_path, measured, inputs)
    expected = []
    for y, u in zip(measured, inputs):
        x = estimator(y, u)
        expected.append([*x, *estimator.covariance.ravel()])
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@needs_compiler
def test_the_test_of_a_filter_can_fail(tmp_path):
    cart_filter().to_c(tmp_path)
    source = tmp_path / "cart_filter.c"
    text = source.read_text()
    assert text.count("added[i * N + j] += ") == 1
    source.write_text(text.replace("added[i * N + j] += ", "added[i * N + j] += 1.000001 * "))
    assert run_test(tmp_path).returncode != 0


def test_what_a_filter_in_c_cannot_do_is_refused(tmp_path):
    with pytest.raises(dd.InputError, match="cannot be written as C"):
        swing_filter(kind="mhe").to_c(tmp_path)
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    with pytest.raises(dd.InputError, match="events"):
        dd.Estimator(m, ["h"]).to_c(tmp_path)
    m = dd.Model("stiff")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -1e6 * x**3 - 1e5 * x)
    with pytest.raises(dd.InputError, match="stiff"):
        dd.Estimator(m, ["x"], every=0.1).to_c(tmp_path)
    with pytest.raises(dd.InputError, match="do not reach"):
        swing_filter(every=0.5).to_c(tmp_path, steps=1)
    for steps in (0, 2.5, True, 10**9):
        with pytest.raises(dd.InputError, match="whole number"):
            swing_filter().to_c(tmp_path, steps=steps)
    assert not list(tmp_path.iterdir())
