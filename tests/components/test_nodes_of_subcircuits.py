"""Every node of a netlist can be read, also those within subcircuits: random ladders against their own formula."""

import numpy as np
import pytest

import daedalus as dd


@pytest.mark.parametrize("seed", range(4))
def test_nodes_within_subcircuits_are_outputs(seed):
    """A chain of resistors, cut at random into subcircuits within subcircuits: v falls as the resistances add up."""
    rng = np.random.default_rng(seed)
    depth, values = int(rng.integers(1, 4)), rng.uniform(100, 1000, 12)
    lines, expected, rest = ["chain", "v1 in 0 1"], {}, list(values)
    blocks, path = [], ""
    for level in range(depth):
        name = f"x{level}"
        first, second = rest.pop(), rest.pop()
        begin, end = ("in", "0") if level == 0 else ("mid", "q")
        card = f"{name} {begin} {end} block{level}"
        (lines if level == 0 else blocks[-1]).append(card)
        blocks.append([f".subckt block{level} p q", f"ra p v_mid {first}", f"rb v_mid mid {second}"])
        path += f"{name}."
        expected[f"{path}v_mid"] = second
        expected[f"{path}v_v_mid"] = first
    last = rest.pop()
    blocks[-1].append(f"rc mid q {last}")
    lines += [line for block in blocks for line in [*block, ".ends"]]
    m = dd.components.from_spice("\n".join([*lines, ".end"]))
    tr = dd.simulate(m, 1e-3)
    total = sum(expected.values()) + last
    left = total
    for level in range(depth):
        path = "".join(f"x{k}." for k in range(level + 1))
        left -= expected[f"{path}v_v_mid"]
        assert tr[f"{path}v_v_mid"][-1] == pytest.approx(left / total, rel=1e-9)
        left -= expected[f"{path}v_mid"]
        assert tr[f"{path}v_mid"][-1] == pytest.approx(left / total, rel=1e-9)
