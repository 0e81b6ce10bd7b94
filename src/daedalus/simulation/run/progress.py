"""A progress bar in simulated time: silent when nobody looks or when the run is over before one could."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

# A bar appears when a run takes longer than this.
PATIENCE_SECONDS = 0.5


class ProgressBar:
    """Called by the core with the time reached; draws a tqdm bar from t0 to t1."""

    def __init__(self, t0: float, t1: float, title: str, patience: float = PATIENCE_SECONDS) -> None:
        self._t0, self._t1, self._title = t0, t1, title
        self._begin = time.monotonic() + patience
        self._bar: Any = None

    def __call__(self, t: float) -> None:
        """Show that the run has reached t."""
        if self._bar is None:
            if time.monotonic() < self._begin:
                return
            layout = "{desc}: {percentage:3.0f}%|{bar}| t = {n:.4g} of {total:.4g} [{elapsed}<{remaining}]"
            self._bar = bar_maker()(total=abs(self._t1 - self._t0), desc=self._title, bar_format=layout, leave=False)
        self._bar.n = abs(t - self._t0)
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            # Notebooks keep a bar, in red, that did not reach its end: a run that was stopped leaves nothing either.
            self._bar.n = self._bar.total
            self._bar.close()


def in_notebook() -> bool:
    """Whether a notebook runs this process."""
    return "ipykernel" in sys.modules


def bar_maker() -> Any:
    """tqdm for a terminal, or that of notebooks where one runs and has widgets."""
    if in_notebook():
        try:
            import ipywidgets  # noqa: F401
            from tqdm.notebook import tqdm as notebook_bar
        except ImportError:
            pass
        else:
            return notebook_bar
    from tqdm import tqdm

    return tqdm


def wants_progress(progress: bool | Callable[[float], None] | None) -> bool:
    """Whether a bar is to be shown: as asked, or when standard error is a terminal or belongs to a notebook."""
    return (_is_terminal(sys.stderr) or in_notebook()) if progress is None else bool(progress)


@lru_cache(maxsize=8)
def _is_terminal(stream: Any) -> bool:
    """Whether somebody looks at a stream; asking the system takes longer than many a run."""
    return bool(stream.isatty())


def progress_of(
    progress: bool | Callable[[float], None] | None, t0: float, t1: float, title: str
) -> Callable[[float], None] | None:
    """What the core calls with the time reached: the caller's function, a bar, or nothing."""
    if progress is None and not (_is_terminal(sys.stderr) or in_notebook()):
        return None
    if callable(progress):
        return progress
    return ProgressBar(t0, t1, title) if wants_progress(progress) else None
