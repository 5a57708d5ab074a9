"""Capture and restore in one process: what is in a state, and what is refused."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from measure.state.contract import (
    RankState,
    capture,
    copied,
    joined,
    own_part,
    readdressed,
    restore,
    versions_here,
)
from measure.state.digest import digests
from measure.state.errors import StateMismatchError
from measure.state.names import named_buffers, named_parameters
from tests.measure.state.states import FACTS, adam, alone, trained


def saved(steps: int = 2) -> RankState:
    architecture = alone()
    trained(architecture, steps)
    return copied(capture(architecture, steps, FACTS))


def test_a_state_has_everything_that_a_resume_needs() -> None:
    state = saved()
    plain = json.loads(json.dumps(state.plain))
    assert plain == state.plain
    assert plain["step"] == 2
    assert plain["data"] == {"epoch": 0, "permutation_seed": 7, "offset": 8}
    assert plain["optimizer"]["type"] == "Adam"
    assert plain["optimizer"]["groups"][0]["betas"] == [0.9, 0.999]
    assert (plain["scheduler"], plain["scaler"]) == (None, None)
    assert (plain["rank"], plain["world_size"], plain["batch_per_rank"]) == (0, 1, 4)
    assert plain["sharding"] == {"part": "whole"}
    assert plain["configuration"] == "a configuration"
    names = set(state.tensors)
    assert {"rng.torch", "model.parameters.head.weight"} <= names
    for key in ("exp_avg", "exp_avg_sq", "step"):
        assert f"optimizer.layers.0.attention_in.weight.{key}" in names


def test_capture_copies_nothing_and_copied_does() -> None:
    architecture = alone()
    trained(architecture, 1)
    live = capture(architecture, 1, FACTS)
    kept = copied(live)
    before = digests(live)
    trained(architecture, 1)
    assert digests(live).parameters != before.parameters
    assert digests(kept) == before
    again = copied(live, into=kept)
    name = "model.parameters.head.weight"
    assert again.tensors[name] is kept.tensors[name]
    assert digests(again) == digests(live)


def test_restore_is_in_place_and_exact() -> None:
    architecture = alone()
    trained(architecture, 2)
    state = copied(capture(architecture, 2, FACTS))
    addresses = {n: t.data_ptr() for n, t in capture(architecture, 2, FACTS).tensors.items()}
    straight = trained(architecture, 5)
    restore(architecture, state)
    now = capture(architecture, 2, FACTS)
    assert digests(now) == digests(state)
    assert trained(architecture, 5) == straight
    for name, address in addresses.items():
        assert name.startswith("rng.") or now.tensors[name].data_ptr() == address


def test_a_rank_that_has_not_made_a_step_gets_the_optimizer_too() -> None:
    first, second = alone(), alone()
    trained(first, 2)
    state = copied(capture(first, 2, FACTS))
    straight = trained(first, 4)
    restore(second, state)
    assert trained(second, 4) == straight


def test_a_state_from_before_the_first_step_takes_the_optimizers_tensors_away() -> None:
    architecture = alone()
    state = copied(capture(architecture, 0, FACTS))
    straight = trained(architecture, 3)
    restore(architecture, state)
    assert trained(architecture, 3) == straight


def test_generators_come_back_from_views_into_a_larger_buffer() -> None:
    """As a file is read; torch 2.13 takes the state of such a view from elsewhere in memory."""
    architecture = alone()
    state = copied(capture(architecture, 0, FACTS))
    kept = state.tensors["rng.torch"]
    buffer = torch.zeros(64 + len(kept), dtype=torch.uint8)
    buffer[64:] = kept
    restore(architecture, _with(state, "rng.torch", buffer[64:]))
    assert torch.equal(torch.get_rng_state(), kept)


def _without(state: RankState, name: str) -> RankState:
    return replace(state, tensors={n: t for n, t in state.tensors.items() if n != name})


def _with(state: RankState, name: str, tensor: torch.Tensor) -> RankState:
    return replace(state, tensors={**state.tensors, name: tensor})


def _edited(state: RankState, edit: Callable[[dict[str, Any]], object]) -> RankState:
    plain = copy.deepcopy(state.plain)
    edit(plain)
    return replace(state, plain=plain)


_HEAD = "model.parameters.head.weight"
_MOMENT = "optimizer.head.weight.exp_avg"
_CHANGES: dict[str, tuple[Callable[[RankState], RankState], str]] = {
    "another rank": (lambda s: readdressed(s, 1, 2), "is of rank 1 of 2, this is rank 0 of 1"),
    "a parameter is missing": (lambda s: _without(s, _HEAD), f"only this model has {_HEAD}"),
    "a parameter too many": (
        lambda s: _with(s, "model.parameters.x", torch.ones(1)),
        "only the state has model.parameters.x",
    ),
    "a buffer too many": (
        lambda s: _with(s, "model.buffers.x", torch.ones(1)),
        "only the state has model.buffers.x",
    ),
    "another shape": (
        lambda s: _with(s, _HEAD, torch.ones(2)),
        "float32 [16, 16] here, float32 [2] in the state",
    ),
    "another type": (lambda s: _with(s, _HEAD, s.tensors[_HEAD].double()), "float64 [16, 16] in"),
    "a moment is missing": (lambda s: _without(s, _MOMENT), "optimizer tensors of its"),
    "a moment of another shape": (
        lambda s: _with(s, _MOMENT, torch.ones(2)),
        f"{_MOMENT} is float32 [16, 16] here",
    ),
    "a moment of no parameter": (
        lambda s: _with(_without(s, _MOMENT), "optimizer.x.exp_avg", torch.ones(2)),
        "optimizer.x: the model has no such parameter",
    ),
    "another optimizer": (
        lambda s: _edited(s, lambda p: p["optimizer"].update(type="SGD")),
        "the optimizer is Adam, the state is of SGD",
    ),
    "no optimizer": (
        lambda s: _edited(s, lambda p: p.update(optimizer=None)),
        "only this rank has an optimizer",
    ),
    "other groups": (
        lambda s: _edited(s, lambda p: p["optimizer"].update(groups=[])),
        "has 1 groups, the state 0",
    ),
    "a group of other parameters": (
        lambda s: _edited(s, lambda p: p["optimizer"]["groups"][0]["params"].pop()),
        "group 0 of the optimizer has other parameters",
    ),
    "a group without a setting": (
        lambda s: _edited(s, lambda p: p["optimizer"]["groups"][0].pop("lr")),
        "group 0 of the optimizer: lr is on one side only",
    ),
    "no generator": (lambda s: _without(s, "rng.torch"), "only this rank has a generator"),
    "a device's generator": (
        lambda s: _with(s, "rng.cuda", torch.zeros(16, dtype=torch.uint8)),
        "only the state has a generator rng.cuda",
    ),
    "another generator": (
        lambda s: _with(s, "rng.torch", torch.zeros(16, dtype=torch.uint8)),
        "rng.torch is of another kind",
    ),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_what_does_not_fit_is_refused_and_changes_nothing(change: str) -> None:
    edit, message = _CHANGES[change]
    architecture = alone()
    trained(architecture, 2)
    state = copied(capture(architecture, 2, FACTS))
    trained(architecture, 1)
    before = digests(capture(architecture, 3, FACTS))
    with pytest.raises(StateMismatchError) as raised:
        restore(architecture, edit(state))
    assert message in str(raised.value)
    assert digests(capture(architecture, 3, FACTS)) == before


def test_a_new_optimizers_tensor_must_fit_its_parameter() -> None:
    with pytest.raises(StateMismatchError, match="its parameter float32"):
        restore(alone(), _with(saved(), _MOMENT, torch.ones(2)))


def test_settings_of_the_optimizer_come_back() -> None:
    architecture = alone()
    trained(architecture, 1)
    assert architecture.optimizer is not None
    group = architecture.optimizer.param_groups[0]
    state = copied(capture(architecture, 1, FACTS))
    group["lr"], group["betas"] = 5.0, (0.1, 0.2)
    restore(architecture, state)
    assert (group["lr"], group["betas"]) == (1e-2, (0.9, 0.999))


def test_a_replicated_state_is_put_together_from_two() -> None:
    shared = saved()
    architecture = alone(rank=1, world_size=2)
    trained(architecture, 2)
    own = own_part(copied(capture(architecture, 2, FACTS)))
    assert all(name.startswith("rng.") for name in own.tensors)
    whole = joined(shared, own)
    restore(architecture, whole)
    assert digests(whole).parameters == digests(shared).parameters
    assert digests(whole).rng == digests(own).rng
    with pytest.raises(StateMismatchError, match="is of step 3, rank 1's of 2"):
        joined(saved(3), own)
    with pytest.raises(StateMismatchError, match="0 optimizer tensors of its"):
        joined(own_part(shared), _edited(own, lambda p: p["tensors"].update(parameters=0)))


def test_who_has_no_optimizer_is_given_none() -> None:
    architecture = alone(rank=1, world_size=2)
    architecture.optimizer = None
    own = own_part(capture(architecture, 2, FACTS))
    whole = joined(saved(), own)
    assert not any(name.startswith("optimizer.") for name in whole.tensors)
    restore(architecture, whole)


class _Wrapped(nn.Module):
    """As torch.compile wraps a module."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._orig_mod = module


