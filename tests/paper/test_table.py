"""Tables survive the way through a file, and select as asked."""

import numpy as np

from widthwise.paper.table import Table

ROWS = Table(
    [
        {
            "series": "relu/gaussian",
            "alpha": 0.5,
            "seed": 3,
            "is_done": True,
            "overlap": [0.25, -1.5],
            "one": [2.0],
        },
        {
            "series": "tanh(2*x)",
            "alpha": 1.0,
            "seed": 4,
            "is_done": False,
            "key": "123e4567",
            "note": "a; b, c",
        },
    ]
)


def test_round_trip_through_csv():
    back = Table.from_csv(ROWS.to_csv())
    assert back == [dict(row) for row in ROWS]
    assert isinstance(back[0]["seed"], int) and isinstance(back[0]["alpha"], float)


def test_texts_that_look_like_numbers_stay_texts():
    table = Table([{"printed": "0.30", "key": "1e99", "version": "0.1", "alpha": 0.30}])
    assert Table.from_csv(table.to_csv()) == [
        {"printed": "0.30", "key": "1e99", "version": "0.1", "alpha": 0.3}
    ]


def test_numbers_keep_eight_digits():
    value = np.float64(np.pi * 1e-7)
    back = Table.from_csv(Table([{"x": value}]).to_csv())[0]["x"]
    assert abs(back - value) <= 5e-8 * value


def test_selection():
    assert [row["seed"] for row in ROWS.where(series=("relu/gaussian", "other"))] == [3]
    assert ROWS.where(alpha=7.0) == []
    np.testing.assert_array_equal(np.isnan(ROWS.column("missing")), [True, True])
    keys = [key for key, _ in ROWS.groups("series", "alpha")]
    assert keys == [("relu/gaussian", 0.5), ("tanh(2*x)", 1.0)]
    assert ROWS.distinct("key") == ["123e4567"]


def test_file_that_is_not_there_is_empty(tmp_path):
    assert Table.read(tmp_path / "nothing.csv") == []
    ROWS.write(tmp_path / "some.csv")
    assert len(Table.read(tmp_path / "some.csv")) == 2
