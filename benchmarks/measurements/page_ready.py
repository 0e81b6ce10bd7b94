"""Ten seconds of a delta robot as a page in headless Chromium: seconds until its slider and its motion work."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.tool import NoSolution

# The browser of the tests.
SUPPORT = Path(__file__).parents[2] / "tests" / "support"
# Milliseconds since the page was asked for: when the slider has moved the clock, and when a frame of the motion stands.
WATCH = """window.found = {};
const watch = () => {
  const slider = document.querySelector('.dd-slider'), clock = document.querySelector('.dd-clock');
  if (slider && clock && !found.controls) {
    const before = clock.textContent;
    slider.value = slider.max / 2;
    slider.dispatchEvent(new Event('input'));
    if (clock.textContent !== before) found.controls = performance.now();
  }
  if (!(found.controls && window.daedalus && window.daedalus.stage)) return setTimeout(watch, 2);
  requestAnimationFrame(() => requestAnimationFrame(() => { found.motion = performance.now(); }));
};
watch();"""


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: the best of several openings; option openings."""
    sys.path.insert(0, str(SUPPORT))
    from browser import Browser, find_browser

    if find_browser() is None:
        raise NoSolution("no Chromium on this machine")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        write(page)
        with Browser() as browser:
            browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            found = []
            for _ in range(options["openings"]):
                browser.open(page)
                browser.wait("found.motion")
                found.append(browser.ask("found"))
            if browser.errors():
                raise NoSolution("; ".join(browser.errors()))
        best = {name: min(one[name] for one in found) / 1e3 for name in ("controls", "motion")}
        yield {**best, "bytes": page.stat().st_size}


def write(page: Path) -> None:
    """Ten seconds of motion: the motors carry the weight and damp the arms."""
    import daedalus as dd
    from daedalus import catalogue

    k = catalogue.load("delta_robot")
    torque = k.inputs["torque"] - 0.05 * k.model["angle_dot"]
    dd.simulate(k.model, 10.0, inputs={"torque": torque}).animate(page)
