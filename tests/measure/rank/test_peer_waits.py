"""What counts as waiting for a peer."""

import threading
import time

from measure.rank.peer_waits import add, for_peers, waited_s


def test_what_is_waited_within_is_counted_and_nothing_else() -> None:
    before_s = waited_s()
    time.sleep(0.02)
    assert waited_s() == before_s
    began = time.monotonic()
    with for_peers():
        time.sleep(0.05)
    assert 0.05 <= waited_s() - before_s <= time.monotonic() - began


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
