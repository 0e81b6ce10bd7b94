"""Rows at times inside a step, by the interpolant of a method, moved onto what the model keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod

from daedalus.compilation.lanes.words import Cell, Word
from daedalus.ensembles.lanes.combinations import horner
from daedalus.ensembles.lanes.kernel_frame import KernelFrame

Polynomials = list[list[Word]]  # coefficients of 1, θ, θ², … of every component


class SavedInside(ABC):
    """The interpolant of one step, made where a lane has to save inside it."""

    def __init__(self, frame: KernelFrame, t: Word, t_new: Word) -> None:
        self.frame, self.t, self.t_new = frame, t, t_new
        self.h = frame.w.sub(t_new, t)
        self._known: Polynomials | None = None
        self._cells: list[list[Cell]] | None = None

    def known(self) -> Polynomials:
        """The polynomials, written here and kept."""
        if self._known is None:
            self._known = self._coefficients()
        return self._known

    @abstractmethod
    def _coefficients(self) -> Polynomials:
        """The polynomials of what is saved."""

    def is_due(self, mask: Word) -> Word:
        """The lanes of a mask that have a row to save inside the step."""
        frame, w = self.frame, self.frame.w
        ahead = w.mul(w.sub(self.t_new, frame.next_time.now), frame.settings["direction"])
        return w.both(mask, w.compare("ogt", ahead, w.num(0.0)))

    def keep(self) -> Polynomials:
        """The polynomials, kept in cells for blocks that follow where this one was passed through."""
        if self._cells is None:
            written = self._known or self._coefficients()
            self._cells = [[self.frame.w.cell() for _ in words] for words in written]
            for cells, words in zip(self._cells, written):
                for cell, word in zip(cells, words):
                    cell.set(word)
        return [[cell.now for cell in cells] for cells in self._cells]

    def save_inside(self, good: Word) -> None:
        """Lanes of a good step save the rows that lie inside it."""
        frame, w = self.frame, self.frame.w
        if not frame.inside:
            return
        due = w.cell(w.truth)

        def some_are_due() -> Word:
            due.set(self.is_due(good))
            return w.any(due.now)

        with w.when(some_are_due()):
            self.keep()
            with w.repeat(some_are_due):
                time = frame.next_time.now
                theta = w.div(w.sub(time, self.t), self.h)
                row = [horner(w, coefficients, theta) for coefficients in self.keep()]
                frame.save(due.now, self._kept(time, row))

    def _kept(self, time: Word, row: list[Word]) -> list[Word]:
        frame, w = self.frame, self.frame.w
        if frame.model.kept is None:
            return row
        moved = frame.moved(time, row, rare=True)
        # What no way leads to stays.
        sound = frame.finite(moved)
        return [w.choose(sound, a, b) for a, b in zip(moved, row)]
