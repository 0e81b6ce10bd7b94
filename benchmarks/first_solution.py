"""A whole program, from the start of the process to the first solved trajectory; the harness times it from outside.

Called as `python -m benchmarks.first_solution PROBLEM TOOL METHOD RTOL`; ends with code 1 when the answer is wrong.
"""

import sys

from benchmarks import problems, tools


def main(problem_name: str, tool_name: str, method: str, rtol: str) -> int:
    """Solve once and check the answer roughly."""
    problem, tool = problems.load(problem_name), tools.load(tool_name)
    error = problem.error(tool.prepare(problem, method, float(rtol), float(rtol))())
    if not error < 1e-2:
        print(f"wrong answer: error {error:.1e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
