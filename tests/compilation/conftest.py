"""Tests of the compilation run without a disk cache unless they bring one, and with all the effort that users get."""

from collections.abc import Callable, Iterator

import pytest

from daedalus.compilation import compile as door
from daedalus.compilation import machine_code

# Read at import, before tests that are about other things lower it.
MOST_EFFORT = machine_code.MOST_EFFORT


@pytest.fixture(scope="module", autouse=True)
def _as_users_compile() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_code, "MOST_EFFORT", MOST_EFFORT)
        patch.setenv("DAEDALUS_CACHE", "off")
        patch.delenv("DAEDALUS_COMPILER", raising=False)
        yield


@pytest.fixture
def forget() -> Callable[[], None]:
    """Let the process forget the functions it has compiled, as a new process would have."""

    def now() -> None:
        with door._lock:
            door._by_object.clear()
            door._by_content.clear()
            door._recent.clear()

    return now
