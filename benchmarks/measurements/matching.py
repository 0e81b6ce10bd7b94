"""Equations of a chain of bodies in space paired with their unknowns: CPU seconds of the matching alone."""

from collections.abc import Iterator
from typing import Any

from benchmarks.timing import best_cpu_time
from benchmarks.tool import NoSolution


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: most pairs, and pairs with the highest derivatives; options links, seconds."""
    from daedalus import _core
    from daedalus.analysis.structure.signature import signature

    system = spatial_chain(options["links"]).freeze()
    s = signature(system.residual, unknowns_of(system))
    entries = s.count, s.size, s.rows, s.columns
    most = _core.maximum_matching(*entries)
    highest = _core.cheapest_matching(*entries, -s.orders)
    if (most.columns < 0).any() or (highest.columns < 0).any():
        raise NoSolution("some equations found no unknown")
    yield {
        "equations": s.count,
        "entries": len(s.rows),
        "most": best_cpu_time(lambda: _core.maximum_matching(*entries), options["seconds"]),
        "highest": best_cpu_time(lambda: _core.cheapest_matching(*entries, -s.orders), options["seconds"]),
        "phases": [most.phases, highest.phases],
        "searches": highest.searches,
        "visits": [most.visits, highest.visits],
    }


def unknowns_of(system: Any) -> list[Any]:
    """The unknowns of a system, and their derivatives."""
    import casadi as ca

    z = system.symbol("z")
    return [ca.vertcat(system.symbol("x"), z), ca.vertcat(system.symbol("xdot"), ca.SX.sym("z_dot", z.numel()))]


def spatial_chain(links: int) -> Any:
    """Bodies in space, each a metre long and joined to the one before by a hinge; the axes alternate."""
    import daedalus as dd

    m = dd.Model("spatial_chain")
    m.gravity([0.0, 0.0, -9.81])
    partner: Any = dd.ground
    at = [0.0, 0.0, 0.0]
    for k in range(links):
        body = m.body(
            f"link{k}", 1.0, [0.02, 0.1, 0.1], position=[k + 0.5, 0.0, 0.0], velocity=[0.0, 0.0, 0.0],
            rotation=[1.0, 0.0, 0.0, 0.0], angular_velocity=[0.0, 0.0, 0.0],
        )  # fmt: skip
        axis = [0.0, 1.0, 0.0] if k % 2 == 0 else [0.0, 0.0, 1.0]
        m.joint(f"hinge{k}", "revolute", partner, body, at_a=at, at_b=[-0.5, 0.0, 0.0], axis_a=axis)
        partner, at = body, [0.5, 0.0, 0.0]
    return m
