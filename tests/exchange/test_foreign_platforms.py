"""Runtimes for other platforms (`make runtimes`): what they export and need, and runs of them in emulators."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.fmus.library_structure import structure

import daedalus as dd
from daedalus.exchange.fmu import libraries
from daedalus.exchange.fmu.model_description import PLATFORMS, own_platform
from daedalus.exchange.fmu.prebuilt_model import runtimes

THERE = runtimes()
DRIVER = Path(__file__).parent / "fmus" / "foreign_driver.c"
# The loader, the C library and its mathematics; on Windows whole libraries are named.
PLAIN = re.compile(
    r"_*(mem\w+|str\w+|f(open|close|read|seek|tell)|snprintf|malloc|free|dladdr|dyld_stub_binder|cxa_finalize"
    r"|gmon_start__|stack_chk_\w+|ITM_\w+|a?(sin|cos|tan)h?|atan2|exp2?|expm1|log|log1p|pow|erf|hypot|f(mod|max|min)|remainder|floor|ceil|copysign|sqrt|bzero)"
)
WINDOWS = re.compile(r"kernel32\.dll|msvcrt\.dll|ucrtbase\.dll|api-ms-win-crt-\w+-l1-1-0\.dll")
EMULATORS = {
    "x86_64-linux": ("x86_64-linux-gnu", []),
    "aarch64-linux": ("aarch64-linux-gnu", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
    "x86_64-windows": ("x86_64-windows-gnu", ["wine"]),
}


def interface():
    """The functions of FMI that the source of the runtime exports."""
    text = (Path(libraries.__file__).with_name("runtime.c")).read_text()
    types = re.findall(r"^NONE\([\w *]+, (\w+)\)", text, re.M)
    plain = set(re.findall(r"^EXPORT [\w *]*?(fmi[23]\w+)\(", text, re.M))
    return plain | {f"fmi3{verb}{word}" for verb in ("Get", "Set") for word in types}


@pytest.mark.parametrize("name", sorted(THERE))
def test_every_runtime_exports_the_interface_and_needs_the_c_library_alone(name):
    machine, exports, imports = structure(THERE[name].read_bytes())
    wanted = interface()
    assert len(wanted) > 100
    assert machine == name.split("-")[0]
    assert wanted <= exports
    assert not {word for word in exports - wanted if word.startswith(("fmi", "dd_"))}
    allowed = WINDOWS if name.endswith("windows") else PLAIN
    assert not {word for word in imports if not allowed.fullmatch(word.split("@")[0])}


def swinging():
    """A pendulum of index 3 beside a sampled sum."""
    m = dd.Model("swinging")
    q = m.coordinate("q", 2, start=[0.6, -0.8])
    v = m.rate(q)
    m.kinetic_energy(0.5 * (v[0] ** 2 + v[1] ** 2))
    m.potential_energy(9.81 * q[1] + q[0] ** 4)
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    n = m.discrete("n", start=0.0)
    m.every(0.125, {"n": n + q[0]})
    return m


@pytest.mark.long
@pytest.mark.parametrize("method", ["dopri5", "radau5", "bdf"])
@pytest.mark.parametrize("name", sorted(EMULATORS))
def test_runs_on_other_platforms_equal_ours(name, method, tmp_path):
    triple, emulator = EMULATORS[name]
    if name not in THERE:
        pytest.skip(f"no runtime for {name}: `make runtimes`")
    if emulator and shutil.which(emulator[0]) is None:
        pytest.skip(f"{emulator[0]} is not installed")
    if not emulator and name != own_platform():
        pytest.skip(f"this is no {name}")
    if find_spec("ziglang") is None:
        pytest.skip("the program that loads the library is built by zig (ziglang)")
    path = tmp_path / "all.fmu"
    m = swinging()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "runtimes", lambda: {own_platform(): THERE[name]})
        dd.exchange.fmu(m, path, method=method, compiler=False, rtol=1e-8)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "open")
        text = archive.read("modelDescription.xml").decode()
    token = text.split('instantiationToken="')[1].split('"')[0]
    labels = [*m.freeze().labels["x"], "n"]
    references = [re.search(rf'name="{re.escape(label)}" valueReference="(\d+)"', text)[1] for label in labels]
    program = tmp_path / ("driver.exe" if name.endswith("windows") else "driver")
    built = [sys.executable, "-m", "ziglang", "cc", "-target", triple, str(DRIVER), "-o", str(program)]
    subprocess.run([*built, *([] if name.endswith("windows") else ["-ldl"])], check=True, timeout=300)
    (library,) = (tmp_path / "open" / "binaries").rglob("*.*")
    given = [str(library), token, str(tmp_path / "open" / "resources"), "1.0", "8", *references]
    quiet = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path / "wine")}
    done = subprocess.run([*emulator, str(program), *given], capture_output=True, text=True, timeout=300, env=quiet)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    found = np.array([float(line) for line in done.stdout.split()])
    here = tmp_path / "here.fmu"
    dd.exchange.fmu(m, here, method=method, compiler=False, rtol=1e-8, kind="co_simulation")
    tr = dd.simulate(dd.exchange.load_fmu(here, step=0.125, variables=labels), 1.0)
    own = [tr[label.replace("[", "_").replace("]", "")][-1] for label in labels]
    # Powers and roots may differ in their last bit from one platform's library to another's.
    np.testing.assert_allclose(found, own, rtol=0, atol=1e-13)


def test_every_platform_has_a_name():
    assert set(THERE) <= set(PLATFORMS)
