"""Derivations in a browser: nothing wider than the page on a phone, a tablet and a desk, no text over another."""

import pytest
from page_measures import overlapping_texts, wider_than_the_page
from tests.support import lecture_models as lectures
from tests.support import neighbour_models as neighbours
from tests.support import part_neighbours as parts

import daedalus as dd

MODELS = {
    "servo cylinder": lambda: parts.servo_cylinder()[0],
    "coupled coils": lambda: parts.coupled_coils()[0],
    "quadrotor with load": lambda: neighbours.quadrotor_with_load()[0],
    "slider crank": lambda: neighbours.slider_crank()[0],
    "Segway": lambda: neighbours.segway()[0],
    "delta robot": lectures.delta_robot,
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "coupled coils" else pytest.mark.wide) for name in MODELS]
)
def test_derivations_fit_their_page(name, tmp_path, chromium):
    dd.derive(MODELS[name]()).to_html(tmp_path / "d.html")
    try:
        chromium.open(tmp_path / "d.html")
        for width in (360, 768, 1280):
            chromium.window(width, 800)
            assert wider_than_the_page(chromium) == []
            assert overlapping_texts(chromium) == []
    finally:
        chromium.window(1200, 800)
        chromium.open("about:blank")
