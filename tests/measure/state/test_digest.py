"""What a digest sees and what it does not."""

import copy
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from measure.state.contract import RankState
from measure.state.digest import canonical, digests
from tests.measure.state.states import small_state, state_of


def changed_parts(before: RankState, after: RankState) -> set[str]:
    one, other = asdict(digests(before)), asdict(digests(after))
    parts = {name for name in one if one[name] != other[name]}
    assert (digests(before).whole != digests(after).whole) == bool(parts)
    return parts


def _tensor(name: str, edit: Callable[[Tensor], Tensor]) -> Callable[[RankState], RankState]:
    return lambda s: replace(s, tensors={**s.tensors, name: edit(s.tensors[name].clone())})


def _plain(*path: str, value: Any) -> Callable[[RankState], RankState]:
    def edit(state: RankState) -> RankState:
        plain = copy.deepcopy(state.plain)
        place = plain
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return replace(state, plain=plain)

    return edit


def _flip_last_bit(tensor: Tensor) -> Tensor:
    tensor.view(torch.uint8)[0] ^= 1
    return tensor


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (_tensor("model.parameters.w", _flip_last_bit), "parameters"),
        (_tensor("model.parameters.w", lambda t: t.view(torch.int32)), "parameters"),
        (_tensor("model.parameters.w", lambda t: t.view(3, 1)), "parameters"),
        (_tensor("model.buffers.count", lambda t: t + 1), "buffers"),
        (_tensor("optimizer.w.momentum", _flip_last_bit), "optimizer"),
        (_plain("optimizer", "type", value="Adam"), "optimizer"),
        (_tensor("rng.torch", _flip_last_bit), "rng"),
        (_plain("rng", value={"python": []}), "rng"),
        (_plain("step", value=9), "position"),
        (_plain("data", "offset", value=9), "position"),
        (_plain("data", "permutation_seed", value=9), "position"),
        (_plain("data", "epoch", value=9), "position"),
        (_plain("rank", value=9), "facts"),
        (_plain("anything", value=9), "facts"),
    ],
)
def test_a_change_shows_in_its_part_alone(
    edit: Callable[[RankState], RankState], part: str
) -> None:
    state = small_state(3)
    assert changed_parts(state, edit(state)) == {part}


def test_names_count_too() -> None:
    one, other = torch.ones(2), torch.zeros(2)
    assert changed_parts(state_of(a=one, b=other), state_of(a=other, b=one)) == {"parameters"}
    assert changed_parts(state_of(a=one), state_of(b=one)) == {"parameters"}


def test_neither_order_nor_memory_layout_counts() -> None:
    values = torch.arange(12.0).view(3, 4)
    turned = values.T.contiguous().T
    assert not turned.is_contiguous()
    assert not changed_parts(state_of(a=values, b=values), state_of(b=turned, a=values))
    assert not changed_parts(state_of(a=values[1:]), state_of(a=values[1:].clone()))


def test_equal_numbers_of_other_bits_are_other_states() -> None:
    assert changed_parts(state_of(a=torch.tensor(0.0)), state_of(a=torch.tensor(-0.0)))


def test_a_name_outside_the_contract_is_refused() -> None:
    state = RankState({"weights": torch.ones(1)}, {})
    with pytest.raises(ValueError, match="'weights' is no name"):
        digests(state)


def test_canonical_json_has_one_form_and_no_nan() -> None:
    assert canonical({"b": 0.1, "a": "é"}) == b'{"a":"\\u00e9","b":0.1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("nan"))
