"""Laws of k features: order, scale, layout at other widths, descriptions, messages."""

import json
import pickle

import numpy as np
import pytest

import widthwise as ww
from widthwise._records import spec_text
from widthwise.ingredients.readouts import Exponential, Features, Linear, PowerLaw, resolve

LAWS = [PowerLaw(0.8, 17), Exponential(3.0, 12), Linear(2.5, 9), Features([2.0, -1.0, 0.0, 0.5, 0.5])]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


@each_law
def test_second_moment_is_one_and_order_is_kept(law):
    v = np.array(law.features)
    assert law.size == v.size and np.mean(v**2) == pytest.approx(1, rel=1e-14)
    assert sum(law.probabilities) == pytest.approx(1)
    assert law.moment(3) == pytest.approx(np.mean(v**3), rel=1e-12)
    np.testing.assert_array_equal(law.quantiles(law.size), v)


def test_profiles():
    i = np.arange(1, 18)
    ratio = np.array(PowerLaw(0.8, 17).features) * i**0.8
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-14)
    v = np.array(Exponential(3.0, 12).features)
    np.testing.assert_allclose(v[1:] / v[:-1], np.exp(-1 / 3), rtol=1e-13)
    v = np.array(Linear(2.5, 9).features)
    assert v[0] / v[-1] == pytest.approx(2.5)
    np.testing.assert_allclose(np.diff(v), np.diff(v)[0], rtol=1e-12)


@each_law
@pytest.mark.parametrize("size", [1, 4, 7, 30, 90])
def test_other_widths_keep_the_power(law, size):
    v = law.quantiles(size)
    assert v.size == size and np.mean(v**2) == pytest.approx(1, rel=1e-12)
    assert np.all(np.diff(np.abs(v)) <= 1e-12)


def test_a_multiple_of_the_width_repeats_every_feature():
    law = Features([3.0, -2.0, 1.0])
    np.testing.assert_allclose(law.quantiles(6), np.repeat(law.features, 2), rtol=1e-12)


@each_law
def test_descriptions_read_back(law):
    assert resolve(json.loads(json.dumps(law.spec))) == law
    assert resolve(spec_text(law.spec)) == law
    assert eval(repr(law), {"readouts": ww.readouts}) == law
    again = pickle.loads(pickle.dumps(law))
    assert again == law and hash(again) == hash(law) and again.features == law.features
    assert law != LAWS[(LAWS.index(law) + 1) % len(LAWS)]
    problem = ww.Problem(readouts=law)
    assert ww.Problem.from_dict(problem.to_dict()) == problem


def test_instances_have_the_features_themselves():
    problem = ww.Problem("tanh(2*x)", readouts=PowerLaw(1.0, 20), channel=0.1, gamma=0.5)
    instance = ww.sample_instance(problem, 40, 0.5)
    np.testing.assert_array_equal(instance.readouts, problem.readouts.features)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PowerLaw(0.0, 5), "the exponent of power-law must be > 0 and finite; got 0"),
        (lambda: PowerLaw(-1.0, 5), "got -1"),
        (lambda: PowerLaw("steep", 5), "must be a number > 0; got 'steep'"),
        (lambda: PowerLaw(1.0, 0), "size must be a whole number >= 1 (features, k); got 0"),
        (lambda: PowerLaw(1.0, 2.5), "got 2.5"),
        (lambda: PowerLaw(1.0, 10**9), "at most 1e+06 features"),
        (lambda: Exponential(float("inf"), 5), "the length of exponential must be > 0 and finite"),
        (lambda: Linear(2.0, "x"), "size must be a whole number"),
        (lambda: Features([]), "at least one readout"),
        (lambda: Features([0.0, 0.0]), "must not all be 0"),
        (lambda: Features([1.0, np.nan]), "must be finite"),
        (lambda: resolve("power-law:1"), "lacks size; write power-law:EXPONENT,SIZE"),
        (lambda: resolve("features:[a,b]"), "cannot read the numbers"),
        (lambda: resolve({"kind": "power-law", "exponent": 1.0}), "lacks size"),
        (lambda: resolve({"kind": "steep"}), "unknown readouts"),
        (lambda: resolve("powerlaw:1,3"), "did you mean 'power-law'"),
    ],
)
def test_bad_input_is_one_sentence(make, words):
    with pytest.raises(ValueError, match="^[^\n]+$") as error:
        make()
    assert words in str(error.value)


def test_limit_of_a_power_law():
    law = resolve("power-law-limit:0.3")
    assert law.moment(2) == pytest.approx(1, rel=1e-12)
    # v = √(1-2β) u^(-β): E|v| = √(1-2β)/(1-β), and the law of P(|v| > v).
    assert law.mean == pytest.approx(np.sqrt(0.4) / 0.7, rel=1e-5)
    v, p = np.array(law.values), np.array(law.probabilities)
    for size in (1.0, 3.0):
        assert p[v > size].sum() == pytest.approx(
            (np.sqrt(0.4) / size) ** (1 / 0.3), rel=0.04
        )  # a part's width
    assert eval(repr(law), {"readouts": ww.readouts}) == law == pickle.loads(pickle.dumps(law))
    assert np.mean(law.quantiles(37) ** 2) == pytest.approx(1, rel=1e-12)
    # Errors of k features approach it as k^(2β - 1).
    apart = []
    for size in (1000, 100_000):
        problem = ww.Problem("tanh(2*x)", readouts=PowerLaw(0.3, size), channel=0.04)
        here = ww.scaling_law(problem, 3.0 * (2 * size) ** 2).excess_error[0]
        limit = ww.scaling_law(problem.replace(readouts=law), 3e6, d=1000).excess_error[0]
        apart.append(here / limit - 1)
    assert apart[0] / apart[1] == pytest.approx(100**0.4, rel=0.03)
    with pytest.raises(ValueError, match="below exponent 1/2; got 0.7; give the number of features"):
        ww.readouts.PowerLawLimit(0.7)
