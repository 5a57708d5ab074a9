"""What a job costs: GPU-hours and money. One rank has one GPU (docs/glossary.md)."""

import re
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

from advisor.errors import UserError

PRICE_EXAMPLE = "2.50USD or 1.9EUR"
_HOUR_S = 3600.0
_PRICE = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]{3})\s*")


@dataclass(frozen=True, slots=True)
class Price:
    """Of one GPU for one hour, in a currency (three letters, as in ISO 4217)."""

    amount: float
    currency: str


def parse_price(text: str) -> Price:
    """From `2.50USD`: an amount of 0 or more with its currency. Raises UserError."""
    found = _PRICE.fullmatch(text)
    if found is None:
        raise UserError(
            f"{text[:30]!r} is not a price of a GPU-hour: write an amount with its currency, such "
            f"as {PRICE_EXAMPLE}"
        )
    return Price(float(Decimal(found[1])), found[2].upper())


def gpu_hours(world_size: int, seconds: float) -> float:
    """GPU-hours that so many ranks take in that time (s)."""
    return world_size * seconds / _HOUR_S


def money(hours: float, price: Price) -> float:
    """GPU-hours x price, in the currency of the price."""
    return hours * price.amount


def format_money(amount: float, currency: str) -> str:
    """Whole units from 100 on, cents below: `1,234 USD`, `12.50 USD`."""
    if not isfinite(amount):
        raise ValueError(f"no amount of money: {amount}")
    return f"{amount:,.0f} {currency}" if amount >= 100.0 else f"{amount:.2f} {currency}"
