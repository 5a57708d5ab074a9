"""A2, ring all-reduce: PyTorch's DistributedDataParallel (paper, section II-A)."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from measure.architectures.replicated import ReplicatedTraining


class RingAllReduce(ReplicatedTraining):
    """gloo's all-reduce is a ring by itself; NCCL is told to use one."""

    nccl_algorithm = "Ring"

    def communicate_with(self, replica: DistributedDataParallel, group: dist.ProcessGroup) -> None:
        """Leaves the replica with its own all-reduce."""
