"""Tables of measurements are read as data, within limits."""

import base64

import numpy as np
import pytest

from widthwise.explorer.comparing import compare, decode, read_table
from widthwise.explorer.state import DEFAULTS, problem_fields
from widthwise.networks.measurements import Measured


@pytest.mark.parametrize(
    "text",
    [
        "alpha,error,std\n0.5,0.2,0.01\n1.5,0.1,\n",
        "0.5;0.2;0.01\n1.5;0.1;\n",
        "# a comment\n0.5\t0.2\t0.01\n1.5\t0.1\t\n",
        "d,excess_error,alpha,standard_error\n100,0.2,0.5,0.01\n100,0.1,1.5,\n",
        "alpha;error;std\n0,5;0,2;0,01\n1,5;0,1;\n",
        "0,5\t0,2\t0,01\n1,5\t0,1\t\n",
    ],
)
def test_tables(text):
    assert read_table(text) == [Measured(0.5, 0.2, 0.01), Measured(1.5, 0.1, None)]


def test_numbers_of_runs():
    text = "alpha,error,std,runs\n0.5,0.2,0.03,9\n"
    assert read_table(text) == [Measured(0.5, 0.2, pytest.approx(0.01), 9)]  # scatter of single runs
    assert read_table(text.replace("std", "se")) == [Measured(0.5, 0.2, 0.03, 9)]
    with pytest.raises(ValueError, match="whole number"):
        read_table(text.replace(",9", ",2.5"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("alpha,error\n", "no rows"),
        ("beta,error\n1,2\n", "called alpha"),
        ("1,x\n", "called alpha"),
        ("alpha,error\n1,=cmd()\n", "row 2: the error must be a finite number"),
        ("alpha,error\n1,nan\n", "finite number"),
        ("-1,0.2\n", "alpha must be > 0"),
        ("1,0.2,-3\n", "standard error must be >= 0"),
        ("1,2\n" * 501, "at most 500"),
        ("1,\0 2", "no text"),
        ("alpha,error\n1\n", "got nothing"),
    ],
)
def test_bad_tables_say_why(text, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        read_table(text)


def test_uploads_are_decoded_within_limits():
    assert decode("data:text/csv;base64," + base64.b64encode("α,error\n".encode()).decode()) == "α,error\n"
    for contents in ("junk", "data:;base64,%%%", "data:;base64," + "A" * 400_000, "data:;base64,//4="):
        with pytest.raises(ValueError, match="file"):
            decode(contents)


def test_points_are_judged_by_the_one_comparison():
    import widthwise as ww
    from widthwise.networks.comparison import interval, mean_of

    exact = ww.solve(ww.Problem(), 1.5).excess_error
    universal = ww.solve(ww.Problem(), 1.5, "universal").excess_error
    runs = exact * np.array([1.02, 1.3])  # two runs: nothing is known of their scatter
    mean = mean_of(runs)
    points = [
        Measured(1.5, mean.value, mean.standard_error, 2),
        Measured(1.5, mean.value, mean.standard_error),
        Measured(1.5, 1.01 * exact, 0.002 * exact),
        Measured(1.5, 1.5 * exact),
    ]
    found = compare(problem_fields(DEFAULTS), "excess_error", points)
    assert [best.predicted for best, _ in found] == [exact] * 4
    assert [other.predicted for _, other in found] == [universal] * 4
    assert [best.verdict for best, _ in found] == ["undecided", "undecided", "close", "undecided"]
    assert found[0][0].interval == interval(mean) > 20 * found[1][0].interval
    assert found[0][0].deviation == pytest.approx(0.16)
