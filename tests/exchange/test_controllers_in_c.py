"""Linear controllers that leave as C."""

import numpy as np
import pytest
from tests.exchange.test_c_code import needs_compiler, run_test

import daedalus as dd


def controller(**names):
    """Two inputs, two outputs, three states with a fast and an unstable mode."""
    A = [[-3.0, 1.0, 0.0], [0.5, 0.2, 1.0], [0.0, -1.0, -40.0]]
    return dd.LTI(
        A, [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]], [[0.5, 0.0], [0.0, 0.0]], **names
    )


@needs_compiler
@pytest.mark.parametrize("hold", ["zero", "linear"])
def test_samples_are_those_of_the_package(hold, tmp_path):
    names = {"inputs": ['e "1"', "e\\2"], "outputs": ["ü", "u_2"]}
    written = controller(**names).discretise(0.05, hold=hold).to_c(tmp_path, "loop (2)")
    assert written.files == ("loop_2.h", "loop_2.c", "test_loop_2.c", "Makefile")
    assert written.labels["u"] == ('e "1"', "e\\2")
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    source = tmp_path / "loop_2.c"
    source.write_text(source.read_text().replace("1.0, D, u, y", "1.0000001, D, u, y"))
    assert run_test(tmp_path).returncode != 0


@needs_compiler
def test_a_regulator_is_its_gain(tmp_path):
    best = controller().lqr(Q=[1.0, 2.0, 3.0], R=0.1)
    written = best.to_c(tmp_path)
    assert written.functions == ("regulator_inputs",)
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_compiler
def test_a_gain_alone_is_a_controller_too(tmp_path):
    dd.LTI(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), [[2.0]]).discretise(0.1).to_c(tmp_path)
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_no_word_is_refused(tmp_path):
    with pytest.raises(dd.InputError, match="prefix"):
        controller().discretise(0.1).to_c(tmp_path, " ")
    assert not list(tmp_path.iterdir())
