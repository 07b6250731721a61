"""Curves and diagrams survive saving and loading, and come as tidy tables."""

import json

import numpy as np
import pytest
import xarray

import widthwise as ww
from widthwise.cli import main
from widthwise.theory.solution import FIELDS

SKEWED = ww.readouts.Discrete([-1.2, 0.4, 1.1], [0.3, 0.3, 0.4], normalise=True)
PROBLEM = ww.Problem("sigma3", "rademacher", SKEWED, channel=1.25, gamma=0.3)


@pytest.fixture(scope="module")
def curve():
    return ww.learning_curve(PROBLEM, [0.4, 1.6], "universal", error="absolute")


def assert_same(first, second):
    assert first.problem == second.problem and (first.asked, first.theory) == (second.asked, second.theory)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        for name in (*FIELDS, "error_name", "error"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("theory", ["main", "factorised"])
def test_a_curve_survives_its_file(tmp_path, theory):
    curve = ww.learning_curve(PROBLEM, [0.4, 1.6], "specialised", theory=theory, error="absolute")
    curve.save(tmp_path / "curve.nc")
    again = ww.LearningCurve.load(tmp_path / "curve.nc")
    assert_same(again, curve)
    assert_same(ww.LearningCurve.from_xarray(curve.to_xarray()), curve)
    assert again.compare([[0.5, 0.9]]).curve.theory == theory


def test_a_curve_from_what_the_command_printed(capsys, tmp_path):
    assert main(["predict", "--readouts", "four-point", "--alpha", "0.3,2", "--json"]) == 0
    path = tmp_path / "curve.json"
    path.write_text(capsys.readouterr().out)
    curve = ww.LearningCurve.load(path)
    exact = ww.learning_curve(ww.Problem(readouts="four-point"), [0.3, 2.0])
    assert curve.problem == exact.problem
    assert curve.excess_error.tolist() == exact.excess_error.tolist()
    assert curve.weight_overlap.tolist() == exact.weight_overlap.tolist()


def test_the_problem_is_json_in_the_attributes(curve):
    attributes = curve.to_xarray().attrs
    assert ww.Problem.from_dict(json.loads(attributes["problem"])) == PROBLEM
    assert attributes["version"] == ww.__version__


def test_a_bare_callable_must_be_given_again(tmp_path):
    problem = ww.Problem(np.tanh)
    curve = ww.learning_curve(problem, [0.5])
    curve.save(tmp_path / "curve.nc")
    with pytest.raises(ValueError, match="give problem="):
        ww.LearningCurve.load(tmp_path / "curve.nc")
    assert_same(ww.LearningCurve.load(tmp_path / "curve.nc", problem), curve)


def test_a_tidy_table(curve):
    table = curve.to_dataframe()
    assert len(table) == 2 * 3 and not any(isinstance(cell, list) for cell in table.iloc[0])
    # Averages over the readouts are sums of rows: E v² = 1 at each alpha.
    power = (table["readout_weight"] * table["readout"] ** 2).groupby(table["alpha"]).sum()
    assert power.tolist() == pytest.approx([1.0, 1.0])
    assert table["excess_error"].iloc[3:].tolist() == [curve[1].excess_error] * 3
    assert table["absolute_error"].iloc[0] == curve[0].error
    assert table["status"].iloc[0] == "converged"


def test_reprs_are_short_and_have_numbers(curve):
    assert repr(curve).startswith("<LearningCurve universal, 2 points, alpha 0.4 to 1.6, excess_error ")
    assert repr(curve[:1]).count("1 point,") == 1
    one = repr(curve[0])
    assert len(one) < 160 and f"excess_error={curve[0].excess_error:.6g}" in one
    assert "no such solution" in repr(ww.solve(ww.Problem(), 0.05, "specialised"))


def test_tab_completion_lists_the_fields(curve):
    assert {"excess_error", "weight_overlap", "error", "save", "compare"} <= set(dir(curve))


def test_a_diagram_survives_its_file(tmp_path):
    diagram = ww.phase_diagram(PROBLEM, gamma=[0.3, 0.4], alpha=[0.5, 1.6], n_workers=1, refine=0)
    assert isinstance(diagram, ww.PhaseDiagram) and diagram.axes == ("gamma", "alpha")
    diagram.save(tmp_path / "diagram.nc")
    again = ww.PhaseDiagram.load(tmp_path / "diagram.nc")
    assert again.problem == PROBLEM
    xarray.testing.assert_identical(again.to_xarray(), diagram.to_xarray())
    xarray.testing.assert_identical(ww.PhaseDiagram.from_xarray(again.data).data, diagram.data)
    drawn, redrawn = (one.plot("gap").collections[0].get_array() for one in (diagram, again))
    np.testing.assert_array_equal(drawn, redrawn)
    assert "2 × 2 points" in repr(again) and "excess_error" in dir(again)
    assert again.sizes["gamma"] == 2 and float(again.sel(gamma=0.3, alpha=0.5)["excess_error"]) > 0
