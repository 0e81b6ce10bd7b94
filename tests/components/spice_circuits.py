"""Five netlists, what to look at, and how ngspice runs them."""

import shutil
import subprocess
from pathlib import Path

import numpy as np

# name: netlist without its .tran, node, end of the run, largest step for ngspice
CIRCUITS = {
    "filter": (
        """RC behind a pulse
V1 in 0 PULSE(0 5 0.1m 10u 20u 0.4m 1m)
R1 in out {rr}
C1 out 0 100n
.param rr=1k
""",
        "out",
        2e-3,
        2e-7,
    ),
    "resonance": (
        """series resonance with a coupled load
V1 in 0 SIN(0 1 1k)
R1 in a 10
L1 a b 1m
C1 b 0 1u
L2 c 0 4m
K1 L1 L2 0.9
R2 c 0 100
""",
        "b",
        2e-3,
        2e-7,
    ),
    "rectifier": (
        """half wave
V1 in 0 SIN(0 10 50)
D1 in out rect
C1 out 0 100u
R1 out 0 1k
.model rect D(IS=1e-12 N=1.5)
""",
        "out",
        4e-2,
        1e-6,
    ),
    "amplifier": (
        """common emitter
VCC vcc 0 12
VIN in 0 SIN(0 10m 1k)
C1 in b 10u
RB1 vcc b 47k
RB2 b 0 10k
RC vcc c 2.2k
RE e 0 470
CE e 0 100u
Q1 c b e small
.model small NPN(IS=1e-15 BF=150 BR=2)
""",
        "c",
        3e-3,
        5e-7,
    ),
    "inverter": (
        """CMOS inverter as a subcircuit, with a follower behind
.subckt inv in out vdd
MP out in vdd vdd pch W=20u L=1u
MN out in 0 0 nch W=10u L=1u
.ends
VDD vdd 0 5
VIN in 0 PULSE(0 5 10n 5n 5n 40n 100n)
X1 in mid vdd inv
CL mid 0 0.2p
E1 out 0 mid 0 2.0
RL out 0 1k
.model nch NMOS(LEVEL=1 VTO=0.8 KP=50u LAMBDA=0.02)
.model pch PMOS(LEVEL=1 VTO=-0.8 KP=25u LAMBDA=0.02)
""",
        "out",
        1.5e-7,
        2e-11,
    ),
}
POINTS = 41


def with_run(name):
    """The netlist with its .tran card."""
    text, _, end, step = CIRCUITS[name]
    return f"{text}.options gmin=1e-12\n.tran {end / 1000:g} {end:g} 0 {step:g}\n.end\n"


def by_ngspice(name, folder):
    """The voltage at the points by ngspice; None where it is not installed."""
    program = shutil.which("ngspice")
    if program is None:
        return None
    text, node, end, step = CIRCUITS[name]
    out = Path(folder) / "out.txt"
    control = (
        f".control\nset wr_singlescale\nset numdgt=15\noption reltol=1e-6 gmin=1e-12 abstol=1e-14 vntol=1e-9\n"
        f"tran {end / 1000:g} {end:g} 0 {step:g}\nwrdata {out} v({node})\nquit 0\n.endc\n"
    )
    file = Path(folder) / "circuit.cir"
    file.write_text(text + control + ".end\n", encoding="utf-8")
    subprocess.run([program, "-b", str(file)], check=True, capture_output=True, timeout=600)
    table = np.loadtxt(out)
    return np.interp(np.linspace(0.0, end, POINTS), table[:, 0], table[:, 1])
