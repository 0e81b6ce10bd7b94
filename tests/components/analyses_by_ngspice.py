"""Run .op, .dc, .ac, .tf, .noise and .meas by ngspice and store its numbers.

`python -m tests.components.analyses_by_ngspice` writes them; ngspice measures at its own points, with lines between.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.components.by_ngspice import OPTIONS, run, version, watched

FOLDER = Path(__file__).parent / "analyses"
NUMBERS = Path(__file__).parent / "analyses_numbers.json"


def netlist(name):
    return (FOLDER / f"{name}.cir").read_text(encoding="utf-8")


def cards(text, word):
    return re.findall(rf"^\.{word} +(.+)$", text, re.MULTILINE)


def session(text, commands, folder):
    bare = re.sub(r"^\.(op|dc|ac|tf|noise|tran|meas|end)\b.*$", "", text, flags=re.MULTILINE)
    options = " ".join(f"{name}={value:g}" for name, value in OPTIONS.items())
    lines = "\n".join(["set numdgt=12", "set wr_singlescale", f"option {options}", *commands, "quit 0"])
    return run(f"{bare}\n.control\n{lines}\n.endc\n.end\n", folder)


def table(folder):
    file = Path(folder) / "out.txt"
    rows = np.loadtxt(file)
    file.unlink()
    return np.atleast_2d(rows)


def printed(told):
    return {k.lower(): float(v) for k, v in re.findall(r"^([\w#().,]+) *= +([-+.e\d]+)", told, re.MULTILINE)}


def numbers(text, folder):
    out, node = Path(folder) / "out.txt", watched(text)
    found = {}
    if re.search(r"^\.op$", text, re.MULTILINE):
        known = printed(session(text, ["op", "print all"], folder))
        found["op"] = {name: value for name, value in known.items() if "#" not in name}
    for card in cards(text, "dc"):
        session(text, [f"dc {card}", f"wrdata {out} v({node})"], folder)
        found["dc"] = table(folder)[:, 1].tolist()
    for card in cards(text, "ac"):
        session(text, [f"ac {card}", f"wrdata {out} v({node})"], folder)
        rows = table(folder)
        found["ac"] = {"frequency": rows[:, 0].tolist(), "real": rows[:, 1].tolist(), "imag": rows[:, 2].tolist()}
    for card in cards(text, "tf"):
        found["tf"] = printed(session(text, [f"tf {card}", "print all"], folder))
    for card in cards(text, "noise"):
        told = session(text, [f"noise {card}", "setplot noise1", f"wrdata {out} onoise_spectrum inoise_spectrum",
                              "setplot noise2", "print onoise_total"], folder)  # fmt: skip
        rows = table(folder)
        found["noise"] = {"onoise": rows[:, 1].tolist(), "inoise": rows[:, 2].tolist(), **printed(told)}
    measures = cards(text, "meas")
    if measures:
        plain = [card for card in measures if "PARAM" not in card]
        first = plain[0].split()[0]
        analysis = f"{first} {cards(text, first)[0]}"
        found["measured"] = printed(session(text, [analysis, *(f"meas {card}" for card in plain)], folder))
        names = {card.split()[1].lower() for card in plain}
        found["measured"] = {name: value for name, value in found["measured"].items() if name in names}
    return found


def store(names):
    known = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"circuits": {}}
    known |= {"version": version(), "options": OPTIONS}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            known["circuits"][name] = numbers(netlist(name), folder)
            print(name, {k: len(v) for k, v in known["circuits"][name].items()}, flush=True)
    NUMBERS.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__" and shutil.which("ngspice"):
    store(sys.argv[1:] or sorted(file.stem for file in FOLDER.glob("*.cir")))
