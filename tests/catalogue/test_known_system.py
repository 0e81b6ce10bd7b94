"""What holds for every known system, whichever it is."""

import dataclasses
import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.known_system import KnownSystem, written_start
from daedalus.catalogue.loading import FIELDS
from daedalus.reduction.forms.explicit_form import explicit_form

every_system = pytest.mark.parametrize("name", catalogue.names())
MACHINES = [name for name, field in FIELDS.items() if field == "machines"]


# References with fewer trusted digits than the usual twelve, each with its reason in its own file.
FEWER_DIGITS = {
    "bricard": 9,
    "flyball_governor": 9,
    "ring_modulator": 8,
    "fekete": 9,
    "andrews": 8,
    "slider_crank": 10,
    "pendulum_3d": 11,
    "four_bar": 11,
    "rod_chain": 11,
    "car_axis": 11,
    "e5": 9,
    "water_tube": 11,
    "flexible_slider_crank": 7,
    "wheelset": 10,
    "emep": 10,
    "two_bit_adder": 6,
    # Machines from parts: two methods of our own at 1e-12 agree.
    **dict.fromkeys(MACHINES, 9),
    "bridge_rectifier": 7,
    "buck_converter": 7,
    "ring_modulator_of_parts": 7,
    "amplifier_of_parts": 12,
}
# References of some of the states, for the same kind of reason; the road of the car ends where it began, at zero.
PARTLY = ("charge_pump", "flexible_slider_crank", "emep", "quarter_car")


@every_system
def test_it_is_complete(name):
    known = catalogue.load(name)
    system = known.model.freeze()
    assert known.name == name == known.model.name
    assert len(known.source) > 20
    assert known.span[0] < known.span[1]
    # Every state has a start value, every input a value, every parameter a number. Machines have some states by joining
    # that no start can choose: theirs is complete with one value for each degree of freedom.
    given = sum(np.size(value) for value in known.start.values())
    chosen = given == dd.analyse(known.model).degrees_of_freedom if name in MACHINES else False
    assert chosen or given == system.sizes["x"]
    assert all(np.shape(value) == system.place(key).shape for key, value in known.start.items())
    assert all(np.shape(value) == system.place(key).shape for key, value in known.inputs.items())
    assert set(known.inputs) == {v.name for v in system.of_kind("input")}
    assert np.all(np.isfinite(system.start["p"]))
    assert set(known.parameters) == set(known.model.parameters)


@every_system
def test_its_start_is_that_of_the_model(name):
    """Parts write guesses only, so that the start of a machine is that of its catalogue entry: given, and kept."""
    known = catalogue.load(name)
    if name in MACHINES:
        start = dd.initialise(known.model, known.start)
        assert all(np.array_equal(start[key], value) for key, value in known.start.items())
        return
    system = known.model.freeze()
    x = np.full(system.sizes["x"], np.nan)
    for key, value in known.start.items():
        x[system.place(key).positions] = np.ravel(value, order="F")
    assert np.array_equal(x, system.start["x"])


@every_system
def test_its_units_are_known(name):
    for variable in catalogue.load(name).model.variables.values():
        assert not variable.unit or dd.units.is_known(variable.unit), variable


@every_system
def test_its_reference_can_be_compared_with_a_run(name):
    known = catalogue.load(name)
    system = known.model.freeze()
    assert known.reference.time == known.span[1]
    assert known.reference.digits >= FEWER_DIGITS.get(name, 12)
    for key, value in known.reference.items():
        shape = (system.outputs[key].numel(),) if key in system.outputs else system.place(key).shape
        assert np.shape(value) == shape
        assert np.all(np.isfinite(value))
    # All states are covered; of constrained systems publications give positions only, of large ones some of them.
    if known.index < 3 and system.sizes["x"] < 100 and name not in PARTLY:
        states = sum(np.size(value) for value in known.start.values()) if name in MACHINES else system.sizes["x"]
        assert sum(np.size(value) for value in known.reference.values()) >= states


@every_system
def test_its_index_is_right(name):
    known = catalogue.load(name)
    system = known.model.freeze()
    if known.index == 0:
        assert system.sizes["z"] == 0
        explicit_form(system)
    else:
        # By numbers: the pattern of the transistor amplifier has full rank, its matrix has not.
        letters = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
        slopes = ca.Function("M", letters, [ca.jacobian(system.residual, system.symbol("xdot"))])
        values = {"x": system.default_start, "p": system.start["p"]}
        matrix = slopes(*(values.get(letter, 0.0) for letter in ("t", "xdot", "x", "z", "u", "p"))).full()
        assert system.sizes["z"] > 0 or np.linalg.matrix_rank(matrix) < system.sizes["x"]


@every_system
def test_its_conserved_outputs_do_not_change_along_the_flow(name):
    """∇c · f = 0 at random points, not only along one solution; constrained systems: see test_mechanisms."""
    known = catalogue.load(name)
    system = known.model.freeze()
    assert set(known.conserved) <= set(known.model.outputs)
    if not known.conserved or known.index > 1:
        return
    x, letters = system.symbol("x"), [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    rate = explicit_form(system).xdot
    random = np.random.default_rng(1)
    for key in known.conserved:
        gradient = ca.jacobian(ca.vec(system.outputs[key]), x)
        change = ca.Function("change", letters, [gradient @ rate, ca.fabs(gradient) @ ca.fabs(rate)])
        for _ in range(5):
            point = random.uniform(0.2, 1.5, system.sizes["x"])
            slope, size = change(0.3, point, random.uniform(-1, 1, system.sizes["u"]), system.start["p"])
            assert np.all(np.abs(slope.full()) <= 1e-13 * (1 + size.full())), key


@every_system
def test_it_survives_pickling(name):
    known = catalogue.load(name)
    twin = pickle.loads(pickle.dumps(known))
    assert twin.model.freeze() == known.model.freeze()
    assert repr(twin) == repr(known)
    assert all(np.array_equal(twin.start[key], known.start[key]) for key in known.start)
    assert all(np.array_equal(twin.reference[key], known.reference[key]) for key in known.reference)


def test_it_is_frozen():
    known = catalogue.load("mass_spring")
    with pytest.raises(dataclasses.FrozenInstanceError):
        known.span = (0.0, 1.0)


def test_parameters_have_their_shapes():
    parameters = catalogue.load("quadrotor").parameters
    assert parameters["mass"] == 0.468
    assert parameters["inertia"].tolist() == [4.856e-3, 4.856e-3, 8.801e-3]


def test_a_matrix_state_keeps_its_shape():
    m = dd.Model("matrix")
    a = m.state("A", (2, 3), start=[[1, 2, 3], [4, 5, 6]])
    b = m.algebraic("b", start=1.0)
    m.equation(m.der(a), -a)
    m.equation(b, a[0, 0])
    known = KnownSystem(m, span=(0.0, 1.0), source="this test", index=1)
    # An algebraic variable's start is a guess, so it is not among the given values.
    assert list(known.start) == ["A"]
    assert known.start["A"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert repr(known) == "KnownSystem('matrix': 6 states, index 1, t = 0 to 1, no reference)"


def test_a_free_start_value_is_not_given():
    m = dd.Model("free")
    m.state("x", 2, start=[1.0, None])
    m.state("y", start=2.0)
    assert written_start(m) == {"y": 2.0}
