"""Where a rank's process begins, by reference: importing this costs no torch, which only the fork
server has to load."""

from multiprocessing.connection import Connection


def run_on_node(job_json: str, slot: int, place_json: str, pipe: Connection) -> None:
    """The whole life of a rank on one of several nodes; see measure.rank.main."""
    from measure.rank.main import live_at, place_of

    live_at(job_json, slot, place_of(place_json), pipe)


def nothing(pipe: Connection) -> None:
    """A process that only shows that the fork server is ready."""
    pipe.close()
