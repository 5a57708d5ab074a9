"""Kinds of failures by how many nodes they take at once (F2), as a person names them. Pure.

The severity of a kind is that number: what survives the loss of so many nodes survives it.
"""

from math import fsum

from advisor.errors import UserError
from advisor.simulation.process import SURVIVES_ALL, Kind
from advisor.units import format_apart, format_percent, parse_fraction, whole_number

KINDS_EXAMPLE = "0:90%,1:8%,2:2%"
ALL_EXAMPLE = "0:90%,1:8%,all:2%"
MOST_NODES = 64
_WHOLE = 1e-9
"""What the shares may differ from 1 by rounding."""


def parse_kinds(text: str, *, all_too: bool = False) -> tuple[Kind, ...]:
    """Such as `0:90%,1:8%,2:2%`: nodes that a failure takes at once, each with its share of all.

    0 is a failure that takes no node, such as a process that ends; with `all_too`, `all` takes all
    of them. In rising order, those without a share left out. Raises UserError with what would be
    valid.
    """
    shares: dict[int, float] = {}
    for part in text.split(","):
        nodes, colon, share = (each.strip() for each in part.partition(":"))
        is_all = all_too and nodes.lower() == "all"
        number = SURVIVES_ALL if is_all else whole_number(nodes)
        is_known = number is not None and (is_all or number <= MOST_NODES)
        if not colon or number is None or not is_known or number in shares:
            raise UserError(
                f"{text[:60]!r} does not say how many nodes failures take at once: write each "
                f"number from 0 to {MOST_NODES}{', or all,' if all_too else ''} once, with its "
                f"share, such as {ALL_EXAMPLE if all_too else KINDS_EXAMPLE}"
            )
        shares[number] = parse_fraction(share)
    total = fsum(shares.values())
    if abs(total - 1.0) > _WHOLE:
        together, whole = format_apart(total, 1.0, format_percent, "%")
        raise UserError(
            f"the shares of the failures add up to {together}, not to {whole}: write all of them, "
            f"as in {KINDS_EXAMPLE}"
        )
    return tuple(Kind(share, nodes, nodes) for nodes, share in sorted(shares.items()) if share)
