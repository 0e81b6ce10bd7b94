"""Disguised models, one after the other, for as long as one likes: `make soak`, or `python tests/promises/soak.py`.

Ten minutes from a seed that the clock gives, unless said otherwise: `--seconds 60 --seed 1000`. What fails is told with
the line that makes it fail again; the status is 1 then.
"""

import argparse
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from disguise_checks import CHECKS, KINDS
from disguised_models import disguised


def failures(seed, options):
    """The checks that a model fails, with what they said."""
    found = []
    for check in CHECKS:
        try:
            check(disguised(seed, **options))
        except Exception as error:  # whatever it is, it belongs to the model
            found.append((check.__name__, error))
    return found


def main(arguments=None):
    """Run the checks; the number of models that failed."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=600.0, help="how long")
    reader.add_argument("--seed", type=int, default=None, help="the first seed")
    asked = reader.parse_args(arguments)
    seed = int(time.time()) if asked.seed is None else asked.seed
    end, done, failed = time.monotonic() + asked.seconds, 0, 0
    print(f"from seed {seed} for {asked.seconds:g} s")
    while time.monotonic() < end:
        options = KINDS[done % len(KINDS)]
        wrong = failures(seed, options)
        for name, error in wrong:
            told = ", ".join(f"{key}={value}" for key, value in options.items())
            print(f"\n{name}(disguised({seed}, {told})) fails:\n  {disguised(seed, **options)}")
            print("  " + "".join(traceback.format_exception_only(error)).strip().replace("\n", "\n  "), flush=True)
        done, failed = done + 1, failed + bool(wrong)
        seed += done % len(KINDS) == 0
    print(f"{done} models, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
