"""Verdicts: every small system of the lectures and every known system, against what must be found."""

import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.textbook.small_dae import EXAMPLES, Verdict

PROBLEMS = {"brachistochrone", "bryson_denham", "double_integrator", "goddard_rocket", "hanging_chain"}
VERDICTS = [
    pytest.param("small_dae", {"example": name}, verdict, id=f"{name}-{k}")
    for name, example in EXAMPLES.items()
    for k, verdict in enumerate(example.verdicts)
]


def levels(*names, most=2):
    """The texts of constraints that are hidden once they are differentiated up to `most` times."""
    times = {1: "once", 2: "twice"}
    return tuple(f"{name}, differentiated {times[k]}" for name in names for k in range(1, most + 1))


def elements(name, count):
    return tuple(f"{name}[{k}]" for k in range(count))


# The constraints of Fekete's points.
HELD = ("sphere", "tangent")
# Positions less constraints, twice: for positions and velocities. The disc has 13 states and 3 velocity constraints.
MECHANISMS = [
    ("pendulum_3d", 2 * (3 - 1), ("cable",)),
    ("simple_pendulum", 2 * (2 - 1), ("bar",)),
    ("four_bar_windows", 2 * (6 - 5), ("leg_0", "leg_1", "leg_2", "bar_0", "bar_1")),
    ("delta_robot", 2 * (6 - 3), elements("arm", 3)),
    ("car_axis", 2 * (4 - 2), ("line", "bar")),
    ("andrews", 2 * (7 - 6), (*elements("loop3", 2), *elements("loop5", 2), *elements("loop7", 2))),
    (
        "slider_crank",
        2 * (9 - 8),
        tuple(label for name in ("main_bearing", "crank_pin", "gudgeon_pin", "guide") for label in elements(name, 2)),
    ),
    (
        "four_bar",
        2 * (9 - 8),
        tuple(
            label
            for name in ("crank_bearing", "crank_pin", "rocker_pin", "rocker_bearing")
            for label in elements(name, 2)
        ),
    ),
    ("rod_chain", 2 * (30 - 20), tuple(label for k in range(10) for label in elements(f"hinge{k}", 2))),
]
VERDICTS += [
    *(
        pytest.param(
            name,
            {},
            Verdict(
                "fully implicit DAE" if name in ("andrews", "four_bar_windows") else "semi-explicit DAE",
                3,
                freedom,
                structural_index=3,
                is_linear=False,
                directly_solvable=False,
                algebraic=multipliers,
                hidden=levels(*multipliers),
            ),
            id=name,
        )
        for name, freedom, multipliers in MECHANISMS
    ),
    # One of five constraints follows from the others: the motion is determined, their forces only in their sum.
    pytest.param(
        "bricard",
        {},
        Verdict(
            "semi-explicit DAE",
            3,
            2 * (5 - 4),
            structural_index=3,
            is_linear=False,
            directly_solvable=False,
            algebraic=elements("hinge_5", 5),
            hidden=("hinge_5[",) * 8,
        ),
        id="bricard",
    ),
    pytest.param(
        "rolling_disc",
        {},
        Verdict(
            "semi-explicit DAE",
            2,
            13 - 3,
            structural_index=2,
            is_linear=False,
            directly_solvable=False,
            algebraic=elements("contact", 3),
            hidden=levels(*elements("contact", 3), most=1),
        ),
        id="rolling_disc",
    ),
    pytest.param(
        "cstr",
        {},
        Verdict(
            "semi-explicit DAE",
            2,
            3,
            structural_index=2,
            directly_solvable=False,
            algebraic=("R1", "R2"),
            hidden=("equilibrium, differentiated once",),
        ),
        id="cstr",
    ),
    pytest.param(
        "nilpotent_3",
        {},
        Verdict(
            "semi-explicit DAE",
            3,
            0,
            structural_index=3,
            is_linear=True,
            directly_solvable=False,
            algebraic=("x[0]",),
            hidden=("x[1] + u_dot = 0", "x[0] + u_ddot = 0"),
        ),
        id="nilpotent_3",
    ),
    pytest.param(
        "transistor_amplifier",
        {},
        Verdict(
            "fully implicit DAE",
            1,
            5,
            structural_index=0,
            is_linear=False,
            directly_solvable=False,
            hidden=(
                "(y[0] - 0.1*sin(628.318530718*t))/R[0] + y[1]/R[1] + (y[1] - Ub)/R[2]",
                "(y[3] - Ub)/R[4] + alpha*beta*(exp((y[1] - y[2])/UF) - 1) + y[4]/R[5]",
                "(y[6] - Ub)/R[8] + alpha*beta*(exp((y[4] - y[5])/UF) - 1) + y[7]/R[9] = 0",
            ),
            warnings=("the pattern of the equations misleads (structural index 0): currents[1] combined",),
        ),
        id="transistor_amplifier",
    ),
    *(
        pytest.param(
            name,
            {},
            Verdict("semi-explicit DAE", 1, freedom, structural_index=1, algebraic=(algebraic,)),
            id=name,
        )
        for name, freedom, algebraic in [("robertson", 2, "y[2]"), ("chemical_akzo", 5, "y[5]"), ("e5", 3, "y[1]")]
    ),
    *(
        pytest.param(name, {}, Verdict(kind, 0, freedom, structural_index=0, directly_solvable=True), id=name)
        for name, kind, freedom in [
            ("mass_spring", "explicit ODE", 2),
            ("cart_pendulum", "implicit ODE", 4),
            ("double_pendulum", "implicit ODE", 4),
            ("van_der_pol", "explicit ODE", 2),
            ("hires", "explicit ODE", 8),
            ("pleiades", "explicit ODE", 28),
            ("lotka_volterra", "explicit ODE", 2),
            ("gyroscope", "explicit ODE", 7),
            ("pollution", "explicit ODE", 20),
            ("oregonator", "explicit ODE", 3),
            ("ring_modulator", "explicit ODE", 15),
            ("medical_akzo", "explicit ODE", 400),
            ("flyball_governor", "explicit ODE", 8),
        ]
    ),
    pytest.param(
        "quadrotor",
        {},
        Verdict("explicit ODE", 0, 13, structural_index=0, directly_solvable=True, hidden=("unit length: ",)),
        id="quadrotor",
    ),
    pytest.param(
        "ring_modulator",
        {"parasitic": 0.0},
        Verdict(
            "semi-explicit DAE",
            2,
            10,
            structural_index=1,
            directly_solvable=False,
            algebraic=("y[2]", "y[3]", "y[4]", "y[5]"),
            hidden=("-(y[10] + y[9] + y[11] + y[12]) = 0", "balance_5, differentiated once"),
            warnings=("the pattern of the equations misleads (structural index 1): balance_6 combined",),
        ),
        id="ring_modulator-index 2",
    ),
    pytest.param(
        "charge_pump",
        {},
        Verdict(
            "fully implicit DAE",
            2,
            2,
            structural_index=2,
            directly_solvable=False,
            algebraic=(*elements("voltage", 3), "current"),
            hidden=("drain_charge[1], differentiated once",),
        ),
        id="charge_pump",
    ),
    pytest.param(
        "water_tube",
        {},
        Verdict(
            "semi-explicit DAE",
            2,
            2 + 18 - 11,
            structural_index=2,
            directly_solvable=False,
            algebraic=(*elements("resistance", 18), *elements("pressure", 11)),
            hidden=tuple(f"{label}, differentiated once" for label in elements("nodes", 11)),
        ),
        id="water_tube",
    ),
    pytest.param(
        "beam",
        {},
        Verdict(
            "semi-explicit DAE",
            1,
            80,
            structural_index=1,
            directly_solvable=True,
            algebraic=elements("tension", 40),
        ),
        id="beam",
    ),
    *(
        pytest.param(
            "flexible_slider_crank",
            {"index": index},
            Verdict(
                "semi-explicit DAE",
                index,
                freedom,
                structural_index=index,
                directly_solvable=index == 1,
                algebraic=(*elements("acceleration", 7), *elements("force", 3)),
                hidden=hidden,
            ),
            id=f"flexible_slider_crank-index {index}",
        )
        for index, freedom, hidden in [
            (1, 14, ()),
            (2, 14 - 3, tuple(f"{label}, differentiated once" for label in elements("closure", 3))),
            (3, 2 * (7 - 3), levels(*elements("closure", 3))),
        ]
    ),
    pytest.param(
        "wheelset",
        {},
        Verdict(
            "fully implicit DAE",
            2,
            11 - 2,
            structural_index=2,
            directly_solvable=False,
            algebraic=(*elements("turn", 2), *elements("offset", 2), *elements("force", 2)),
            hidden=tuple(f"{label}, differentiated once" for label in elements("contact", 2)),
        ),
        id="wheelset",
    ),
    pytest.param(
        "emep",
        {},
        Verdict("explicit ODE", 0, 66, structural_index=0, directly_solvable=True),
        id="emep",
    ),
    pytest.param(
        "two_bit_adder",
        {},
        Verdict(
            "semi-explicit DAE",
            1,
            175 - 16,
            structural_index=1,
            is_linear=False,
            directly_solvable=True,
            algebraic=elements("voltage", 175),
        ),
        id="two_bit_adder",
    ),
    pytest.param(
        "nand_gate",
        {},
        # Its capacitances are positive at all voltages: an ODE everywhere.
        Verdict("implicit ODE", 0, 14, structural_index=0, directly_solvable=True),
        id="nand_gate",
    ),
    pytest.param(
        "fekete",
        {},
        Verdict(
            "semi-explicit DAE",
            2,
            2 * (60 - 20),
            structural_index=2,
            directly_solvable=False,
            algebraic=(*elements("force", 20), *elements("shift", 20)),
            hidden=tuple(f"{label}, differentiated once" for name in HELD for label in elements(name, 20)),
        ),
        id="fekete",
    ),
]
# Machines from parts: what joining leaves of hundreds of equations. Volumes of a cylinder vanish at its ends.
ODE = {"structural_index": 0, "directly_solvable": True}
MACHINES = {
    "motor_speed_loop": Verdict("explicit ODE", 0, 4, **ODE, is_linear=False),
    "motor_lift": Verdict(
        "fully implicit DAE", 2, 3, structural_index=2, is_linear=True, directly_solvable=False,
        algebraic=("motor.shaft.angle",), hidden=("winch.positions, differentiated once",),
    ),
    "elastic_transmission": Verdict("explicit ODE", 0, 4, **ODE, is_linear=True),
    "hydraulic_servo": Verdict("implicit ODE", 0, 4, **ODE, warnings=("near cylinder.flange.position = -0.1",)),
    "emptying_tank": Verdict("explicit ODE", 0, 1, **ODE, is_linear=False),
    "bridge_rectifier": Verdict(
        "semi-explicit DAE", 1, 1, structural_index=1, is_linear=False, directly_solvable=True,
        algebraic=("source.plus.voltage", "d1.drive", "d2.drive", "d3.drive", "d4.drive"),
    ),
    "buck_converter": Verdict(
        "semi-explicit DAE", 1, 3, structural_index=1, is_linear=False, directly_solvable=True,
        algebraic=("diode.drive",),
    ),
    "rlc_ladder": Verdict("explicit ODE", 0, 20, **ODE, is_linear=True),
    "quarter_car": Verdict("explicit ODE", 0, 5, **ODE, is_linear=True),
    "heated_house": Verdict("explicit ODE", 0, 3, **ODE, is_linear=False),
    "driven_arm": Verdict("implicit ODE", 0, 9, **ODE, is_linear=False),
    "amplifier_of_parts": Verdict(
        "fully implicit DAE", 1, 5, structural_index=1, is_linear=False, directly_solvable=True,
        algebraic=("r0.minus.voltage", "r4.minus.voltage", "r8.minus.voltage"),
    ),
    "ring_modulator_of_parts": Verdict(
        "fully implicit DAE", 1, 15, is_linear=False, algebraic=("d1.drive", "d2.drive", "d3.drive", "d4.drive")
    ),
}  # fmt: skip
VERDICTS += [pytest.param(name, {}, verdict, id=name) for name, verdict in MACHINES.items()]
FIELDS = {
    "heat_rod": Verdict("explicit ODE", 0, 16, **ODE, is_linear=True),
    "burgers": Verdict("explicit ODE", 0, 24, **ODE, is_linear=False),
    "brusselator_2d": Verdict("explicit ODE", 0, 72, **ODE, is_linear=False),
    "transmission_line": Verdict("explicit ODE", 0, 31, **ODE, is_linear=True),
    "power_grid": Verdict(
        "semi-explicit DAE", 1, 8, structural_index=1, is_linear=False, directly_solvable=True,
        algebraic=tuple(f"load_angle[{k}]" for k in range(8)),
    ),
}  # fmt: skip
VERDICTS += [pytest.param(name, {}, verdict, id=name) for name, verdict in FIELDS.items()]


