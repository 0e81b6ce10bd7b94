"""The background thread: in order, past errors, and no hindrance to the end of a process."""

import threading

from daedalus.compilation import background


def test_jobs_are_done_in_order_by_one_thread():
    done, finished = [], threading.Event()
    for k in range(20):
        background.submit(lambda k=k: done.append((k, threading.current_thread().name)))
    background.submit(finished.set)
    assert finished.wait(30)
    assert [k for k, _ in done] == list(range(20))
    assert {name for _, name in done} == {"daedalus compilation"}


def test_a_job_that_fails_does_not_stop_the_next(caplog):
    finished = threading.Event()
    background.submit(lambda: 1 / 0)
    background.submit(finished.set)
    assert finished.wait(30)
    assert "a compilation in the background failed" in caplog.text


def test_a_stopped_worker_gives_up_between_pieces():
    worker = background._Worker()
    pieces, started = [], threading.Event()

    def job():
        started.set()
        while True:
            pieces.append(1)
            if worker.stopping.wait(0.01):
                raise background.StoppedError

    worker.submit(job)
    assert started.wait(30)
    worker.stop()
    assert worker.thread is not None
    assert not worker.thread.is_alive()
    assert pieces


def test_finish_returns_when_everything_submitted_before_is_done():
    done = []
    gate = threading.Event()
    background.submit(lambda: (gate.wait(10), done.append(1)))
    threading.Timer(0.05, gate.set).start()
    background.finish()
    assert done == [1]


def test_improvements_wait_while_code_is_asked_for():
    done, finished = [], threading.Event()
    with background.asking():
        background.submit(lambda: done.append("better"), improves=True)
        background.submit(lambda: done.append("needed"))
        background.submit(finished.set)
        assert finished.wait(30)
        assert done == ["needed"]
    background.finish()
    assert done == ["needed", "better"]
