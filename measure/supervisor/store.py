"""The store through which ranks find each other: one a run, on one interface only."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import torch.distributed as dist

LOOPBACK = "127.0.0.1"


@contextmanager
def hosted_store(host: str = LOOPBACK) -> Iterator[int]:
    """Serves a store at this address until the block is left; yields its port."""
    listener = socket.socket()
    # Bound here and handed over: a store that binds by itself listens on every interface.
    listener.bind((host, 0))
    listener.listen(128)
    port: int = listener.getsockname()[1]
    store = dist.TCPStore(
        host, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    try:
        yield port
    finally:
        del store  # the server ends with its last reference
