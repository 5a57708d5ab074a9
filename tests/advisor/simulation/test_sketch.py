"""The sketch against numpy on the values themselves."""

from math import inf

import numpy as np
import pytest

from advisor.simulation.sketch import PRECISION, Sketch


def test_against_the_values_themselves() -> None:
    random = np.random.default_rng(1)
    values = 100.0 * np.exp(random.gamma(2.0, 0.2, 50_001))
    sketch = Sketch(100.0)
    for part in np.array_split(values, [1, 2, 700, 30_000]):
        sketch.add(part)
    assert sketch.count == values.size
    assert sketch.mean == pytest.approx(values.mean(), rel=1e-12)
    spread = values.std(ddof=1) / np.sqrt(values.size)
    assert sketch.half_width == pytest.approx(1.96 * spread, rel=1e-4)
    for share in (0.001, 0.5, 0.95, 0.99, 1.0):
        true = np.quantile(values, share, method="inverted_cdf")
        above = sketch.quantile(share) - true
        assert -1e-9 * true <= above <= PRECISION * (true - 100.0) + 1e-9 * true


def test_one_value_and_the_same_values() -> None:
    sketch = Sketch(5.0)
    sketch.add(np.array([5.0]))
    assert (sketch.mean, sketch.half_width, sketch.quantile(0.5)) == (5.0, inf, 5.0)
    sketch.add(np.full(9, 5.0))
    assert (sketch.half_width, sketch.quantile(0.99)) == (0.0, 5.0)


def test_the_last_bin_holds_the_largest() -> None:
    sketch = Sketch(1.0)
    sketch.add(np.array([1.0, 1e9, 1e12]))
    assert sketch.quantile(0.3) == pytest.approx(1.0, rel=1.001e-9)
    assert sketch.quantile(0.99) == 1e12
