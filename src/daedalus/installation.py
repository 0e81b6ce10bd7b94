"""What this installation consists of: versions, compiler, cache."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def describe() -> dict[str, str]:
    """Versions and settings by name, for `daedalus info` and bug reports."""
    import daedalus
    from daedalus.compilation import cache_folder, compiler_in_use
    from daedalus.compilation.disk_cache import why_not_used

    facts = {
        "daedalus": daedalus.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for package in ("casadi", "numpy", "scipy", "llvmlite", "xarray"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["compiler"] = compiler_in_use()
    facts["compiled code"] = why_not_used() or str(cache_folder())
    return facts
