"""What linear systems of continuous time share, in descriptor form or not: the axis of frequencies, poles in a plot."""

from __future__ import annotations

from typing import Any

from daedalus.analysis.linear.frequency_response import FrequencyResponse, check_frequencies, spread_frequencies
from daedalus.analysis.linear.riccati import OptimalGains
from daedalus.model.names import counted


class ContinuousSystem(OptimalGains):
    """A system with poles, a transfer function, and names for states, inputs and outputs."""

    def frequency_response(self, frequencies: object = None) -> FrequencyResponse:
        """The transfer function at s = iω, by name of output and input.

        Parameters
        ----------
        frequencies: (nw,) radians per unit of time; by default spread around the finite poles.

        Example
        -------
        >>> import daedalus as dd
        >>> abs(dd.LTI([[-1.0]], [[1.0]]).frequency_response([1.0])["x", "u"]).round(4).tolist()
        [0.7071]
        >>> system = dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], states=["x", "z"])
        >>> abs(system.frequency_response([1.0])["z"]).round(4).tolist()
        [0.7071]
        """
        me: Any = self
        w = spread_frequencies(me.poles()) if frequencies is None else check_frequencies(frequencies)
        return FrequencyResponse(w, me.transfer(1j * w), me.inputs, me.outputs)

    def plot(self, ax: Any = None) -> Any:
        """Draw the poles, and the zeros where they are known, in the complex plane; returns the figure.

        Example
        -------
        >>> import daedalus as dd
        >>> figure = dd.LTI([[0, 1], [-2, -3]], [0, 1], [3, 1]).plot()
        """
        from daedalus.display.path_plot import plot_poles

        return plot_poles(self, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import linear_card

        return linear_card(self)

    def __repr__(self) -> str:
        me: Any = self
        sizes = ((me.states, "state"), (me.inputs, "input"), (me.outputs, "output"))
        return f"{type(self).__name__}({', '.join(counted(len(names), kind) for names, kind in sizes)})"
