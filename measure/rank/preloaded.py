"""What the fork server loads once, so that no rank has to: the rank's own code, and the modules
that torch imports only when an optimizer or DDP is first made. Imports only: a fork server that
computed would have threads, which do not survive a fork.

It is shielded from SIGTERM and SIGUSR1, and so are the ranks: a signal to the whole process group
(a scheduler's, a terminal's) is for the supervisor, who ends its ranks in order.
"""

import gc
import signal

import torch._dynamo
import torch.nn.parallel
import torch.optim
import torch.profiler  # noqa: F401

import measure.rank.main  # noqa: F401

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
# What is loaded here lives for ever: a collection in a rank, which has to happen before a group
# is formed anew, would look through all of it, and copy its pages (1 to 4 s for eight ranks).
gc.freeze()
