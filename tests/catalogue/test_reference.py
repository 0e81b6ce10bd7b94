"""References behave like mappings that know how far they can be trusted."""

import numpy as np
import pytest

from daedalus.catalogue import Reference


@pytest.fixture
def reference():
    return Reference(2.0, {"x": [4.0, 0.01], "speed": -0.5}, 14, "this test")


def test_it_is_a_mapping(reference):
    assert list(reference) == ["x", "speed"]
    assert len(reference) == 2
    assert "x" in reference
    assert reference["speed"] == -0.5
    assert {key: np.shape(value) for key, value in reference.items()} == {"x": (2,), "speed": ()}
    with pytest.raises(KeyError):
        reference["y"]


def test_its_values_cannot_be_overwritten(reference):
    with pytest.raises(ValueError, match="read-only"):
        reference["x"][0] = 1.0


def test_errors_are_relative_to_the_largest_entry_of_a_name(reference):
    assert reference.error("x", [4.0, 0.01]) == 0.0
    assert reference.error("x", [4.0, 0.05]) == pytest.approx(0.01)
    assert reference.error("speed", -0.51) == pytest.approx(0.02)
    assert np.isnan(reference.error("speed", np.nan))
