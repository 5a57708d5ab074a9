"""What the fork server loads once for all tests: the helper, and every plug-in."""

import importlib

from measure.architectures.catalogue import ARCHITECTURES
from measure.architectures.registry import load
from measure.workloads.catalogue import WORKLOADS

for _entry in ARCHITECTURES:
    load(_entry)
for _workload in WORKLOADS:
    importlib.import_module(_workload.plugin.partition(":")[0])
