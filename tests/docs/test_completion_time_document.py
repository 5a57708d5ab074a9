"""docs/completion_time.md: its numbers are recomputed."""

from advisor.checkpoint_interval import equation_5_interval_s, exact_interval_s
from advisor.exact_time import FLAT_WASTE, SHOWN_DIFFERENCE
from tests.docs import pictures
from tests.docs.documents import read, sections, table_with
from tests.docs.equation_5_error import error
from tests.docs.test_equation_5_document import holds

TEXT = read("completion_time.md")
SECTIONS = sections(TEXT)


def test_the_table_of_errors() -> None:
    rows = table_with(SECTIONS["How far Eq. (5) is off"], "M / D")
    assert list(rows) == ["3", "10", "30", "100", "1000", "100000"]
    for name, cells in rows.items():
        for cell, share in zip(cells, (1.0, 0.5, 0.0), strict=True):
            assert holds(cell, 100 * error(float(name), 0.1, share))


def test_how_much_longer_equation_5s_interval_is() -> None:
    words = " ".join(TEXT.split())
    for stated, save_s in (("15.5 % longer than the exact one", 1e-6), ("26 % for saves of", 0.1)):
        longer = (
            float(equation_5_interval_s(save_s, 3.0, 1.0) / exact_interval_s(save_s, 3.0)) - 1.0
        )
        assert stated in words
        assert holds(stated, 100 * longer)


def test_the_thresholds() -> None:
    words = " ".join(TEXT.split())
    assert f"differ by more than {SHOWN_DIFFERENCE:.0%}".replace("%", " %") in words
    assert f"less than {100 * FLAT_WASTE:g} points apart" in words


def test_the_picture_is_what_the_formulas_say() -> None:
    """Written by `python -m tests.docs.pictures`; points are rounded to a tenth of a pixel."""
    assert pictures.FILE.read_text(encoding="utf-8") == pictures.picture()
    assert f"](pictures/{pictures.FILE.name})" in TEXT
