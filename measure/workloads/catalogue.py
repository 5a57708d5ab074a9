"""Every workload, by name; importing this needs no torch."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from measure.errors import UsageError
from measure.workloads import sizes

if TYPE_CHECKING:
    from measure.interfaces.workload import Workload


@dataclass(frozen=True, slots=True)
class WorkloadEntry:
    """One line of the catalogue: `plugin` is `module:class`, `sizes` has one size a profile.

    The class is called as `Class(name, size, seed)`. One class may stand in several lines, with
    other sizes: that is how A4, A5 and A7 each get the paper's bytes a rank.
    """

    workload: str
    plugin: str
    sizes: Mapping[str, Any]


WORKLOADS = (
    WorkloadEntry("resnet50", "measure.workloads.resnet:ResNet50", sizes.RESNET50),
    WorkloadEntry("megatron-mlp-a4", "measure.workloads.mlp:MegatronMlp", sizes.MLP_A4),
    WorkloadEntry("megatron-mlp-a5", "measure.workloads.mlp:MegatronMlp", sizes.MLP_A5),
    WorkloadEntry("megatron-mlp-a7", "measure.workloads.mlp:MegatronMlp", sizes.MLP_A7),
    WorkloadEntry("linear-m2", "measure.workloads.linear:LinearControl", sizes.LINEAR_M2),
    WorkloadEntry("transformer", "measure.workloads.transformer:Transformer", sizes.TRANSFORMER),
)
LAYERED = tuple(w.workload for w in WORKLOADS if w.plugin.endswith(":MegatronMlp"))
"""Workloads that can be cut by depth and by width."""


def entry_named(name: str) -> WorkloadEntry:
    """The workload's entry; UsageError with the known names otherwise."""
    for entry in WORKLOADS:
        if entry.workload == name:
            return entry
    known = ", ".join(w.workload for w in WORKLOADS)
    raise UsageError(f"unknown workload {name!r}: known are {known}")


def build(name: str, profile_name: str, seed: int) -> "Workload":
    """The workload in the profile's size: cheap, neither model nor data are made yet.

    UsageError if there is no such workload, or no such profile.
    """
    entry = entry_named(name)
    if profile_name not in entry.sizes:
        known = ", ".join(entry.sizes)
        raise UsageError(f"unknown profile {profile_name!r} of {name}: known are {known}")
    module, _, attribute = entry.plugin.partition(":")
    make = getattr(importlib.import_module(module), attribute)
    workload: Workload = make(name, entry.sizes[profile_name], seed)
    return workload
