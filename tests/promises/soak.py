"""Random members of every family, one after the other, for as long as one likes: `make soak`, or this file as a script.

Ten minutes from a seed that the clock gives, unless said otherwise: `--seconds 60 --seed 1000 --family frictions`. Each
member that fails is printed with the command that makes it fail again; the status is 1 then.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from disguise_checks import CHECKS, KINDS
from disguised_models import disguised
from tests.analysis.structure.test_joined_index import test_random_networks_against_ranks
from tests.optimisation.test_controllers_by_cost import (
    test_bounded_linear_controllers_cost_what_whole_searches_do,
    test_linear_quadratic_controllers_are_the_regulator,
)
from tests.simulation.contacts.test_friction_chains import assert_moves_as_from_mode_to_mode
from tests.simulation.start.test_joined_runs import joined_differ
from tests.simulation.test_values_between_steps import Driven

Check = Callable[[int], None]


def of_disguised_models() -> Iterable[Check]:
    """Equations in disguise against the ODE behind them, by every verb."""
    for options in KINDS:
        for check in CHECKS:

            def run(seed, check=check, options=options):
                check(disguised(seed, **options))

            yield run


def frictions(seed):
    """One to four dry frictions, written and run in a random way, against their motion from mode to mode."""
    assert_moves_as_from_mode_to_mode(seed)


def machines(seed):
    """State machines joined at their instants against one run."""
    assert joined_differ(seed, 2) == []


def values_between_steps(seed):
    """Stiff systems with known solutions, looked at between the steps."""
    for method in ("radau5", "radau9", "bdf", "rodas5p"):
        Driven(seed).check(method, 1e-6)


FAMILIES: dict[str, tuple[Check, ...]] = {
    "disguised": tuple(of_disguised_models()),
    "frictions": (frictions,),
    "machines": (machines,),
    "controllers": (
        test_linear_quadratic_controllers_are_the_regulator,
        test_bounded_linear_controllers_cost_what_whole_searches_do,
    ),
    "networks": (test_random_networks_against_ranks,),
    "between": (values_between_steps,),
}


def failures(family, seed):
    """What the checks of a family say of the member of a seed."""
    found = []
    for check in FAMILIES[family]:
        try:
            check(seed)
        except Exception as error:  # whatever it is, it belongs to the member
            found.append("".join(traceback.format_exception_only(error)).strip())
    return found


def main(arguments=None):
    """Run the checks; the number of members that failed."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=600.0, help="how long")
    reader.add_argument("--seed", type=int, default=None, help="the first seed")
    reader.add_argument("--family", choices=FAMILIES, default=None, help="one family alone")
    asked = reader.parse_args(arguments)
    seed = int(time.time()) if asked.seed is None else asked.seed
    families = list(FAMILIES) if asked.family is None else [asked.family]
    end, done, failed = time.monotonic() + asked.seconds, 0, 0
    print(f"from seed {seed} for {asked.seconds:g} s")
    while time.monotonic() < end:
        family = families[done % len(families)]
        wrong = failures(family, seed)
        for text in wrong:
            print(f"\npython tests/promises/soak.py --family {family} --seed {seed} --seconds 1\n  {text}", flush=True)
        done, failed = done + 1, failed + bool(wrong)
        seed += done % len(families) == 0
    print(f"{done} members, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
