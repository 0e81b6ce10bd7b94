"""Circuits beside ngspice: CPU seconds of runs at equal error, where ngspice is installed.

`python -m benchmarks.circuits` runs a ring oscillator of 11 inverters, an operational amplifier of 24 transistors,
adders of 36 and 99 NAND gates and a three-phase rectifier bridge. Errors are those of one node over the whole run,
against a run of Daedalus at 1e-10. Seconds are those of runs from the operating point that keep all their steps: ours
of compiled models, by `auto` and by the fastest of `METHODS`, ngspice's without what it takes to begin, to read the
netlist, to find the operating point and to write its numbers. (A run over a short span cannot stand for that: it takes
as many steps as the whole one.) Neither side is charged for reading its run between steps, where errors are looked at.
"""

import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import daedalus as dd

MOS = """.model nm NMOS(VTO=0.8 KP=60u GAMMA=0.4 LAMBDA=0.02 CGSO=3e-10 CGDO=3e-10)
.model pm PMOS(VTO=-0.8 KP=25u GAMMA=0.4 LAMBDA=0.03 CGSO=3e-10 CGDO=3e-10)
"""
METHODS = ("auto", "radau5", "rodas5p", "bdf")
TOLERANCES = (1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
REPEATS = 3
NETLISTS = Path(__file__).parent.parent / "tests" / "components" / "netlists"


def ring(count=11):
    """A ring oscillator; watched node, netlist, end and step."""
    lines = ["ring oscillator", "VDD vdd 0 5"]
    for k in range(count):
        at, to = f"n{k}", f"n{(k + 1) % count}"
        lines += [f"MP{k} {to} {at} vdd vdd pm W=20u L=2u", f"MN{k} {to} {at} 0 0 nm W=10u L=2u", f"C{k} {to} 0 50f"]
    lines += [".ic V(n0)=0", MOS]
    return "n0", "\n".join(lines), 40e-9


def adder(bits=4):
    """A ripple adder of NAND gates: 1111 and a carry that comes in."""
    lines = ["adder", "VDD vdd 0 5", "VC c0 0 PULSE(0 5 5n 1n 1n 60n 120n)", "VH one 0 5", "VL zero 0 0"]
    lines += [".subckt nand a b o vdd", "M1 o a vdd vdd pm W=10u L=2u", "M2 o b vdd vdd pm W=10u L=2u",
              "M3 o a x 0 nm W=10u L=2u", "M4 x b 0 0 nm W=10u L=2u", "C1 o 0 50f", "C2 x 0 10f", ".ends"]  # fmt: skip
    for k in range(bits):
        wires = [("one", "zero", "p"), ("one", "p", "q"), ("zero", "p", "r"), ("q", "r", "s"), ("s", "c", "t"),
                 ("s", "t", "u"), ("c", "t", "v"), ("u", "v", "sum"), ("t", "p", "d")]  # fmt: skip
        for j, gate in enumerate(wires):
            a, b, o = (
                w if w in ("one", "zero") else f"c{k}" if w == "c" else f"c{k + 1}" if w == "d" else f"{w}{k}"
                for w in gate
            )
            lines.append(f"X{k}{j} {a} {b} {o} vdd nand")
    return f"c{bits}", "\n".join([*lines, MOS]), 100e-9


def stored(name, end=None):
    """A circuit of the corpus of the tests."""
    text = (NETLISTS / f"{name}.cir").read_text(encoding="utf-8")
    node = re.search(r"^\* watch (\w+)", text, re.MULTILINE)[1]
    return node, re.sub(r"^\.(tran.*|end)$", "", text, flags=re.MULTILINE), end


def bridge():
    """Six diodes with capacitances on three phases, a smoothing coil."""
    lines = ["three-phase bridge"]
    for k, phase in enumerate("abc"):
        lines += [
            f"V{phase} {phase} 0 SIN(0 325 50 0 0 {-120 * k})",
            f"D{phase}1 {phase} p dm",
            f"D{phase}2 n {phase} dm",
        ]
    lines += ["L1 p q 50m", "R1 q n 10", "R2 n 0 1meg", ".model dm D(IS=1e-12 RS=10m N=1.2 CJO=100p)"]
    return "q", "\n".join(lines), 0.06


def by_ngspice(text, node, end, reltol, times):
    """The watched voltage at times by ngspice, and its CPU seconds beyond the operating point; none where it stops."""
    commands = f"option reltol={reltol:g} abstol=1e-13 vntol=1e-8"
    step = f"{end / 500:g}"
    begins, runs = f"{commands}\nop", f"{commands}\ntran {step} {end:g} 0 {step}"
    with tempfile.TemporaryDirectory() as folder:
        seconds = {}
        for name in (begins, runs, f"{runs}\nwrdata out.txt v({node})"):
            deck = f"{text}\n.control\nset numdgt=12\n{name}\nquit 0\n.endc\n.end\n"
            Path(folder, "circuit.cir").write_text(deck, encoding="utf-8")
            seconds[name] = min(cpu_seconds(folder) for _ in range(REPEATS))
        out = Path(folder, "out.txt")
        if not out.exists():
            return None, 0.0
        table = np.loadtxt(out)
    if table[-1, 0] < 0.999 * end:
        return None, 0.0
    return np.interp(times, table[:, 0], table[:, 1]), max(seconds[runs] - seconds[begins], 0.0)


def cpu_seconds(folder):
    """User and system seconds of one run of ngspice."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["ngspice", "-b", "circuit.cir"], cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compare(name, node, text, end):
    """Print errors and seconds of both at several tolerances."""
    times = np.linspace(0.0, end, 201)
    m = dd.components.from_spice(f"{text}\n.tran {end / 500:g} {end:g}\n")

    def ours(rtol, method="auto"):
        tr = dd.simulate(m, end, rtol=rtol, method=method)
        if not tr.success:
            raise RuntimeError(f"{name}: {tr.stop_reason}")
        return tr

    def watched(tr):
        return np.array(tr.at(times)[f"v_{node}"])

    exact = watched(ours(1e-10))
    size, known = np.abs(exact).max(), []
    for method in METHODS:
        for rtol in TOLERANCES:
            found, seconds = watched(ours(rtol, method)), []
            for _ in range(REPEATS):
                begin = time.thread_time()  # what compiles in the background does not count
                ours(rtol, method)
                seconds.append(time.thread_time() - begin)
            known.append((np.sqrt(np.mean((found - exact) ** 2)) / size, min(seconds), method))
    if shutil.which("ngspice") is None:
        print(f"{name}: {', '.join(f'{s:.4f} s at {e:.1e} ({k})' for e, s, k in known)}; ngspice is not installed")
        return
    for reltol in (1e-2, 1e-3, 1e-4, 1e-5):
        theirs, seconds = by_ngspice(text, node, end, reltol, times)
        if theirs is None:
            print(f"{name}: ngspice stops at reltol {reltol:g}")
            continue
        error = np.sqrt(np.mean((theirs - exact) ** 2)) / size
        none = (float("nan"), "none")
        chosen = min(((s, k) for e, s, k in known if e <= error and k == "auto"), default=none)
        best = min(((s, k) for e, s, k in known if e <= error), default=none)
        print(
            f"{name} at an error of {error:.1e}: auto {chosen[0]:.4f} s, {best[1]} {best[0]:.4f} s, "
            f"ngspice {seconds:.4f} s: {seconds / best[0]:.1f} times as fast",
            flush=True,
        )


def main():
    compare("ring oscillator of 11 inverters", *ring())
    node, text, _ = stored("opamp_741")
    compare("operational amplifier 741", node, text, 2e-4)
    compare("4-bit adder of 36 gates", *adder())
    compare("adder of 99 gates", *adder(11))
    compare("three-phase bridge", *bridge())


if __name__ == "__main__":
    main()
