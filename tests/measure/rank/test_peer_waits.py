"""What counts as waiting for a peer."""

import os
import subprocess
import sys
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
    """A child that never sleeps, on the same core: this thread works until it was put off for a
    tenth of a second."""
    cores = os.sched_getaffinity(0)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        os.sched_setaffinity(busy.pid, {min(cores)})
        os.sched_setaffinity(0, {min(cores)})
        began, began_at, used_before_s = time.monotonic(), clock(), time.thread_time()
        put_off_s = 0.0
        while put_off_s < 0.1:
            used_s = time.thread_time() - used_before_s
            put_off_s = time.monotonic() - began - used_s
        passed_s = clock() - began_at
    finally:
        os.sched_setaffinity(0, cores)
        busy.kill()
        busy.wait()
    assert passed_s < used_s + put_off_s - 0.05
    assert passed_s >= used_s - 0.02


def test_a_wait_that_breaks_off_counts_too() -> None:
    before_s = waited_s()
    try:
        with for_peers():
            time.sleep(0.02)
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