@pytest.mark.parametrize(("name", "options", "verdict"), VERDICTS)
def test_the_verdict_is_the_expected_one(name, options, verdict):
    known = catalogue.load(name, **options)
    inputs = {key: value for key, value in known.inputs.items() if key not in verdict.at}
    report = dd.analyse(known.model, at=verdict.at, inputs=inputs)
    found = (report.kind, report.index, report.degrees_of_freedom, report.solvable)
    assert found == (verdict.kind, verdict.index, verdict.freedom, verdict.solvable), str(report)
    assert report.is_dae == ("DAE" in verdict.kind)
    assert tuple(report.algebraic) == verdict.algebraic
    assert tuple(report.undetermined) == verdict.undetermined
    for key in ("structural_index", "is_linear", "directly_solvable"):
        if getattr(verdict, key) is not None:
            assert getattr(report, key) == getattr(verdict, key), key
    hidden = [text for text, _ in report.hidden_constraints]
    assert len(hidden) == len(verdict.hidden)
    assert all(any(part in text for text in hidden) for part in verdict.hidden), hidden
    assert all(any(part in text for text in report.warnings) for part in verdict.warnings), report.warnings
    if not verdict.warnings:
        assert report.warnings == []


def test_every_known_system_stands_in_the_list():
    # Problems of optimal control say their index alone, which every known system is asked for.
    assert {param.values[0] for param in VERDICTS} == set(catalogue.names()) - PROBLEMS


def test_every_example_says_where_it_comes_from():
    assert all(catalogue.load("small_dae", example=name).source for name in EXAMPLES)
    with pytest.raises(dd.InputError, match="There is no small system 'savin_41'"):
        catalogue.load("small_dae", example="savin_41")


def test_a_system_with_an_undetermined_motion_is_not_simulated():
    known = catalogue.load("small_dae", example="savin_22")
    with pytest.raises(
        dd.ModelError, match="the motion is not determined: x1, x2, force1, force2 stand in too few equations"
    ):
        dd.simulate(known.model, 1.0)
