"""Every path that a calibration measures, in the order in which they are prepared."""

from measure.calibration.device import DeviceToHost, HostToDevice
from measure.calibration.groups import GroupFormation
from measure.calibration.memory import HostCopy
from measure.calibration.path import CalibratedPath
from measure.calibration.peer import Peer
from measure.calibration.restores import RestoreOwn, RestorePeer, RestoreStorage
from measure.calibration.serialisation import Deserialise, Serialise
from measure.calibration.starting import ProcessStart
from measure.calibration.storage import StorageRead, StorageWrite
from measure.calibration.verification import Verify


def all_paths() -> list[CalibratedPath]:
    """New objects of all of them."""
    return [
        HostCopy(),
        HostToDevice(),
        DeviceToHost(),
        Serialise(),
        Deserialise(),
        Verify(),
        Peer(),
        StorageWrite(),
        StorageRead(),
        GroupFormation(),
        ProcessStart(),
        RestoreStorage(),
        RestoreOwn(),
        RestorePeer(),
    ]