def test_names_do_not_depend_on_wrapping_and_shared_tensors_count_once() -> None:
    bare = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    wrapped = _Wrapped(nn.Sequential(_Wrapped(bare[0]), bare[1]))
    assert list(named_parameters(wrapped)) == list(named_parameters(bare))
    assert list(named_buffers(wrapped)) == list(named_buffers(bare))
    tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    assert list(named_parameters(tied)) == ["0.weight", "0.bias", "1.bias"]


class _Extra(nn.Linear):
    def get_extra_state(self) -> int:
        return 1


class _Counting(SGD):
    pass


def test_state_that_cannot_be_held_is_refused_when_it_is_captured() -> None:
    with pytest.raises(StateMismatchError, match="the model has extra state"):
        named_buffers(_Extra(1, 1))
    architecture = alone()
    stranger = nn.Parameter(torch.ones(1))
    architecture.optimizer = adam([stranger])
    with pytest.raises(StateMismatchError, match="none of the model's"):
        capture(architecture, 0, FACTS)
    architecture.optimizer = _Counting(architecture.model.parameters(), lr=torch.tensor(0.1))
    with pytest.raises(StateMismatchError, match="lr is a Tensor, which the state contract cannot"):
        capture(architecture, 0, FACTS)


def test_versions_say_what_runs_here() -> None:
    assert versions_here()["torch"] == torch.__version__
    assert set(versions_here()) == {"package", "torch", "python", "commit"}
