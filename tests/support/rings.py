"""The rings of the test run: what `make test` runs, and what waits for `make test-all` (marker `wide`).

A product of methods and cases runs `auto` and `radau5` by default; the other methods are `wide`. A product that has
neither of the two keeps its first and its last method. Where every method has cases of its own, all cases are one
product. Of several tolerances `auto`, or else the first method, runs all and the others the first. Tests of the methods
themselves run all of them, always. Of families whose cases are alike and long every second or third runs by default. A
test over the known systems leaves the largest of them to the wide ring, unless it
shows that their reference is reached; that is shown at the first tolerance.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

# The method users get, and the one that fits most systems.
USUAL_METHODS = ("auto", "radau5")
# Folders whose tests are about the methods themselves, one by one.
ABOUT_METHODS = ("tests/core", "tests/integrators")
# Known systems that take seconds to prepare or to run.
LARGE_SYSTEMS = {
    *("two_bit_adder", "wheelset", "bridge_rectifier", "water_tube", "nand_gate", "fekete", "medical_akzo", "beam"),
    *("emep", "andrews", "flexible_slider_crank", "ring_modulator", "ring_modulator_of_parts", "amplifier_of_parts"),
}
# Where they run by default too, but for the two circuits of transistors that take many seconds.
MAIN_PROMISE, LARGEST = "tests/promises/test_known_systems.py", {"two_bit_adder", "nand_gate"}
# Parameters of tests that are tolerances.
TOLERANCES = ("rtol", "tolerance")
# Families of many cases of one kind, each with a fair share of a second: every how many of them one runs by default.
ONE_OF = {
    2: {
        *("test_variational_discrete_adjoint_and_differences_agree", "test_published_optima_are_reached"),
        *("test_textbook_optima_are_reached", "test_every_step_is_checked_and_written"),
        *("test_every_step_of_the_whole_derivation_is_checked", "test_all_ways_find_the_same_optimum"),
        *("test_a_picture_nobody_specified_has_few_panels_that_do_not_collide", "test_random_nonlinear_models"),
        *("test_nonlinear_models_have_the_covariance_that_is_integrated", "test_shooting_does_not_hang_on_its_guess"),
        *("test_a_force_that_turns_inside_a_phase", "test_a_load_that_is_dropped_on_the_way"),
        *("test_four_ways_to_the_derivative_of_rosenbrock_steps", "test_forward_and_backward_agree_with_differences"),
        *("test_they_slide_where_the_run_does", "test_what_is_seen_is_what_the_run_has"),
        *("test_across_a_reset_with_a_promoted_variable", "test_all_kinds_of_conditions_form_a_chain"),
        *("test_terms_that_a_parameter_of_zero_hides_come_back", "test_integrals_in_the_cost_are_costs_along_the_way"),
        *("test_bounded_linear_controllers_cost_what_whole_searches_do", "test_a_rocket_in_three_phases"),
        *("test_the_pendulum_hangs_at_a_centre_or_focus_and_stands_on_a_saddle", "test_the_optimum_is_reached"),
        *("test_it_ends_on_the_surface_or_stops_in_words", "test_a_relay_has_its_closed_form"),
        *("test_they_agree_for_implicit_methods_too", "test_first_order_is_that_of_the_angle"),
        *("test_what_is_trusted_together_is_within_the_error", "test_an_impulse_is_differentiated"),
        *("test_steps_are_differentiated_on_one_side_of_a_corner_each", "test_buckling_of_an_arm_of_index_3"),
        *("test_gallery_scripts_run", "test_a_snapshot_gives_what_its_model_gives", "test_urdf_as_pinocchio"),
        *("test_no_run_is_on_another_branch_without_a_word", "test_waveforms_are_those_of_ngspice"),
        *("test_operating_points_are_those_of_ngspice", "test_every_known_system_has_the_index_it_says"),
        *("test_index_and_freedom_agree", "test_the_verdict_is_the_expected_one", "test_reactions_are_internal_forces"),
        *("test_calls_and_threads_agree_to_the_last_bit", "test_energy_is_kept_through_every_commutation"),
        *("test_bounds_hold_everywhere_in_a_stretch", "test_one_diode_at_any_voltage"),
        *("test_a_level_that_a_delayed_signal_passes_at_its_corner_is_told_once",),
        *("test_an_interrupt_is_heard_while_lanes_and_threads_are_at_work",),
    },
    3: {
        *("test_signals_that_jump_anywhere", "test_loops_of_a_cart_with_a_pole_cost_what_whole_searches_do"),
        *("test_a_moment_belongs_to_one_side_however_it_is_asked_for", "test_orders", "test_no_known_system_has_one"),
        *("test_runs_are_the_same_whatever_equations_are_called", "test_judgements_are_the_same"),
        *("test_half_a_turn_is_no_assembly", "test_every_known_system_runs_with_no_further_argument"),
        *("test_random_networks", "test_ends_on_spheres_are_reached_whichever_elements_are_given"),
        *("test_chains_at_index_3_begin_and_go_on_at_tight_tolerances", "test_a_relay_in_disguise"),
        *("test_surfaces_are_left_for_good", "test_a_result_travels"),
    },
}
# Random examples of a law: those of a run that people wait for.
USUAL_EXAMPLES = 12

_everything = False


def run_everything(chosen: bool) -> None:
    """Decide, before tests are imported, whether laws get all their examples."""
    global _everything
    _everything = chosen


def examples(count: int) -> int:
    """How many random examples a law gets: `count` in `make test-all`, at most twelve in `make test`."""
    return count if _everything else min(count, USUAL_EXAMPLES)


def mark_wide_products(items: Iterable[pytest.Item], root: Path) -> None:
    """Mark the members of products of methods, known systems and cases that `make test` leaves out."""
    products: dict[tuple, dict[tuple, list[tuple[str, pytest.Item]]]] = defaultdict(lambda: defaultdict(list))
    tolerances: dict[tuple, list[tuple[str, float, pytest.Item]]] = defaultdict(list)
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None:
            continue
        method, file = call.params.get("method"), item.path.relative_to(root).as_posix()
        words = {value for value in call.params.values() if isinstance(value, str)}
        large = bool(words & LARGE_SYSTEMS)
        if words & LARGEST or (large and not file.startswith(MAIN_PROMISE)):
            item.add_marker(pytest.mark.wide)
        if not isinstance(method, str) or file.startswith(ABOUT_METHODS):
            continue
        others = {name: _key(value) for name, value in sorted(call.params.items()) if name != "method"}
        products[item.path, item.originalname][tuple(others.items())].append((method, item))
        tolerance = next((others.pop(name) for name in TOLERANCES if name in others), None)
        if isinstance(tolerance, float):
            tolerances[item.path, item.originalname, large, tuple(others.items())].append((method, tolerance, item))
    for cases in products.values():
        one_each = all(len(members) == 1 for members in cases.values())
        for members in [[only for (only,) in cases.values()]] if one_each else cases.values():
            usual = [method for method, _ in members if method in USUAL_METHODS] or [members[0][0], members[-1][0]]
            for method, item in members:
                if method not in usual:
                    item.add_marker(pytest.mark.wide)
    for (_, _, large, _), runs in tolerances.items():
        first_method, first, _ = runs[0]
        leading = USUAL_METHODS[0] if any(method == USUAL_METHODS[0] for method, _, _ in runs) else first_method
        for method, tolerance, item in runs:
            if tolerance != first and (large or method != leading):
                item.add_marker(pytest.mark.wide)
    _mark_long_families(items)


def _mark_long_families(items: Iterable[pytest.Item]) -> None:
    families: dict[tuple, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if getattr(item, "callspec", None) is not None and item.get_closest_marker("wide") is None:
            families[item.path, item.originalname].append(item)
    every = {name: share for share, names in ONE_OF.items() for name in names}
    for (_, name), members in families.items():
        for k, item in enumerate(members):
            if k % every.get(name, 1):
                item.add_marker(pytest.mark.wide)


def _key(value: object) -> object:
    """A value to tell cases apart by: itself where it is plain, else its identity."""
    return value if isinstance(value, str | int | float | bool | None) else id(value)
