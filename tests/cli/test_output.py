"""Numbers in tables."""

import pytest

from widthwise.cli.output import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00000"),
        (0.0123456, "0.01235"),
        (0.999999, "1.00000"),
        (1.0, "1.00000"),
        (1.23456789, "1.23457"),
        (123.456789, "123.46"),
        (1.2e-5, "1.2000e-05"),
        (-3.5e7, "-3.5000e+07"),
        (float("nan"), "–"),
    ],
)
def test_numbers_in_tables(value, text):
    assert number(value) == text
