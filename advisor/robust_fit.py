"""A line through durations, fitted on relative errors, with intervals that outliers do not widen.

symbol  name here    meaning
x       at           what a duration grows with: bytes or ranks; one column beside the constant
t       durations    measured, seconds, above zero
m       predicted    constant + slope x
r       residuals    t / m - 1: a millisecond counts on a short transfer as seconds do on a long one
s       scale        spread of r, from the median of |r|
k       _BEND        residuals beyond k s count by their sign only (Huber, 1964)

The estimate solves sum psi(r / s) z = 0 with z = (1, x) / m, by weighted least squares repeated.
Its covariance is the sandwich (Z'DZ)^-1 (sum psi^2 z z' / (1 - h)) (Z'DZ)^-1, h the leverages,
which holds also where short transfers scatter more than long ones. The interval takes Student's t,
with as many degrees of freedom as there are samples that decide. All of it works on many sets of
durations at once: the last axis has the samples, the ones before it the sets.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from db.pooling import t_quantile_95

Array = NDArray[np.float64]

_BEND = 1.345
"""95 % of least squares' precision where nothing lies out."""
_MAD_TO_SIGMA = 1.4826
_ROUNDS = 40
_SETTLED = 1e-10
_LEAST_SCALE = 1e-12
_LARGEST_LEVERAGE = 0.9
_LEAST_SPREAD = 1e-24


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient and its 95 % interval; arrays where several sets were fitted at once."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted line. `slope` is None where only a constant was fitted."""

    constant: Estimate
    slope: Estimate | None
    scale: Array
    """Spread of a single sample about the line, as a fraction of it."""
    outliers: NDArray[np.int64]
    """Samples that lie beyond the bend, and count by their sign only."""


def fit_line(at: ArrayLike, durations: ArrayLike) -> Fitted:
    """Fits constant + slope x, both at least zero, to durations of shape (..., n).

    Raises ValueError unless there are four samples, at two different x, all above zero.
    """
    x, t = np.asarray(at, float), np.asarray(durations, float)
    _check(t, 4)
    if x.shape != t.shape[-1:] or not np.all(np.isfinite(x)) or np.ptp(x) == 0.0 or x.min() < 0:
        raise ValueError("a line needs a size for each duration, and two different ones")
    # Sizes are of order 1 while it is fitted, so that no matrix is near singular.
    unit = float(x.max())
    columns = np.stack([np.ones_like(x), x / unit])
    values, low, high, scale, outliers = _fit(columns, t)
    return Fitted(
        Estimate(values[..., 0], low[..., 0], high[..., 0]),
        Estimate(values[..., 1] / unit, low[..., 1] / unit, high[..., 1] / unit),
        scale,
        outliers,
    )


def fit_constant(durations: ArrayLike) -> Fitted:
    """Fits one duration to samples of shape (..., n). ValueError unless there are two."""
    t = np.asarray(durations, float)
    _check(t, 2)
    values, low, high, scale, outliers = _fit(np.ones((1, t.shape[-1])), t)
    return Fitted(Estimate(values[..., 0], low[..., 0], high[..., 0]), None, scale, outliers)


def _check(durations: Array, least: int) -> None:
    if durations.ndim < 1 or durations.shape[-1] < least:
        raise ValueError(f"a fit needs {least} samples or more")
    if not np.all(np.isfinite(durations)) or not np.all(durations > 0.0):
        raise ValueError("every duration must be finite and above zero")


def _fit(columns: Array, t: Array) -> tuple[Array, Array, Array, Array, NDArray[np.int64]]:
    """(values, low, high), each of shape (..., columns), then scale and outliers."""
    values = _solved(columns, t, 1.0 / t**2)
    scale = _scale(columns, values, t)
    for _ in range(_ROUNDS):
        predicted = _at_values(columns, values)
        residuals = t / predicted - 1.0
        scale = _scale_of(residuals, len(columns))
        weights = _weights(residuals, scale) / predicted**2
        found = _solved(columns, t, weights)
        moved = np.max(np.abs(_at_values(columns, found) / predicted - 1.0), initial=0.0)
        values = found
        if moved < _SETTLED:
            break
    predicted = _at_values(columns, values)
    residuals = t / predicted - 1.0
    half = _half_widths(columns, predicted, residuals, scale, values)
    outliers = np.sum(np.abs(residuals) > _BEND * scale[..., None], axis=-1)
    return values, np.maximum(values - half, 0.0), values + half, scale, outliers


