"""The inside of a measuring process: one measurement, pinned to one core, its records written as they come.

Called as `python -m benchmarks.worker MEASUREMENT OPTIONS FILE`; the harness reads the file when the process has ended.
"""

import importlib
import json
import os
import sys


def pin() -> None:
    """Stay on one core, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(measurement: str, options: str, path: str) -> None:
    """Write one line of JSON for each record; a measurement that fails ends with its reason."""
    pin()
    with open(path, "w", encoding="utf-8") as file:
        try:
            module = importlib.import_module(f"benchmarks.measurements.{measurement}")
            for record in module.measure(json.loads(options)):
                file.write(json.dumps(record) + "\n")
                file.flush()
        except Exception as failure:
            file.write(json.dumps({"failure": one_line(failure)}) + "\n")


def one_line(failure: BaseException) -> str:
    """An exception in one line: its kind and the end of its text, where tools put the reason."""
    text = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {text[-1].strip()[-200:]}" if text else type(failure).__name__


if __name__ == "__main__":
    main(*sys.argv[1:])
