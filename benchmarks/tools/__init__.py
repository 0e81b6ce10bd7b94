"""The tools: every file in this folder that ends in _tool and defines TOOL is one."""

import importlib
import pkgutil

from benchmarks.tool import Tool


def names() -> list[str]:
    """Names of all tools: their files without the ending _tool; Daedalus comes first."""
    found = [module.name.removesuffix("_tool") for module in pkgutil.iter_modules(__path__) if "_tool" in module.name]
    return sorted(found, key=lambda name: (name != "daedalus", name))


def load(name: str) -> Tool:
    """The tool of that name."""
    tool: Tool = importlib.import_module(f"{__name__}.{name}_tool").TOOL
    return tool
