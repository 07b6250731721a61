"""Tables of measurements are read as data, within limits."""

import base64

import pytest

from widthwise.explorer.comparing import compare, distance
from widthwise.explorer.state import DEFAULTS, problem_fields
from widthwise.explorer.uploads import Measured, decode, read_table


@pytest.mark.parametrize(
    "text",
    [
        "alpha,error,std\n0.5,0.2,0.01\n1.5,0.1,\n",
        "0.5;0.2;0.01\n1.5;0.1;\n",
        "# a comment\n0.5\t0.2\t0.01\n1.5\t0.1\t\n",
        "d,excess_error,alpha,standard_error\n100,0.2,0.5,0.01\n100,0.1,1.5,\n",
    ],
)
def test_tables(text):
    assert read_table(text) == [Measured(0.5, 0.2, 0.01), Measured(1.5, 0.1, None)]


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
        ("1,0.2,-3\n", "std must be >= 0"),
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


def test_deviations():
    import widthwise as ww

    (first, best, universal), *_ = compare(
        problem_fields(DEFAULTS), "excess_error", [Measured(1.5, 0.05, 0.01)]
    )
    assert best == ww.solve(ww.Problem(), 1.5).excess_error < universal
    assert distance(first, 0.03) == "+2.0 σ"
    assert distance(Measured(1, 0.033), 0.03) == "+10.0 %"
