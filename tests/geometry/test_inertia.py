"""Inertia tensors: shapes against integrals, parallel axes with the corrected sign, composites, and what is refused."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rotation_samples import rotation_vectors

from daedalus.errors import InputError
from daedalus.geometry import inertia
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.rotations import rot_z, skew

positive = st.floats(0.1, 10)


def of_points(masses, points):
    """∫ (rᵀr I − r rᵀ) dm as a sum over particles."""
    return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points))


def cloud_of_a_box(mass, sides, centre=(0.0, 0.0, 0.0)):
    """Particles with exactly the moments of a box up to second order (two-point Gauss rule in each direction)."""
    ends = np.array([-0.5, 0.5]) / np.sqrt(3)
    points = np.array([[x, y, z] for x in ends for y in ends for z in ends]) * sides + centre
    return [mass / 8] * 8, points


@given(positive, st.tuples(positive, positive, positive))
def test_box_is_the_integral(mass, sides):
    assert np.allclose(inertia.box(mass, sides), of_points(*cloud_of_a_box(mass, sides)), rtol=1e-13)
    assert np.array_equal(inertia.box(mass, *sides), inertia.box(mass, sides))


@pytest.mark.parametrize(("inner", "length"), [(0.0, 0.7), (0.2, 0.7), (0.0, 0.0)])
def test_cylinder_is_the_integral(inner, length):
    # Exact quadrature in r² and z; the angle integrates to one half.
    nodes, weights = np.polynomial.legendre.leggauss(4)
    squares = inner**2 + (0.5**2 - inner**2) * (nodes + 1) / 2
    r2, z2 = weights @ squares / 2, weights @ (nodes * length / 2) ** 2 / 2
    expected = 3.0 * np.diag([r2 / 2 + z2, r2 / 2 + z2, r2])
    assert np.allclose(inertia.cylinder(3.0, 0.5, length, inner_radius=inner), expected, rtol=1e-13, atol=1e-16)
    assert np.allclose(
        np.diag(inertia.cylinder(3.0, 0.5, length, axis="x", inner_radius=inner)), np.diag(expected)[[2, 0, 1]]
    )


@pytest.mark.parametrize("inner", [0.0, 0.2, 0.499999])
def test_sphere_is_the_integral(inner):
    nodes, weights = np.polynomial.legendre.leggauss(6)
    r = inner + (0.5 - inner) * (nodes + 1) / 2
    mean_square = weights @ r**4 / (weights @ r**2)
    assert np.allclose(inertia.sphere(3.0, 0.5, inner_radius=inner), 3.0 * 2 / 3 * mean_square * np.eye(3), rtol=1e-13)


def test_rod():
    assert np.allclose(inertia.rod(3.0, 2.0), np.diag([1.0, 1.0, 0.0]))
    assert np.allclose(inertia.rod(3.0, 2.0, axis="y", radius=0.1), inertia.cylinder(3.0, 0.1, 2.0, axis="y"))


@pytest.mark.document("002", "parallel axes", "`dd.parallel_axis`")
@given(positive, rotation_vectors(), st.tuples(positive, positive, positive))
def test_parallel_axis_is_the_integral_about_the_other_point(mass, offset, sides):
    moved = of_points(*cloud_of_a_box(mass, sides, centre=offset))
    assert np.allclose(inertia.parallel_axis(inertia.box(mass, sides), mass, offset), moved, rtol=1e-12, atol=1e-12)


def test_parallel_axis_has_a_plus_in_document_002s_second_line():
    # Printed: M_c − m (‖r‖² I − r rᵀ). The first line, M_c − m r^× r^×, is right, and they only agree with a plus.
    centre, mass, r = inertia.box(2.0, 1.0, 2.0, 3.0), 2.0, np.array([0.3, -0.4, 0.5])
    first_line = centre - mass * skew(r) @ skew(r)
    printed = centre - mass * (r @ r * np.eye(3) - np.outer(r, r))
    assert np.allclose(inertia.parallel_axis(centre, mass, r), first_line, rtol=0, atol=1e-15)
    assert not np.allclose(printed, first_line)
    # No point has less inertia than the centre of mass: the printed sign says it has.
    assert np.all(np.linalg.eigvalsh(first_line - centre) >= -1e-15)


@pytest.mark.document("002", "inertia in another frame", "`dd.inertia.change_frame`")
@given(rotation_vectors(), positive, positive, positive)
def test_change_of_frame_keeps_principal_moments(v, a, b, c):
    sides = np.array([a, b, c])
    turned = inertia.change_frame(inertia.box(2.0, sides), rotation_exp(v))
    moments, axes = inertia.principal(turned)
    assert np.allclose(moments, np.sort(np.diag(inertia.box(2.0, sides))), rtol=1e-12)
    assert np.allclose(axes @ np.diag(moments) @ axes.T, turned, rtol=1e-12, atol=1e-11)
    masses, points = cloud_of_a_box(2.0, sides)
    assert np.allclose(turned, of_points(masses, points @ rotation_exp(v).T), rtol=1e-12, atol=1e-11)


def test_products_of_inertia_enter_with_a_minus():
    masses, points = [1.0, 2.0], np.array([[1.0, 2.0, 3.0], [-0.5, 0.2, 0.7]])
    products = {
        a + b: sum(m * p["xyz".index(a)] * p["xyz".index(b)] for m, p in zip(masses, points))
        for a, b in ["xy", "xz", "yz"]
    }
    squares = [sum(m * p[i] ** 2 for m, p in zip(masses, points)) for i in range(3)]
    moments = [sum(squares) - s for s in squares]
    assert np.allclose(inertia.tensor(*moments, **products), of_points(masses, points))


def test_composite_of_two_half_boxes_is_the_box():
    half = inertia.box(1.0, 1.0, 2.0, 3.0)
    whole = inertia.composite([(1.0, half, [-0.5, 0, 0]), inertia.Part(1.0, half, [0.5, 0, 0])])
    assert whole.mass == 2.0
    assert np.allclose(whole.centre, 0)
    assert np.allclose(whole.inertia, inertia.box(2.0, 2.0, 2.0, 3.0))


def test_composite_with_turned_parts_is_the_integral():
    sides, position, turn = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.5]), rotation_exp([0.3, 0.2, -0.9])
    whole = inertia.composite([(2.0, inertia.box(2.0, sides), position, turn), (3.0, inertia.sphere(3.0, 0.5))])
    masses, points = cloud_of_a_box(2.0, sides)
    points = points @ turn.T + position
    centre = 2.0 * position / 5.0
    expected = of_points(masses, points - centre) + inertia.sphere(3.0, 0.5) + of_points([3.0], [centre])
    assert np.allclose(whole.centre, centre)
    assert np.allclose(whole.inertia, expected)


def test_a_hole_is_a_composite_with_the_mass_taken_out():
    # A tube is a cylinder less its core: parallel axes and shapes together.
    density = 7.0
    outer, core = (np.pi * r**2 * 2.0 * density for r in (0.5, 0.2))
    tube = inertia.cylinder(outer, 0.5, 2.0) - inertia.cylinder(core, 0.2, 2.0)
    assert np.allclose(tube, inertia.cylinder(outer - core, 0.5, 2.0, inner_radius=0.2))


def test_a_sound_inertia_passes():
    for good in (inertia.box(1.0, 1, 2, 3), inertia.sphere(1.0, 1.0), inertia.cylinder(1.0, 1.0, 0.0)):
        assert inertia.check(good, "body") is not None
    assert np.array_equal(inertia.check(inertia.rod(1.0, 1.0), "rod", spins=False), inertia.rod(1.0, 1.0))
    assert np.array_equal(inertia.check(np.zeros((3, 3)), "point", spins=False), np.zeros((3, 3)))


def test_symbols_are_checked_when_they_have_a_value():
    free = inertia.box(ca.SX.sym("m"), 1, 2, 3)
    assert inertia.check(free, "body") is free
    with pytest.raises(InputError, match="The inertia of arm is not that of a real body"):
        inertia.check(ca.SX(np.diag([1.0, 1.0, 3.0])), "arm")
    with pytest.raises(InputError, match="The inertia of arm is not that of a real body"):
        inertia.check(ca.MX(np.diag([1.0, 1.0, 3.0])), "arm")


def test_the_triangle_inequality():
    with pytest.raises(InputError) as caught:
        inertia.check(inertia.change_frame(np.diag([1.0, 1.0, 3.0]), rot_z(0.3)), "nacelle")
    assert str(caught.value) == (
        "The inertia of nacelle is not that of a real body.\n"
        "  principal moments 1, 1, 3 kg m²: 3 is more than 1 + 1\n"
        "  Because every mass element adds at least as much to two of the moments together as to the third.\n"
        "  Try: the tensor about the centre of mass, all entries in the same unit."
    )


def test_positive_definite():
    with pytest.raises(InputError) as caught:
        inertia.check(inertia.rod(3.0, 2.0), "rod")
    assert str(caught.value) == (
        "The inertia of rod is not positive definite.\n"
        "  principal moments 0, 1, 1 kg m²\n"
        "  Because nothing would resist the spin about one axis.\n"
        "  Try: dd.inertia.rod(..., radius=...) gives a rod a thickness."
    )
    with pytest.raises(
        InputError, match=r"principal moments -1, 2, 2 kg m²\n  Because a moment of inertia is a sum of squares"
    ):
        inertia.check(np.diag([-1.0, 2.0, 2.0]), "arm")
    with pytest.raises(InputError, match="not positive definite"):
        inertia.check(np.diag([-1.0, 2.0, 2.0]), "arm", spins=False)
    with pytest.raises(InputError, match="not positive definite"):
        inertia.check(np.zeros((3, 3)), "arm")


def test_symmetric_and_finite():
    with pytest.raises(InputError) as caught:
        inertia.check([[2.0, 0.1, 0.0], [-0.1, 2.0, 0.0], [0.0, 0.0, 2.0]], "arm")
    assert str(caught.value) == (
        "The inertia of arm is not symmetric.\n"
        "  entries (0, 1) and (1, 0) differ by 0.2 kg m²\n"
        "  Try: dd.inertia.tensor(xx, yy, zz, xy, xz, yz)."
    )
    with pytest.raises(InputError, match="not finite"):
        inertia.check(np.diag([1.0, np.nan, 1.0]), "arm")
    with pytest.raises(InputError, match=r"The inertia of arm has the wrong shape\.\n  found 3, wanted 3×3"):
        inertia.check([1.0, 2.0, 3.0], "arm")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: inertia.box(-1.0, 1, 1, 1), r"The mass is not positive\.\n  mass -1"),
        (lambda: inertia.box(1.0, 1, 0, 1), r"The side is not positive"),
        (lambda: inertia.box(1.0, 1, 2), r"A box has three sides\.\n  2 given"),
        (
            lambda: inertia.cylinder(1.0, 0.5, 1.0, inner_radius=0.6),
            r"The hole is larger than the body\.\n  inner radius 0\.6 m",
        ),
        (lambda: inertia.cylinder(1.0, 0.5, -1.0), r"The length is negative"),
        (lambda: inertia.rod(1.0, 1.0, axis="w"), r"There is no axis 'w'\."),
        (lambda: inertia.composite([]), r"at least one part"),
        (lambda: inertia.composite([(1.0, np.eye(3)), (-1.0, np.eye(3))]), r"The mass of part 1 is not positive"),
        (lambda: inertia.principal(ca.SX.sym("M", 3, 3)), r"Principal moments are found for numbers only"),
    ],
)
def test_impossible_shapes_are_refused(call, text):
    with pytest.raises(InputError, match=text):
        call()
