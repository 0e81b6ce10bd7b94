"""Run netlists by ngspice and store its numbers: `python -m tests.components.by_ngspice` writes them."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "netlists"
NUMBERS = Path(__file__).parent / "netlist_numbers.json"
OPTIONS = {"reltol": 1e-6, "abstol": 1e-14, "vntol": 1e-9, "gmin": 1e-12, "tnom": 27}
POINTS = 61
# They differ in phase: compared by period and amplitude.
OSCILLATORS = ("ring_oscillator", "wien")


def netlist(name):
    return (FOLDER / f"{name}.cir").read_text(encoding="utf-8")


def watched(text):
    """The node that is compared over time."""
    return re.search(r"^\* watch (\w+)", text, re.MULTILINE)[1]


def span(text):
    """Step, end and largest step of .tran in seconds."""
    from daedalus.components.spice.netlist_text import plain_number

    words = re.search(r"^\.tran (.+)$", text, re.MULTILINE)[1].split()
    return [plain_number(word) for word in words if word != "uic"], "uic" in words


def sample_times(text):
    (_, end, *_), _ = span(text)
    return np.linspace(0.0, end, POINTS)


def control(text, commands):
    options = " ".join(f"{name}={value:g}" for name, value in OPTIONS.items())
    bare = re.sub(r"^\.(tran.*|end)$", "", text, flags=re.MULTILINE)
    return f"{bare}\n.control\nset numdgt=15\nset wr_singlescale\noption {options}\n{commands}\nquit 0\n.endc\n.end\n"


def run(text, folder):
    file = Path(folder) / "circuit.cir"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(["ngspice", "-b", str(file)], capture_output=True, timeout=300, text=True)
    return done.stdout + done.stderr


def operating_point(text, folder):
    """Voltages of all nodes at rest."""
    told = run(control(text, "op\nprint all"), folder)
    found = re.findall(r"^([\w#.]+) = ([-+.e\d]+)\s*$", told, re.MULTILINE)
    return {name: float(value) for name, value in found if "#" not in name}


def rhythm(times, values):
    """Mean period and amplitude over the second half of a run: between upward passes through the middle."""
    late = times >= times[-1] / 2
    times, values = times[late], values[late]
    low, high = values.min(), values.max()
    above = values - (low + high) / 2
    up = np.flatnonzero((above[:-1] < 0) & (above[1:] >= 0))
    passes = times[up] - above[up] * (times[up + 1] - times[up]) / (above[up + 1] - above[up])
    return float((passes[-1] - passes[0]) / (len(passes) - 1)), float(high - low)


def waveform(text, folder, finer=1):
    """The watched voltage at the sample times; `finer` divides the largest step."""
    table = curve(text, folder, finer)
    return np.interp(sample_times(text), table[:, 0], table[:, 1])


def curve(text, folder, finer=1):
    """Times and the watched voltage, as they were computed."""
    (step, end, begin, largest), starts_given = span(text)
    node, out = watched(text), Path(folder) / "out.txt"
    uic = " uic" if starts_given else ""
    told = run(
        control(text, f"tran {step:g} {end:g} {begin:g} {largest / finer:g}{uic}\nwrdata {out} v({node})"), folder
    )
    if not out.exists():
        raise RuntimeError(told[-400:])
    table = np.loadtxt(out)
    out.unlink()
    return table


def version():
    told = subprocess.run(["ngspice", "--version"], capture_output=True, text=True).stdout
    return re.search(r"ngspice-(\S+)", told)[1]


def store(names):
    known = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"circuits": {}}
    known |= {"version": version(), "options": OPTIONS}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            text = netlist(name)
            entry = {"operating_point": operating_point(text, folder)}
            coarse, fine = waveform(text, folder), waveform(text, folder, 2)
            entry["waveform"] = [float(f"{v:.9g}") for v in fine]
            entry["difference"] = float(f"{np.abs(fine - coarse).max():.3g}")
            if name in OSCILLATORS:
                coarse, fine = (rhythm(*curve(text, folder, finer).T) for finer in (1, 2))
                entry["period"], entry["amplitude"] = fine
                entry["rhythm_difference"] = [abs(a / b - 1) for a, b in zip(coarse, fine)]
            known["circuits"][name] = entry
            print(name, len(entry["operating_point"]), entry["difference"], flush=True)
            NUMBERS.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__" and shutil.which("ngspice"):
    store(sys.argv[1:] or sorted(file.stem for file in FOLDER.glob("*.cir")))
