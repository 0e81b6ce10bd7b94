"""Inertia by integration over solids and meshes: the ready formulas are checked by it."""

import numpy as np
import pytest

import daedalus as dd

CUBE = [(-2.0, 2.0)] * 3


def box_mesh(a, b, c):
    vertices = np.array([[x, y, z] for x in (0, a) for y in (0, b) for z in (0, c)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, [t for p, q, r, s in quads for t in ((p, q, r), (p, r, s))]


@pytest.mark.wide
@pytest.mark.document("002", "the inertia dyadic ∫ (rᵀr I − r rᵀ) dm, spherical elements", "`dd.inertia.of`")
@pytest.mark.parametrize(
    ("shape", "formula", "error"),
    [
        (lambda x, y, z: x**2 + y**2 + z**2 <= 1.5**2, lambda m: dd.inertia.sphere(m, 1.5), 1e-9),
        (
            lambda x, y, z: (abs(x) <= 0.5) & (abs(y) <= 1.0) & (abs(z) <= 1.5),
            lambda m: dd.inertia.box(m, 1.0, 2.0, 3.0),
            1e-5,
        ),
        (
            [lambda x, y, z: y**2 + z**2 - 1.0, lambda x, y, z: abs(x) - 1.2],
            lambda m: dd.inertia.cylinder(m, 1.0, 2.4, axis="x"),
            1e-5,
        ),
    ],
    ids=["sphere", "box", "cylinder"],
)
def test_the_ready_formulas(shape, formula, error):
    found = dd.inertia.of(2.0, shape, box=CUBE)
    expected = formula(float(found.mass))
    assert found.mass == pytest.approx(2.0 * found.volume)
    assert found.inertia == pytest.approx(expected, abs=error * np.abs(expected).max())
    assert found.centre == pytest.approx(np.zeros(3), abs=1e-5)


@pytest.mark.wide
def test_a_hollow_solid_is_known_to_four_digits():
    tube = dd.inertia.of(
        2.0,
        [lambda x, y, z: x**2 + y**2 <= 1, lambda x, y, z: x**2 + y**2 >= 0.25],
        box=[(-1, 1), (-1, 1), (0, 3)],
        resolution=12,
    )
    exact = dd.inertia.cylinder(tube.mass, 1.0, 3.0, inner_radius=0.5)
    assert tube.mass == pytest.approx(2.0 * 0.75 * 3.0 * np.pi, rel=1e-3)
    assert tube.inertia == pytest.approx(exact, abs=1e-3 * np.abs(exact).max())
    assert tube.centre == pytest.approx([0.0, 0.0, 1.5], abs=1e-3)


def test_meshes_are_exact_and_either_way_round():
    vertices, triangles = box_mesh(1.0, 2.0, 3.0)
    for turned in (triangles, [t[::-1] for t in triangles]):
        found = dd.inertia.of(2.0, (vertices, turned))
        assert found.mass == pytest.approx(12.0)
        assert found.centre == pytest.approx([0.5, 1.0, 1.5])
        assert found.inertia == pytest.approx(dd.inertia.box(12.0, 1.0, 2.0, 3.0))


@pytest.mark.wide
def test_a_density_that_varies():
    """ρ = 1 + z in the unit ball: the centre of mass is at z = 1/5."""
    found = dd.inertia.of(lambda x, y, z: 1 + z, lambda x, y, z: x**2 + y**2 + z**2 - 1, box=[(-1, 1)] * 3)
    assert found.centre == pytest.approx([0.0, 0.0, 0.2], abs=1e-9)
    assert found.volume == pytest.approx(4 / 3 * np.pi)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: dd.inertia.of(1.0, lambda x, y, z: x <= 0), "Inequalities need a box around the solid."),
        (lambda: dd.inertia.of(1.0, lambda x, y, z: x > 9, box=CUBE), "The solid is empty."),
        (lambda: dd.inertia.of(-1.0, lambda x, y, z: x <= 0, box=CUBE), "The density is not positive."),
        (lambda: dd.inertia.of(1.0, (box_mesh(1, 1, 1)[0], box_mesh(1, 1, 1)[1][:-1])), "The mesh is not closed."),
        (lambda: dd.inertia.of(1.0, 3), "The shape is neither inequalities nor a mesh."),
    ],
)
def test_what_is_refused(call, text):
    with pytest.raises(dd.InputError) as caught:
        call()
    assert str(caught.value).startswith(text)
