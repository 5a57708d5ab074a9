"""How many synthetic runs a test makes: a hundred in the suite, a thousand by `make monitors`."""

import pytest

HUNDRED_OR_THOUSAND = [100, pytest.param(1000, marks=pytest.mark.soak)]
