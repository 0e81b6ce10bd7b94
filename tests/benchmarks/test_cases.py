"""Which cases and figures exist, and what a pattern on the command line means."""

import pytest
from benchmarks import figures, problems, tools
from benchmarks.__main__ import main, plan
from benchmarks.cases import all_cases, chosen_cases, matches


def test_every_file_is_found_and_keeps_the_contract():
    assert {"quadrotor", "van_der_pol", "lotka_volterra", "pleiades"} <= set(problems.names())
    assert {"daedalus", "scipy", "numbalsoda", "casadi", "pydiffsol", "sundae", "diffrax"} <= set(tools.names())
    assert tools.names()[0] == "daedalus"
    for name in problems.names():
        problem = problems.load(name)
        assert (problem.name, len(problem.reference)) == (name, problem.size)
    for name in tools.names():
        tool = tools.load(name)
        assert (tool.name, bool(tool.requirements)) == (name, name != "daedalus")
    for name in figures.names():
        assert figures.load(name).name == name


def test_figures_need_cases_that_exist():
    known = {case.name for case in all_cases()}
    assert {need for name in figures.names() for need in figures.load(name).needs} <= known


def test_a_dae_meets_only_tools_that_solve_daes():
    found = {case.tool for case in all_cases() if case.problem == "transistor_amplifier"}
    assert {"daedalus", "casadi", "pydiffsol", "sundae", "solve_dae"} == found
    assert not [case for case in chosen_cases([]) if case.problem == "car_axis_index_3"]


def test_a_dae_whose_ode_form_is_known_meets_methods_for_odes_in_that_form():
    found = [case.method for case in all_cases() if case.problem == "robertson" and case.tool == "scipy"]
    assert found == ["Radau", "LSODA"]


def test_methods_stay_below_the_index_they_cannot_solve_and_mechanics_has_its_own_form():
    by_index = {
        index: {c.method for c in all_cases() if c.problem == f"pendulum_index_{index}" and c.tool == "daedalus"}
        for index in (1, 2, 3)
    }
    assert by_index[1] - by_index[2] == {"rodas4", "rodas5p", "prepared-rodas5p"}
    assert by_index[2] - by_index[3] == {"bdf"}
    assert by_index[3] - by_index[1] == {"mechanics"}


@pytest.mark.parametrize(
    "pattern",
    ["quadrotor", "quadrotor/scipy", "quadrotor/scipy:DOP853", "*:DOP*", "!quad", "!quadrotor/sci", "!pleiades"],
)
def test_patterns(pattern):
    meant = not pattern.startswith("!")
    assert matches("quadrotor/scipy:DOP853", [pattern.removeprefix("!")]) is meant


def test_a_figure_brings_its_cases_and_they_run_first():
    cases, wanted = plan(["quadrotor_flight"])
    assert [figure.name for figure in wanted] == ["quadrotor_flight"]
    assert {case.name for case in cases} == set(wanted[0].needs)
    everything, _ = plan([])
    needed = {need for name in figures.names() for need in figures.load(name).needs}
    assert {case.name for case in everything[: len(needed)]} == needed


METHODS = ("dop853", "prepared-dop853", "tsit5", "dopri5")


def test_list_and_an_unknown_name(capsys):
    assert main(["--list", "--only", "pleiades/daedalus"]) == 0
    assert capsys.readouterr().out.split() == [f"pleiades/daedalus:{m}" for m in METHODS]
    assert main(["--only", "nonsense"]) == 2
    assert "nothing is called nonsense" in capsys.readouterr().out
