"""One bit, of one element, each as likely as any other, and the same one for the same seed."""

import random
from pathlib import Path

import pytest
import torch

from measure.faults.acts.act import CannotStrikeError
from measure.faults.acts.bits import flip_in_file, flip_in_tensors


def bits_of(tensor: torch.Tensor) -> list[int]:
    held = tensor.contiguous().view(-1).view(torch.uint8).tolist()
    return [byte >> bit & 1 for byte in held for bit in range(8)]


def differing_bits(before: torch.Tensor, after: torch.Tensor) -> list[int]:
    pairs = zip(bits_of(before), bits_of(after), strict=True)
    return [number for number, (one, other) in enumerate(pairs) if one != other]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("seed", range(20))
def test_exactly_one_bit_is_flipped(dtype: torch.dtype, seed: int) -> None:
    tensors = {"a": torch.arange(6).reshape(2, 3).to(dtype), "b": torch.tensor(7).to(dtype)}
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    said = flip_in_tensors(tensors, random.Random(seed), None)
    differing = {name: differing_bits(before[name], tensor) for name, tensor in tensors.items()}
    width = 8 * tensors["a"].element_size()
    assert differing.pop(said["tensor"]) == [said["index"] * width + said["bit"]]
    assert list(differing.values()) == [[]]


def test_a_tensor_that_does_not_lie_in_one_piece_is_flipped_in_place() -> None:
    whole = torch.zeros(4, 4)
    said = flip_in_tensors({"column": whole[:, 1]}, random.Random(1), 30)
    changed = whole.nonzero().tolist()
    assert changed == [[said["index"], 1]]
    assert whole[said["index"], 1] == 2.0


def test_the_same_seed_chooses_the_same_bit() -> None:
    found = [flip_in_tensors({"a": torch.ones(1000)}, random.Random(5), None) for _ in range(2)]
    assert found[0] == found[1]


def test_each_element_is_chosen_as_often_as_any_other() -> None:
    drawn = random.Random(0)
    counts = {"small": 0, "large": 0}
    for _ in range(2000):
        tensors = {"small": torch.ones(10), "large": torch.ones(30)}
        counts[flip_in_tensors(tensors, drawn, None)["tensor"]] += 1
    assert counts["small"] / 2000 == pytest.approx(0.25, abs=0.04)


def test_there_has_to_be_an_element() -> None:
    with pytest.raises(CannotStrikeError, match="no such tensor"):
        flip_in_tensors({"empty": torch.zeros(0, 3)}, random.Random(0), None)


@pytest.mark.parametrize("bit", [None, 0, 9, 31])
def test_a_file_changes_in_one_bit_of_the_part_that_is_named(
    tmp_path: Path, bit: int | None
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    said = flip_in_file(path, 40, 20, random.Random(3), bit)
    found = {n: byte for n, byte in enumerate(path.read_bytes()) if byte}
    assert found == {said["offset"]: 1 << said["bit"]}
    assert 40 <= said["offset"] < 60
    if bit is not None:
        assert ((said["offset"] - 40) % 4, said["bit"]) == (bit // 8, bit % 8)


def test_an_empty_file_has_nothing_to_flip(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(CannotStrikeError, match="empty has nothing"):
        flip_in_file(path, 0, 0, random.Random(0))
