"""GPU-hours and money."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.cost import Price, format_money, gpu_hours, money, parse_price
from advisor.errors import UserError


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("2.50USD", Price(2.5, "USD")),
        (" 1.9 eur ", Price(1.9, "EUR")),
        ("0CHF", Price(0.0, "CHF")),
    ],
)
def test_prices_read(text: str, price: Price) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize(
    "text", ["2.50", "$2.50", "USD", "-1USD", "1e3USD", "2,5USD", "", "9" * 30]
)
def test_what_is_no_price_says_what_would_be(text: str) -> None:
    with pytest.raises(UserError, match=r"such as 2.50USD or 1.9EUR"):
        parse_price(text)


@given(st.integers(1, 10**6), st.floats(0.0, 1e9), st.floats(0.0, 1e3))
def test_cost_is_gpu_hours_times_price(world_size: int, seconds: float, amount: float) -> None:
    hours = gpu_hours(world_size, seconds)
    assert hours == pytest.approx(world_size * seconds / 3600.0)
    assert money(hours, Price(amount, "EUR")) == hours * amount


def test_money_has_cents_where_they_matter() -> None:
    assert format_money(12.5, "USD") == "12.50 USD"
    assert format_money(1234.5, "EUR") == "1,234 EUR"
    with pytest.raises(ValueError, match="no amount"):
        format_money(float("inf"), "EUR")
