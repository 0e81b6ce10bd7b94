"""Three or more coils on one core: v = L i' with the matrix of their inductances."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.model.assembly.component import Component, Keyword


class CoupledCoils(Component):
    """Coils with ports plus_1, minus_1, plus_2, ...; states current_1, ...; `flux_1`, ... on request;
    `inductances` is a symmetric matrix."""

    domain = "electrical"
    keywords = {"inductances": Keyword("H", option="numbers")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        matrix = q.inductances
        count = len(matrix)
        currents = [m.state(f"current_{k + 1}", unit="A") for k in range(count)]
        rates = [m.der(current) for current in currents]
        for k in range(count):
            plus, minus = m.port(f"plus_{k + 1}", "electrical"), m.port(f"minus_{k + 1}", "electrical")
            m.equation(plus.current, currents[k], name=f"current {k + 1} in")
            m.equation(plus.current + minus.current, 0, name=f"current {k + 1} out")
            induced = sum((float(matrix[k][j]) * rates[j] for j in range(count)), ca.SX(0))
            linked = sum((float(matrix[k][j]) * currents[j] for j in range(count)), ca.SX(0))
            m._quantity(f"flux_{k + 1}", linked, "Wb")
            m.equation(induced, plus.voltage - minus.voltage, name=f"flux {k + 1}")
        stored = [0.5 * float(matrix[i][j]) * currents[i] * currents[j] for i in range(count) for j in range(count)]
        m.stored(sum(stored, ca.SX(0)))
