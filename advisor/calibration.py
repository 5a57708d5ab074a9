"""What a cluster's calibration says that moving state takes: sums of the lines fitted to its paths.

A restore is what the code does, one after the other (seconds; k is the number of replicas):

storage tiers   storage read + deserialise, which verifies
own slot        verify
memory tiers    (1 + k) x (peer + verify): whoever takes a lost rank's place gets its state, and
                those that it is to hold for others
with a device   + host to device

Not in it: what ranks agree on meanwhile, the digests that are compared afterwards, and copying a
state into a model on the host.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from advisor.characterization import kept
from advisor.units import format_bytes, format_bytes_per_s, format_duration
from db.records import CalibrationFit, CalibrationPath, ClusterEvidence, TransferPath

Fits = Mapping[tuple[CalibrationPath, int], CalibrationFit]
"""By path, and by how many processes use it at once."""

_PROCESSES = {CalibrationPath.PEER: 2}


@dataclass(frozen=True, slots=True)
class Term:
    """So many times what one path takes."""

    times: int
    fit: CalibrationFit


@dataclass(frozen=True, slots=True)
class CalibratedTransfer:
    """A transfer as a sum of fitted paths."""

    terms: tuple[Term, ...]

    def duration_s(self, size_bytes: float, storage_scale: float = 1.0) -> float:
        """What it takes (s); `storage_scale` is how many times slower the storage is than the one
        that was measured."""
        return sum(
            term.times
            * term.fit.duration_s(size_bytes)
            * (storage_scale if term.fit.path in _STORAGE else 1.0)
            for term in self.terms
        )

    def scale(self, size_bytes: float, from_bytes: float) -> float:
        """How many times as long the size takes as `from_bytes` does."""
        return self.duration_s(size_bytes) / self.duration_s(from_bytes)

    @property
    def smallest_bytes(self) -> int:
        """From this size on, every path was measured."""
        return max(term.fit.smallest_bytes or 0 for term in self.terms)

    @property
    def largest_bytes(self) -> int:
        """Up to this size, every path was measured."""
        return min(term.fit.largest_bytes or 0 for term in self.terms)

    @property
    def samples(self) -> int:
        """How many samples the fits rest on."""
        return sum(term.fit.n for term in self.terms)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The calibrations that the fits are of."""
        return tuple(sorted({term.fit.session for term in self.terms}))

    def in_words(self) -> str:
        """`2 x (peer + verify) = 3.2 ms + size / 310 MB/s, fitted to ...`."""
        latency_s = self.duration_s(0.0)
        s_per_byte = self.duration_s(1.0) - latency_s
        rate = f" + size / {format_bytes_per_s(1.0 / s_per_byte)}" if s_per_byte > 0.0 else ""
        return (
            f"{self._sum()} = {format_duration(latency_s)}{rate}, fitted to {self.samples} samples "
            f"of {format_bytes(self.smallest_bytes)} to {format_bytes(self.largest_bytes)} "
            f"(calibration {', '.join(self.sessions)})"
        )

    def _sum(self) -> str:
        grouped: dict[int, list[str]] = {}
        for term in self.terms:
            grouped.setdefault(term.times, []).append(term.fit.path.value.replace("_", " "))
        parts = (
            " + ".join(names) if times == 1 else f"{times} x ({' + '.join(names)})"
            for times, names in grouped.items()
        )
        return " + ".join(parts)


_STORAGE = frozenset({CalibrationPath.STORAGE_READ, CalibrationPath.STORAGE_WRITE})


@kept
def newest_fits(evidence: ClusterEvidence) -> Fits:
    """Of each path the fit of the newest calibration that measured it."""
    return fits_by_path(evidence.fits)


def fits_by_path(fits: Iterable[CalibrationFit]) -> Fits:
    """The same of some fits, oldest first."""
    return {(fit.path, fit.processes): fit for fit in fits}


def restore_transfer(fits: Fits, path: TransferPath, replicas: int) -> CalibratedTransfer | None:
    """What a restore over this path takes; None where a part of it was not calibrated.

    `host_device` is a restore from memory of the host: without replicas a rank's own, else that of
    the rank that was lost, which its peers have.
    """
    wanted: list[tuple[int, CalibrationPath]]
    if path is TransferPath.STORAGE_READ:
        wanted = [(1, CalibrationPath.STORAGE_READ), (1, CalibrationPath.DESERIALISE)]
    elif path is not TransferPath.HOST_DEVICE:
        return None
    elif replicas:
        wanted = [(1 + replicas, CalibrationPath.PEER), (1 + replicas, CalibrationPath.VERIFY)]
    else:
        wanted = [(1, CalibrationPath.VERIFY)]
    if (CalibrationPath.HOST_TO_DEVICE, 1) in fits:
        wanted.append((1, CalibrationPath.HOST_TO_DEVICE))
    return _summed(fits, wanted)


_SAVED_OVER = {
    TransferPath.STORAGE_WRITE: CalibrationPath.STORAGE_WRITE,
    TransferPath.HOST_COPY: CalibrationPath.HOST_COPY,
    TransferPath.PEER: CalibrationPath.PEER,
}


def save_transfer(fits: Fits, path: TransferPath) -> CalibratedTransfer | None:
    """What the path of a save takes: how a save's time goes with its size."""
    if path not in _SAVED_OVER:
        return None
    return _summed(fits, [(1, _SAVED_OVER[path])])


def restored_by(fits: Fits, path: CalibrationPath) -> CalibratedTransfer | None:
    """What is predicted of a real restore that a calibration made as a check."""
    if path is CalibrationPath.RESTORE_STORAGE:
        wanted = [(1, CalibrationPath.STORAGE_READ), (1, CalibrationPath.DESERIALISE)]
    elif path is CalibrationPath.RESTORE_OWN:
        wanted = [(1, CalibrationPath.VERIFY)]
    elif path is CalibrationPath.RESTORE_PEER:  # of two ranks with one replica each
        wanted = [(2, CalibrationPath.PEER), (2, CalibrationPath.VERIFY)]
    else:
        return None
    return _summed(fits, wanted)


def _summed(fits: Fits, wanted: Iterable[tuple[int, CalibrationPath]]) -> CalibratedTransfer | None:
    terms = []
    for times, path in wanted:
        fit = fits.get((path, _PROCESSES.get(path, 1)))
        if fit is None or fit.smallest_bytes is None:
            return None
        terms.append(Term(times, fit))
    return CalibratedTransfer(tuple(terms))
