"""Runs rooms of the test suite on the core that `make sanitize` builds, and keeps what the sanitizers report.

    python watch.py build/sanitize/python g++ tests/core tests/simulation/result ...

Nothing is captured: a report would go with the captured text when it ends the process. What a room says is in
`logs/ROOM.log` of the build folder, where the line before a report names the test. A room that a report ended is run
again without that test. Built without optimisation the core rounds in another way, so that a digit which a test misses
here is told and is no fault; a report is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

REPORT = re.compile(r"ERROR: AddressSanitizer|runtime error:|AddressSanitizer:DEADLYSIGNAL|Sanitizer CHECK failed")
RAN = re.compile(r"^(tests/\S+::\S+)", re.MULTILINE)
# One builds a core of its own, the other one fills the memory that a sanitizer needs.
LEFT_OUT = (
    "tests/core/test_without_python.py",
    "tests/core/test_stops.py::test_a_machine_without_memory_leaves_what_was_found",
)
# Of one room so many reports are looked for.
MOST_REPORTS = 5


def environment(build: Path, compiler: str) -> dict[str, str]:
    """Where the watched core is, and the sanitizers' runtime before all other libraries."""

    def library(name: str) -> str:
        asked = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        return asked.stdout.strip()

    (core,) = build.glob("_core*.so")
    return {
        **os.environ,
        "LD_PRELOAD": f"{build / 'shallow_dlopen.so'} {library('libasan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1:exitcode=86",
        "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=86",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(Path(__file__).parent.resolve()),
        "DAEDALUS_WATCHED_CORE": str(core),
        "OPENBLAS_NUM_THREADS": "1",
    }


def watched(room: str, build: Path, variables: dict[str, str]) -> tuple[list[str], list[str]]:
    """The tests of a room that a sanitizer reported of, and those that failed for another reason."""
    reported: list[str] = []
    log = build / "logs" / (room.strip("/").replace("/", "-") + ".log")
    while True:
        left_out = [f"--deselect={test}" for test in (*LEFT_OUT, *reported)]
        command = [sys.executable, "-m", "pytest", "-vv", "-s", "-p", "no:faulthandler", "-p", "no:cacheprovider", room]
        with log.open("a" if reported else "w") as file:
            done = subprocess.run([*command, *left_out], env=variables, stdout=file, stderr=subprocess.STDOUT)
        text = log.read_text(errors="replace").rpartition("test session starts")[2]
        failed = sorted(set(re.findall(r"^(?:FAILED|ERROR) (tests/\S+)", text, re.MULTILINE)))
        # 5: nothing of it is asked for. Processes that a test starts end by themselves, and the test fails.
        if done.returncode in (0, 1, 5):
            return reported + [f"{room} (in a process of its own)"] * bool(REPORT.search(text)), failed
        ran = RAN.findall(text)
        test = ran[-1] if ran else room
        again = test in reported or not ran
        reported.append(test if REPORT.search(text) else f"{test} (ended with {done.returncode})")
        if again or len(reported) >= MOST_REPORTS or not REPORT.search(text):
            return reported, failed


def main(folder: str, compiler: str, *rooms: str) -> int:
    """1 where a sanitizer reported something, 0 otherwise."""
    build = Path(folder).resolve()
    (build / "logs").mkdir(exist_ok=True)
    variables, found, missed = environment(build, compiler), [], []
    for room in rooms:
        reported, failed = watched(room, build, variables)
        found += reported
        missed += failed
        print(f"{room}: {len(reported)} reports, {len(failed)} other failures", flush=True)
    for title, tests in (("other failures, by rounding or not", missed), ("REPORTED", found)):
        print(*([f"{title}:"] + [f"  {test}" for test in tests] if tests else []), sep="\n")
    print(f"logs are in {build / 'logs'}")
    if not found:
        print("no fault of memory and no undefined behaviour was found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
