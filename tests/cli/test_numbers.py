"""Lists of numbers on the command line: ``2``, ``0.5,1,2`` and ``0.5:8:16``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widthwise.cli.problem_options import MAX_COUNT, BadInput, read_alphas, read_numbers

positive = st.floats(min_value=1e-6, max_value=1e6)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2", [2.0]),
        (" 2.5 ", [2.5]),
        ("1e-3", [1e-3]),
        ("0.5,1,2", [0.5, 1.0, 2.0]),
        ("2, 1", [2.0, 1.0]),
        ("0.5:2:4", [0.5, 1.0, 1.5, 2.0]),
        ("2:0.5:4", [2.0, 1.5, 1.0, 0.5]),
        ("3:3:2", [3.0, 3.0]),
    ],
)
def test_values(text, values):
    assert read_alphas(text).tolist() == values


@pytest.mark.parametrize(
    "text",
    ["", ",", "x", "1,,2", "1;2", "0.5:8", "0.5:8:16:3", "0.5::16", ":8:16", "0.5:8:", "0.5:8:x", "0.5:8:2.5"]
    + ["0.5:8:1", "0.5:8:0", "0.5:8:-3", f"0.5:8:{MAX_COUNT + 1}", "0.5:8:1e9", "a:b:3"]
    + ["0", "-1", "1,0", "nan", "inf", "1,nan", "0:8:16", "-1:8:4", "nan:8:4", "1:inf:4"],
)
def test_nonsense_is_refused_with_the_name_of_the_option(text):
    with pytest.raises(BadInput, match=r"^--alpha ") as caught:
        read_alphas(text)
    assert "\n" not in str(caught.value)


def test_zero_where_it_makes_sense():
    assert read_numbers("--snr", "0,1", "ratio", is_zero_allowed=True).tolist() == [0.0, 1.0]
    with pytest.raises(BadInput, match=r"--snr must be >= 0 \(ratio\); got -1"):
        read_numbers("--snr", "-1", "ratio", is_zero_allowed=True)


@given(st.lists(positive, min_size=1, max_size=8))
def test_lists_come_back(values):
    assert read_alphas(",".join(map(repr, values))).tolist() == values


@given(positive, positive, st.integers(min_value=2, max_value=MAX_COUNT))
def test_ranges_include_both_ends(first, last, count):
    values = read_alphas(f"{first!r}:{last!r}:{count}")
    assert values.size == count
    assert values[0] == first
    assert values[-1] == last
    steps = np.diff(values)
    # equal steps up to the rounding of the values themselves
    assert np.ptp(steps) <= 4e-16 * max(first, last) * 4


@given(st.text(alphabet="0123456789.,:-+e naif", max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        values = read_alphas(text)
    except BadInput:
        return
    assert np.all((values > 0) & np.isfinite(values))
