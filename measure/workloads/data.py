"""Synthetic data sets that can be learned: made from a seed, with little memory.

Noise comes out of one buffer per data set: sample i reads a window of it, so that a sample costs
a copy and no random numbers, and the memory does not grow with the size of a sample.
"""

import torch
from torch import Tensor
from torch.utils.data import Dataset

from measure.workloads.seeding import generator

_STRIDE = 61
"""Numbers between the windows of two samples; odd, so that windows do not line up with rows."""


class _Noise:
    """`samples` windows of `length` standard normal numbers."""

    def __init__(self, length: int, samples: int, seed: int) -> None:
        size = length + samples * _STRIDE
        self._numbers = torch.randn(size, generator=generator(seed, "noise"))
        self._length = length

    def window(self, index: int) -> Tensor:
        begin = index * _STRIDE
        return self._numbers[begin : begin + self._length]


class PrototypeImages(Dataset[tuple[Tensor, Tensor]]):
    """Images (3, image, image) and their class: a coarse pattern of the class, plus noise."""

    COARSE = 8
    """Height and width of a pattern; an image repeats each of its pixels."""

    def __init__(self, image: int, classes: int, samples: int, seed: int) -> None:
        if image % self.COARSE:
            raise ValueError(f"an image's side must be a multiple of {self.COARSE}, not {image}")
        self._image = image
        drawn = generator(seed, "prototypes")
        self._patterns = torch.randn(classes, 3, self.COARSE, self.COARSE, generator=drawn)
        self._labels = torch.randint(classes, (samples,), generator=drawn)
        self._noise = _Noise(3 * image * image, samples, seed)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        label = self._labels[index]
        repeats = self._image // self.COARSE
        pattern = self._patterns[label].repeat_interleave(repeats, 1).repeat_interleave(repeats, 2)
        return pattern + self._noise.window(index).view_as(pattern), label


class TeacherRegression(Dataset[tuple[Tensor, Tensor]]):
    """Inputs (width,) and targets (width,): two views of one hidden cause of few numbers.

    The input shows the cause through a random matrix, with noise; the target is what a random
    network of one layer makes of the cause.
    """

    CAUSES = 8

    def __init__(self, width: int, samples: int, seed: int) -> None:
        drawn = generator(seed, "teacher")
        scale = self.CAUSES**-0.5
        self._causes = torch.randn(samples, self.CAUSES, generator=drawn)
        self._shown = torch.randn(self.CAUSES, width, generator=drawn) * scale
        self._teacher = torch.randn(self.CAUSES, width, generator=drawn) * scale
        self._noise = _Noise(width, samples, seed)

    def __len__(self) -> int:
        return len(self._causes)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        cause = self._causes[index]
        inputs = torch.add(cause @ self._shown, self._noise.window(index), alpha=0.1)
        return inputs, torch.tanh(cause) @ self._teacher


class MarkovTokens(Dataset[tuple[Tensor, Tensor]]):
    """Sequences (length,) of tokens and the tokens that follow each, from one Markov chain.

    Each token is followed by one of `SUCCESSORS` others: a model that knows the last token can
    bring the loss down to log(SUCCESSORS).
    """

    SUCCESSORS = 3

    def __init__(self, vocabulary: int, length: int, samples: int, seed: int) -> None:
        drawn = generator(seed, "chain")
        follows = torch.randint(vocabulary, (vocabulary, self.SUCCESSORS), generator=drawn)
        choices = torch.randint(self.SUCCESSORS, (length + 1, samples), generator=drawn)
        tokens = torch.empty(length + 1, samples, dtype=torch.int32)
        tokens[0] = torch.randint(vocabulary, (samples,), generator=drawn)
        for place in range(length):
            tokens[place + 1] = follows[tokens[place].long(), choices[place]]
        self._tokens = tokens.T.contiguous()

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        tokens = self._tokens[index].long()
        return tokens[:-1], tokens[1:]
