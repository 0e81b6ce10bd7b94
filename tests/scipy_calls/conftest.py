"""Marks that SciPy's own tests carry, which run here too."""


def pytest_configure(config):
    """Make them known, so that a mistyped mark of ours is still an error."""
    for mark in (
        "thread_unsafe(reason): not for several threads at once",
        "slow: takes long",
        "fail_slow(limit): SciPy's",
    ):
        config.addinivalue_line("markers", mark)
