"""A run as a few lines of Python that make it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daedalus.display.studio.job import GROUPS, RunValues

CATALOGUE = "catalogue:"


def python_text(address: str, values: RunValues) -> str:
    """Lines that load the model as the studio did and simulate it with the same values."""
    lines = ["import daedalus as dd", *_loading(address)]
    if "" in (values.begin.strip(), values.end.strip()):
        span = "span"
    else:
        span = f"({_number(values.begin)}, {_number(values.end)})"
    arguments = [f"model, {span}"]
    arguments += [f"{group}={{**{group}, {_items(group, getattr(values, group))}}}" if getattr(values, group)
                  else f"{group}={group}" for group in GROUPS]  # fmt: skip
    arguments += [f"method={json.dumps(values.method)}"] if values.method != "auto" else []
    arguments += [f"rtol={_number(values.rtol)}"]
    joined = ",\n    ".join(arguments)
    return "\n".join([*lines, "", f"tr = dd.simulate(\n    {joined},\n)", "print(tr.stop_reason)", "tr.plot()", ""])


def _loading(address: str) -> list[str]:
    if address.startswith(CATALOGUE):
        name = json.dumps(address.removeprefix(CATALOGUE))
        return [
            "from daedalus import catalogue", "", f"known = catalogue.load({name})",
            "model, span, parameters = known.model, known.span, {}",
            "start, inputs = dict(known.start), dict(known.inputs)",
        ]  # fmt: skip
    return [
        "import runpy", "", f"names = runpy.run_path({json.dumps(address)})",
        "model = next(value for value in names.values() if isinstance(value, dd.Model))",
        'start, inputs, parameters = (names.get(name) or {} for name in ("start", "inputs", "parameters"))',
        'span = names.get("span") or 10.0',
    ]  # fmt: skip


def _items(group: str, texts: Mapping[str, str]) -> str:
    return ", ".join(f"{json.dumps(name)}: {_value(group, text)}" for name, text in texts.items())


def _value(group: str, text: str) -> str:
    if group == "inputs" and ":" in text:
        pairs = [part.partition(":") for part in text.split(",") if part.strip()]
        rows: list[Any] = [_value("", value) for _, _, value in pairs]
        return f"dd.signal([{', '.join(_number(t) for t, _, _ in pairs)}], [{', '.join(rows)}])"
    words = text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    return _number(words[0]) if len(words) == 1 else f"[{', '.join(_number(word) for word in words)}]"


def _number(text: str) -> str:
    return repr(float(text))
