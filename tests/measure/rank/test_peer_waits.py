"""What counts as waiting for a peer."""

import multiprocessing
import os
import threading
import time

from measure.rank.peer_waits import add, clock, for_peers, waited_s


def test_what_is_waited_within_is_counted_and_nothing_else() -> None:
    before_s = waited_s()
    time.sleep(0.02)
    assert waited_s() == before_s
    began, began_at = time.monotonic(), clock()
    with for_peers():
        time.sleep(0.05)
    assert 0.04 <= waited_s() - before_s <= clock() - began_at <= time.monotonic() - began + 1e-3


def test_the_clock_stands_still_while_others_have_the_processor() -> None:
    """Four threads that need one all the time, and at most the cores of this machine."""
    before_s, began, began_at = time.process_time(), time.monotonic(), clock()
    with multiprocessing.get_context("spawn").Pool(2 * (os.cpu_count() or 1)) as busy:
        working = busy.map_async(_work, range(2 * (os.cpu_count() or 1)))
        while not working.ready():
            _work(0, 0.01)
    used_s = time.process_time() - before_s
    assert clock() - began_at < time.monotonic() - began
    assert clock() - began_at >= 0.9 * used_s - 0.1


def _work(_: int, seconds: float = 1.0) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_wait_that_breaks_off_counts_too() -> None:
    before_s = waited_s()
    try:
        with for_peers():
            time.sleep(0.01)
            raise RuntimeError
    except RuntimeError:
        pass
    assert waited_s() - before_s >= 0.01


def test_other_threads_wait_without_training_waiting_for_them() -> None:
    before_s = waited_s()
    other = threading.Thread(target=add, args=(5.0,))
    other.start()
    other.join()
    assert waited_s() == before_s
    add(0.5)
    assert waited_s() == before_s + 0.5