def _at_values(columns: Array, values: Array) -> Array:
    predicted: Array = values @ columns
    return predicted


def _scale(columns: Array, values: Array, t: Array) -> Array:
    return _scale_of(t / _at_values(columns, values) - 1.0, len(columns))


def _scale_of(residuals: Array, parameters: int) -> Array:
    n = residuals.shape[-1]
    median = np.median(np.abs(residuals), axis=-1)
    scaled: Array = _MAD_TO_SIGMA * median * np.sqrt(n / (n - parameters))
    return np.maximum(scaled, _LEAST_SCALE)


def _weights(residuals: Array, scale: Array) -> Array:
    """psi(u) / u of u = r / s."""
    size = np.abs(residuals) / scale[..., None]
    weights: Array = np.minimum(1.0, _BEND / np.maximum(size, _LEAST_SCALE))
    return weights


def _solved(columns: Array, t: Array, weights: Array) -> Array:
    """Weighted least squares, no coefficient below zero."""
    if len(columns) == 1:
        return _alone(columns[0], t, weights)[..., None]
    free = _both(columns[1], t, weights)
    first, second = (_alone(column, t, weights) for column in columns)
    none = np.zeros_like(first)
    only_first, only_second = np.stack([first, none], -1), np.stack([none, second], -1)
    found: Array = np.where((free[..., 0] < 0.0)[..., None], only_second, free)
    return np.where((free[..., 1] < 0.0)[..., None], only_first, found)


def _alone(column: Array, t: Array, weights: Array) -> Array:
    found: Array = np.sum(weights * column * t, axis=-1) / np.sum(weights * column**2, axis=-1)
    return found


def _both(column: Array, t: Array, weights: Array) -> Array:
    """(constant, slope), from distances to the means: no difference of large numbers. A slope of
    zero where all the weight is at one x."""
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    mean_x, mean_t = np.sum(weights * column, axis=-1), np.sum(weights * t, axis=-1)
    x = column - mean_x[..., None]
    spread = np.sum(weights * x**2, axis=-1)
    together = np.sum(weights * x * (t - mean_t[..., None]), axis=-1)
    slope = np.divide(together, spread, out=np.zeros_like(spread), where=spread > _LEAST_SPREAD)
    return np.stack([mean_t - slope * mean_x, slope], axis=-1)


def _half_widths(
    columns: Array, predicted: Array, residuals: Array, scale: Array, values: Array
) -> Array:
    """Half the 95 % interval of each coefficient, from the sandwich of the relative errors.

    A coefficient that was held at zero is not estimated: the other one's interval is that of a
    fit without it, and its own is as wide as if both were free.
    """
    z = columns / predicted[..., None, :]  # (..., columns, n)
    bend = _BEND * scale[..., None]
    inside = (np.abs(residuals) <= bend).astype(float)
    psi = np.clip(residuals, -bend, bend)
    bread = np.linalg.pinv(np.einsum("...in,...n,...jn->...ij", z, inside, z), hermitian=True)
    hat = np.einsum("...im,...ij,...jn->...mn", z, bread, z)
    left = 1.0 - np.clip(np.diagonal(hat, axis1=-2, axis2=-1), 0.0, _LARGEST_LEVERAGE)
    pull = np.einsum("...ij,...jn->...in", bread, z)  # how far each sample moves each coefficient
    variances = np.sum(pull**2 * (psi**2 / left)[..., None, :], axis=-1)
    half: Array = _t_quantile(_degrees(pull, hat, left)) * np.sqrt(variances)
    return half


def _degrees(pull: Array, hat: Array, left: Array) -> Array:
    """Degrees of freedom behind each coefficient's variance (Bell and McCaffrey, 2002): few where
    few samples decide it, as the short transfers do on the constant."""
    n = hat.shape[-1]
    shares = pull**2 / np.sum(pull**2, axis=-1, keepdims=True) / left[..., None, :]
    residual_maker = (np.eye(n) - hat) ** 2
    found: Array = 1.0 / np.einsum("...im,...mn,...in->...i", shares, residual_maker, shares)
    return np.clip(found, 1.0, n - 1.0)


def _t_quantile(degrees: Array) -> Array:
    """Student's t for a two-sided 95 %, between whole degrees of freedom by their inverses."""
    whole = np.arange(1, 121)
    quantiles = np.array([t_quantile_95(int(each)) for each in whole])
    found: Array = np.interp(-1.0 / degrees, -1.0 / whole, quantiles)
    return found
