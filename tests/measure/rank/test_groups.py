"""How long a rank waits for the others where a group is formed, and for an exchange after it."""

import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import pytest
import torch
import torch.distributed as dist

from measure.rank.groups import ProcessGroups, StorePlace, stay_on_loopback
from tests.measure.ranks import DEADLINE_S, Failed, answers_of

pytestmark = pytest.mark.integration

LIMIT_S, LATE_S = 0.4, 1.5


def _world(groups: ProcessGroups) -> Callable[[torch.Tensor], Any]:
    group = groups.world()
    return lambda tensor: dist.recv(tensor, 1, group=group)


def _pair(groups: ProcessGroups) -> Callable[[torch.Tensor], Any]:
    pair = groups.pair(1 if groups._rank == 0 else 0)
    return lambda tensor: pair.receive(tensor).wait()


def _host_group(groups: ProcessGroups) -> Callable[[torch.Tensor], Any]:
    groups.world()
    group = groups.host_group()
    return lambda tensor: group.recv([tensor], 1, 0).wait()


FORMED = _world, _pair, _host_group


def _waits(port: int, rank: int, size: int, answer: Connection, formed: Any) -> None:
    """Rank 1 arrives late, and sends nothing: how long rank 0 waits for what never comes, s."""
    torch.set_num_threads(1)
    stay_on_loopback()
    groups = ProcessGroups(StorePlace("127.0.0.1", port), rank, size, "gloo", LIMIT_S, LIMIT_S)
    try:
        if rank == 1:
            time.sleep(LATE_S)
        receive = formed(groups)
        if rank == 1:
            time.sleep(DEADLINE_S)
        began = time.monotonic()
        with pytest.raises(RuntimeError, match=r"[Tt]imed out"):
            receive(torch.zeros(4))
        answer.send(time.monotonic() - began)
    except BaseException:
        answer.send(Failed(traceback.format_exc()))


@pytest.mark.parametrize("formed", FORMED, ids=lambda formed: formed.__name__.strip("_"))
def test_who_arrives_late_is_waited_for_and_who_is_silent_is_not(formed: Any) -> None:
    waited_s, _ = answers_of(_waits, 2, (formed,), 1, DEADLINE_S)
    assert isinstance(waited_s, float), waited_s
    assert LIMIT_S * 0.9 <= waited_s < 5.0  # the limit of the exchange, and not that of forming
