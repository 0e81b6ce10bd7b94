"""Machines from parts: seconds from Python objects to the first step, and of runs beside hand-written equations.

`python -m benchmarks.parts` prints the figures of one run in CPU seconds; `--quick` takes a tenth of the cells. Where
ngspice is installed it runs the same ladder at a comparable error.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import daedalus as dd
from daedalus import catalogue


def cpu(work):
    """What a call gives, and its CPU seconds."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def ladder(cells):
    """From Python objects to the first step of a ladder."""
    known, build = cpu(lambda: catalogue.load("rlc_ladder", cells=cells))
    system, joined = cpu(known.model.freeze)
    _, first = cpu(lambda: dd.simulate(known.model, (0.0, 1e-9), start=known.start, max_steps=1))
    print(f"ladder of {cells} cells: parts {build:.2f} s, joined {joined:.2f} s, first step {first:.2f} s,", end=" ")
    print(f"together {build + joined + first:.2f} s; {system.sizes['x']} states")
    return known


def runs_of_ladders(sizes):
    """Seconds of a run by the number of cells: linear."""
    for cells in sizes:
        known = catalogue.load("rlc_ladder", cells=cells)
        dd.simulate(known.model, known.span, start=known.start, max_steps=1)
        tr, seconds = cpu(lambda known=known: dd.simulate(known.model, known.span, start=known.start))
        print(f"  run of {cells} cells: {seconds:.3f} s, {tr.work.steps} steps, {1e6 * seconds / cells:.1f} µs a cell")


def by_ngspice(cells, end=1e-3):
    """Seconds of ngspice for the ladder; None where it is not installed."""
    if shutil.which("ngspice") is None:
        return None
    lines = ["ladder", "V1 n0 0 1"]
    for k in range(cells):
        lines += [f"R{k} n{k} m{k} 1", f"L{k} m{k} n{k + 1} 1m IC=0", f"C{k} n{k + 1} 0 1u IC=0"]
    lines += [".options reltol=1e-6", f".tran {end / 1000:g} {end:g} uic", ".end"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ladder.cir"
        file.write_text("\n".join(lines), encoding="utf-8")
        begin = time.perf_counter()
        subprocess.run(
            ["ngspice", "-b", "-r", str(Path(folder) / "out.raw"), str(file)], capture_output=True, check=False
        )
        return time.perf_counter() - begin


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


def beside_equations(pairs, rtol=1e-7):
    """Runs of systems of parts beside the same ones written by hand."""
    for written, parts, method in pairs:
        seconds = []
        for name in (written, parts):
            known = catalogue.load(name)
            span = catalogue.load(parts).span
            options = {"method": method, "rtol": rtol, "atol": 1e-10}
            dd.simulate(known.model, span, start=known.start, **options)
            seconds.append(
                min(dd.simulate(known.model, span, start=known.start, **options).work.seconds for _ in range(3))
            )
        hand, joined = seconds
        print(f"{parts} by {method}: {joined:.4f} s, written by hand {hand:.4f} s, ratio {joined / hand:.2f}")


def main(arguments):
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(arguments).quick
    catalogue.load("rlc_ladder", cells=2).model.freeze()
    ladder(200 if quick else 2000)
    runs_of_ladders([20, 40] if quick else [100, 200, 400])
    components(50 if quick else 500)
    pairs = [("transistor_amplifier", "amplifier_of_parts"), ("ring_modulator", "ring_modulator_of_parts")]
    beside_equations([(*pair, "radau5") for pair in pairs])
    theirs = None if quick else by_ngspice(400)
    if theirs is not None:
        print(f"ngspice, ladder of 400 cells: {theirs:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
