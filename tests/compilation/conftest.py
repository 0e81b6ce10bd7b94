"""Tests of the compilation run without the user's disk cache unless they bring a folder of their own."""

from collections.abc import Callable, Iterator

import pytest

from daedalus.compilation import compile as door


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
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
