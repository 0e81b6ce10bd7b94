"""What linear systems of continuous time share, in descriptor form or not: the axis of frequencies, poles in a plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.analysis.linear.frequency_response import FrequencyResponse, check_frequencies, spread_frequencies
from daedalus.analysis.linear.margins import Margins, margins_of, one_pair
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

    def margins(self, input: str | None = None, output: str | None = None) -> Margins:
        """Gain, phase and delay margin of the loop from an output back to an input with negative feedback.

        Example
        -------
        >>> import daedalus as dd
        >>> G = dd.LTI.from_transfer_function([1.0], [1.0, 1.0, 0.0])
        >>> round(G.margins().phase, 2), G.margins().gain
        (51.83, inf)
        """
        return margins_of(one_pair(self, input, output, "A margin"))

    def plot_bode(self, input: str | None = None, output: str | None = None, ax: Any = None) -> Any:
        """Draw magnitude and phase of one pair with gain and phase margin; `ax` is a pair of axes; returns the figure.

        Example
        -------
        >>> import daedalus as dd
        >>> figure = dd.LTI.from_transfer_function([4.0], [1.0, 3.0, 3.0, 1.0]).plot_bode()
        >>> figure.axes[0].get_title()
        'stable with negative feedback'
        """
        from daedalus.display.lectures.loop_plots import plot_bode

        return plot_bode(one_pair(self, input, output, "A Bode diagram with margins"), ax)

    def plot_nyquist(self, input: str | None = None, output: str | None = None, ax: Any = None) -> Any:
        """Draw Nyquist's curve of one pair with −1, the unit circle and both margins; returns the figure.

        Example
        -------
        >>> import daedalus as dd
        >>> figure = dd.LTI.from_transfer_function([10.0], [1.0, 3.0, 3.0, 1.0]).plot_nyquist()
        >>> figure.axes[0].get_title()
        'unstable with negative feedback'
        """
        from daedalus.display.lectures.loop_plots import plot_nyquist

        return plot_nyquist(one_pair(self, input, output, "Nyquist's curve"), ax)

    def plot_root_locus(
        self, input: str | None = None, output: str | None = None, gains: object = None, ax: Any = None
    ) -> Any:
        """Draw the poles of the closed loop u = −k y over the gain k, with the gains at the border; returns the figure.

        Parameters
        ----------
        gains: those to follow, increasing; by default from zero to well beyond the loop's size.

        Example
        -------
        >>> import daedalus as dd
        >>> figure = dd.LTI.from_transfer_function([1.0], [1.0, 3.0, 2.0, 0.0]).plot_root_locus()
        >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        ['poles, k = 0', 'border at k = 6']
        """
        from daedalus.display.lectures.loop_plots import plot_root_locus

        chosen = None if gains is None else np.sort(np.atleast_1d(np.array(gains, dtype=float)))
        return plot_root_locus(one_pair(self, input, output, "A root locus"), chosen, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import linear_card

        return linear_card(self)

    def __repr__(self) -> str:
        me: Any = self
        sizes = ((me.states, "state"), (me.inputs, "input"), (me.outputs, "output"))
        return f"{type(self).__name__}({', '.join(counted(len(names), kind) for names, kind in sizes)})"
