"""Numbers of ranks: how many there can be, and texts that name them."""

from advisor.errors import UserError
from advisor.units import parse_whole, whole_number

LARGEST_WORLD_SIZE = 1_000_000


def parse_world_size(text: str) -> int:
    """A number of ranks. Raises UserError."""
    return parse_whole(text, "a number of ranks", 1, LARGEST_WORLD_SIZE)


def parse_world_sizes(text: str) -> tuple[int, ...]:
    """`8,16,64`, or `8..1024`, which doubles from 8 and ends with 1024. Raises UserError."""
    sizes: set[int] = set()
    for part in text.split(","):
        first, dots, last = part.partition("..")
        low, high = _whole(first, text), _whole(last if dots else first, text)
        if low > high:
            raise UserError(f"{part.strip()} goes downwards: write {high}..{low}")
        size = low
        while size < high:
            sizes.add(size)
            size *= 2
        sizes.add(high)
    return tuple(sorted(sizes))


def _whole(text: str, whole: str) -> int:
    count = whole_number(text)
    if count is None:
        raise UserError(
            f"{whole[:40]!r} are no world sizes: write numbers of ranks, such as 8,16,64 or 8..1024"
        )
    return require_ranks(count, "a world size")


def require_ranks(count: int, what: str) -> int:
    """The number, if a job can have so many ranks. Raises UserError that says `what` it is."""
    if not 1 <= count <= LARGEST_WORLD_SIZE:
        raise UserError(f"{what}: {count}; it must be from 1 to {LARGEST_WORLD_SIZE:,}")
    return count
