"""A handle of a part inside a model: `motor.current`, `motor.shaft`, `robot.joint1.motor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daedalus.errors import ModelError
from daedalus.model.assembly.port import Port
from daedalus.model.names import did_you_mean, listed

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook


class Handle:
    """What `m.add` and `m.include` return: ports, variables, parameters, outputs and inner parts by name.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("circuit")
    >>> r1 = m.add(dd.components.electrical.Resistor("r1", resistance=100.0))
    >>> r1.plus, r1.current, r1.resistance
    (Port('r1.plus': electrical), SX(r1.current), SX(r1.resistance))
    """

    __slots__ = ("_book", "_path")

    def __init__(self, book: Notebook, path: str) -> None:
        object.__setattr__(self, "_book", book)
        object.__setattr__(self, "_path", path)

    def __setattr__(self, name: str, value: object) -> None:
        raise ModelError(
            f"{self._path}.{name} cannot be set.",
            "a handle is read-only",
            because="values are passed to dd.simulate and other functions; the model keeps its own.",
            remedy=f'parameters={{"{self._path}.{name}": ...}} or start={{"{self._path}.{name}": ...}} of dd.simulate',
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path, written = f"{self._path}.{name}", self._book.written.assembly
        if path in written.ports:
            return Port(self._book, written.ports[path])
        if path in written.parts:
            return Handle(self._book, path)
        try:
            return self._book[path]
        except ModelError:
            raise self._unknown(name) from None

    __getitem__ = __getattr__

    def _names(self) -> list[str]:
        written, start = self._book.written.assembly, self._path + "."
        everything = (
            written.ports,
            written.parts,
            self._book.written.variables,
            self._book.written.outputs,
            written.names,
        )
        found = dict.fromkeys(name[len(start) :] for own in everything for name in own if name.startswith(start))
        return [name for name in found if "." not in name]

    def _title(self) -> str:
        note = self._book.written.assembly.parts.get(self._path)
        return "" if note is None else note.title

    def _unknown(self, name: str) -> ModelError:
        known = self._names()
        title = self._title()
        return ModelError(
            f"The part {self._path}{f', {title},' if title else ''} has no {name!r}.",
            f"it has {listed(known, 12)}",
            because="a part has its ports, variables, parameters and inner parts.",
            remedy=did_you_mean(name, known),
        )

    def __dir__(self) -> list[str]:
        return self._names()

    def __repr__(self) -> str:
        title = self._title()
        return f"Handle({self._path!r}{f': {title}' if title else ''})"
