"""Machines from parts: seconds from Python objects to the first step, and of runs beside hand-written equations.

`python -m benchmarks.parts` prints the figures of one run in CPU seconds; `--quick` takes a tenth of the cells. Where
ngspice is installed it runs the same ladder, and seconds are compared at equal error.
"""

import argparse
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation import background


def cpu(work):
    """What a call gives, and its CPU seconds."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def calls_of(work):
    """How many Python functions a call enters, and those of CasADi: a count that no load of the machine changes."""
    count = 0
    gc.collect()  # what goes at last counts for those who made it

    def entered(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(entered)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def ladder(cells):
    """From Python objects to the first step of a ladder: the seconds."""
    known, build = cpu(lambda: catalogue.load("rlc_ladder", cells=cells))
    system, joined = cpu(known.model.freeze)
    _, first = cpu(lambda: dd.simulate(known.model, (0.0, 1e-9), start=known.start, max_steps=1))
    print(f"ladder of {cells} cells: parts {build:.2f} s, joined {joined:.2f} s, first step {first:.2f} s,", end=" ")
    print(f"together {build + joined + first:.2f} s; {system.sizes['x']} states")
    return build + joined + first


def ladders(cells):
    """The same for half as many cells: twice the cells take twice the seconds, and twice the calls."""
    half, whole = ladder(cells // 2), ladder(cells)
    few, many = (calls_of(lambda n=n: catalogue.load("rlc_ladder", cells=n).model.freeze()) for n in (50, 100))
    print(
        f"  twice the cells: {whole / half:.2f} times the seconds; {many / few:.2f} times the calls (50 and 100 cells)"
    )


def runs_of_ladders(sizes, rounds=20):
    """CPU seconds of runs of one length by the number of cells, the best of runs in turns: linear in the cells.

    Long functions are compiled in the background, and runs before that is done would tell of the interpreter.
    """
    ladders = [catalogue.load("rlc_ladder", cells=cells) for cells in sizes]

    def run(known):
        return dd.simulate(known.model, known.span, start=known.start)

    steps = [run(known).work.steps for known in ladders]
    background.finish()
    rows = [[cpu(lambda known=known: run(known))[1] for known in ladders] for _ in range(rounds)]
    best = [min(own) for own in zip(*rows)]
    for k, (cells, seconds) in enumerate(zip(sizes, best)):
        told = "" if k == 0 else f", {seconds / best[k - 1]:.2f} times those of {sizes[k - 1]}"
        print(f"  run of {cells} cells: {seconds:.4f} s, {steps[k]} steps, {1e6 * seconds / cells:.1f} µs a cell{told}")


def netlist(cells, end, reltol):
    """The ladder of the catalogue as a netlist, which prints the voltage of its last capacitor."""
    lines = ["ladder", "V1 n0 0 1"]
    for k in range(cells):
        lines += [f"R{k} n{k} m{k} 1", f"L{k} m{k} n{k + 1} 1m IC=0", f"C{k} n{k + 1} 0 1u IC=0"]
    lines += [f".options reltol={reltol:g} abstol=1e-15 vntol=1e-12 chgtol=1e-20 numdgt=12"]
    lines += [f".tran {end / 100:g} {end:g} uic", ".control", "run", "wrdata out.txt v(n1)", "quit", ".endc", ".end"]
    return "\n".join(lines)


def by_ngspice(cells, end, reltol):
    """The voltage of the first capacitor at the end by ngspice, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ladder.cir").write_text(netlist(cells, end, reltol), encoding="utf-8")
        begin = os.times()
        subprocess.run(["ngspice", "-b", "ladder.cir"], cwd=folder, capture_output=True, check=False)
        now = os.times()
        last = (Path(folder) / "out.txt").read_text(encoding="utf-8").split()[-1]
        return float(last), now.children_user + now.children_system - begin.children_user - begin.children_system


def beside_ngspice(cells, end=1e-3):
    """Seconds of runs of one ladder at equal error, each against a run at 1e-12: ours and those of ngspice.

    Both are run at several tolerances; seconds at the error of each run of ngspice are those of the quickest of ours
    that is at least as exact. What ngspice takes to begin and to read the netlist is not counted.
    """
    known = catalogue.load("rlc_ladder", cells=cells)

    def ours(rtol):
        options = {"start": known.start, "rtol": rtol, "atol": 1e-2 * rtol, "save_at": [end]}
        dd.simulate(known.model, end, **options)
        background.finish()
        runs = [cpu(lambda: dd.simulate(known.model, end, **options)) for _ in range(3)]
        return float(runs[0][0]["c0.voltage"][-1]), min(seconds for _, seconds in runs)

    exact = ours(1e-12)[0]
    runs = [(abs(value - exact), seconds) for value, seconds in map(ours, (1e-3, 1e-5, 1e-7, 1e-9))]
    if shutil.which("ngspice") is None:
        print("  ngspice is not installed")
        return
    reading = min(by_ngspice(cells, 1e-6 * end, 1e-3)[1] for _ in range(3))
    for reltol in (1e-3, 1e-4, 1e-5):
        theirs = [by_ngspice(cells, end, reltol) for _ in range(3)]
        error, seconds = abs(theirs[0][0] - exact), min(own for _, own in theirs) - reading
        better = [own for gap, own in runs if gap <= error]
        told = f"{min(better):.4f} s at most" if better else "no run of ours is as exact"
        print(f"  ladder of {cells} cells at an error of {error:.1e} V: {told}, ngspice {seconds:.2f} s")


def components(count):
    """Add, connect and analyse so many parts."""
    electrical = dd.components.electrical

    def build():
        m = dd.Model("many")
        source, ground = m.add(electrical.VoltageSource("source", voltage=1.0)), m.add(electrical.Ground("ground"))
        m.connect(source.minus, ground.pin)
        node = source.plus
        for k in range((count - 2) // 2):
            r = m.add(electrical.Resistor(f"r{k}", resistance=1.0))
            c = m.add(electrical.Capacitor(f"c{k}", capacitance=1e-6))
            m.connect(node, r.plus)
            m.connect(r.minus, c.plus)
            m.connect(c.minus, ground.pin)
            node = c.plus
        return dd.analyse(m)

    report, seconds = cpu(build)
    print(f"{count} components added, joined and analysed: {seconds:.2f} s; index {report.index}")


def beside_equations(pairs, rtol=1e-7, rounds=20):
    """Runs of systems of parts beside the same ones written by hand: CPU seconds, the best of runs in turns."""
    for written, parts, method in pairs:
        both = [catalogue.load(name) for name in (written, parts)]
        options = {"method": method, "rtol": rtol, "atol": 1e-10}

        def run(known, span=both[1].span, options=options):
            return dd.simulate(known.model, span, start=known.start, **options)

        for known in both:
            run(known)
        rows = [[cpu(lambda known=known: run(known))[1] for known in both] for _ in range(rounds)]
        hand, joined = (min(own) for own in zip(*rows))
        print(f"{parts} by {method}: {joined:.4f} s, written by hand {hand:.4f} s, ratio {joined / hand:.2f}")


def main(arguments):
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(arguments).quick
    catalogue.load("rlc_ladder", cells=2).model.freeze()
    ladders(200 if quick else 2000)
    runs_of_ladders([20, 40] if quick else [500, 1000, 2000])
    components(50 if quick else 500)
    pairs = [("transistor_amplifier", "amplifier_of_parts"), ("ring_modulator", "ring_modulator_of_parts")]
    beside_equations([(*pair, "radau5") for pair in pairs])
    beside_ngspice(20 if quick else 400)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
