"""Pieces of code that several tools are given: Python for the reader's own training script."""

WARNING_IMPORTS = "import signal"
WARNING = '''
_warned = False


def _on_warning(number, frame):
    """Notes the warning only: a save within a signal handler would not be safe."""
    global _warned
    _warned = True


def listen():
    """Call it once, before training."""
    signal.signal(getattr(signal, SIGNAL), _on_warning)


def warned():
    """Whether any rank was warned. Call it on every rank after each step: it is a collective."""
    flag = torch.tensor([int(_warned)], device=DEVICE)
    if dist.is_initialized():
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())
'''
"""Expects `torch`, `dist`, `SIGNAL` and `DEVICE`."""
