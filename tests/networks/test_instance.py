"""Instances: reproducible from their description, checked before anything is allocated."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import widthwise as ww
from widthwise.networks import Instance, sample_instance
from widthwise.networks import instance as module

PROBLEM = ww.Problem("tanh(2*x)", readouts="four-point", channel=0.3, gamma=0.7)


def test_sizes_and_shapes():
    inst = sample_instance(PROBLEM, d=21, alpha=0.9, seed=4)
    assert (inst.k, inst.n) == (15, 397)
    assert inst.weights.shape == (15, 21) and inst.inputs.shape == (21, 397) and inst.labels.shape == (397,)
    assert inst.inputs.dtype == np.float32 and inst.inputs.flags.c_contiguous
    assert np.all(np.diff(inst.readouts) >= 0) and np.isclose(np.mean(inst.readouts**2), 1, atol=0.2)


def test_pickle_holds_the_description_only():
    inst = sample_instance(PROBLEM, d=30, alpha=2.0, seed=7)
    before = inst.labels.copy()
    packed = pickle.dumps(inst)
    assert len(packed) < 2000  # the inputs alone are 216 000 bytes
    again = pickle.loads(packed)
    assert np.array_equal(again.labels, before) and np.array_equal(again.inputs, inst.inputs)


def test_another_process_draws_the_same():
    code = (
        "import widthwise as ww; from widthwise.networks import sample_instance;"
        "p = ww.Problem('tanh(2*x)', readouts='four-point', channel=0.3, gamma=0.7);"
        "i = sample_instance(p, d=12, alpha=1.0, seed=5);"
        "print(repr(float(i.inputs.sum(dtype=float))), repr(float(i.weights.sum())))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    inst = sample_instance(PROBLEM, d=12, alpha=1.0, seed=5)
    assert out == [repr(float(inst.inputs.sum(dtype=float))), repr(float(inst.weights.sum()))]


def test_description_round_trip():
    inst = sample_instance(PROBLEM, d=10, alpha=1.5, seed=2, is_readout_drawn=True)
    assert np.array_equal(sample_instance(**inst.to_dict()).labels, inst.labels)


def test_precision_never_changes_the_data():
    single, double = (sample_instance(PROBLEM, 10, 1.0, seed=3, dtype=t) for t in ("float32", "float64"))
    assert double.inputs.dtype == np.float64 and np.array_equal(single.inputs, double.inputs)
    assert np.allclose(single.labels, double.labels, rtol=0, atol=1e-12)


def test_seeds_and_roles_are_independent():
    a, b = (sample_instance(PROBLEM, 20, 1.0, seed=s) for s in (0, 1))
    for x, y in ((a.weights, b.weights), (a.inputs, b.inputs), (a.inputs[:, :20], a.test_set(20)[0])):
        correlation = np.corrcoef(x.ravel(), y.ravel())[0, 1]
        assert abs(correlation) < 5 / np.sqrt(x.size)
    longer = sample_instance(PROBLEM, 20, 2.0, seed=0)
    assert np.array_equal(longer.weights, a.weights)


def test_labels_have_the_noise_of_the_channel():
    inst = sample_instance(PROBLEM, 40, 3.0, seed=1)
    squares = (inst.labels - inst.outputs(inst.weights)) ** 2
    assert abs(squares.mean() - 0.3) < 4 * 0.3 * np.sqrt(2 / inst.n)


def test_output_has_the_mean_that_the_channel_states():
    problem = ww.Problem("relu", channel=ww.channels.Probit(0.3, shift=0.7), gamma=0.8)
    inst = sample_instance(problem, 40, 2.0, seed=1)
    outputs = inst.outputs(inst.weights)
    # The mean over inputs fluctuates with the norms of the weights as well: by about μ₂/√(2d).
    assert abs(outputs.mean() - 0.7) < 4 * (outputs.std() / np.sqrt(inst.n) + 0.4 / np.sqrt(2 * inst.d))
    assert sample_instance(ww.Problem("relu"), 10, 1.0).output_shift == 0.0


def test_own_arrays():
    base = sample_instance(PROBLEM, 8, 1.0)
    inst = base.with_data(labels=base.labels + 1, weights=base.weights[::-1])
    assert isinstance(inst, Instance) and inst.k == base.k and inst.n == base.n
    assert np.array_equal(pickle.loads(pickle.dumps(inst)).labels, base.labels + 1)
    with pytest.raises(ValueError, match="need labels of shape"):
        base.with_data(labels=base.labels[1:], weights=base.weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": 0}, "d must be a whole number"),
        ({"d": 2.5}, "d must be a whole number"),
        ({"alpha": -1.0}, "alpha must be > 0"),
        ({"alpha": float("nan")}, "alpha must be > 0"),
        ({"alpha": 1e-5}, "leaves no sample"),
        ({"seed": -1}, "seed must be"),
        ({"dtype": "float16"}, "dtype must be"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        sample_instance(**{"problem": PROBLEM, "d": 10, "alpha": 1.0} | change)


def test_too_narrow_for_the_dimension():
    with pytest.raises(ValueError, match="rounds to no hidden unit"):
        sample_instance(PROBLEM.replace(gamma=0.01), d=10, alpha=1.0)


def test_memory_is_refused_before_it_is_allocated(monkeypatch):
    with pytest.raises(MemoryError, match="GiB"):
        sample_instance(PROBLEM, d=100_000, alpha=100.0)
    inst = sample_instance(PROBLEM, d=10, alpha=1.0)
    monkeypatch.setattr(module, "free_memory", lambda: 100.0)
    with pytest.raises(MemoryError, match="lower d or alpha"):
        inst.inputs


def test_labels_that_the_channel_cannot_give_are_refused():
    problem = ww.Problem("tanh", channel="probit:0.1")
    instance = ww.sample_instance(problem, 6, 1.0)
    with pytest.raises(ValueError, match=r"0 is no label of channels\.Probit\(0\.1\).*-1 or 1"):
        instance.with_data(labels=np.zeros(instance.n), weights=instance.weights)


def test_the_mean_of_the_output_is_the_one_that_the_channel_states():
    """Non-centred activation and readouts: λ has mean μ₀Λ = shift, but for the norms of the weights.

    E|w| = √d (1 - 1/(4d)), so that the output of k ReLUs is off by -μ₀√k/(4d) at finite d.
    """
    problem = ww.Problem("relu", readouts="homogeneous", channel="probit:0.1,shift=-0.3", gamma=1.7)
    means = []
    for seed in range(100, 140):
        instance = ww.sample_instance(problem, 30, 1.0, seed)
        assert instance.output_shift == pytest.approx(problem.offset(instance.readouts))
        means.append(instance.outputs(instance.weights).mean())
    expected = -0.3 - problem.hermite[0] * np.sqrt(instance.k) / (4 * 30)
    z = (np.mean(means) - expected) / (np.std(means, ddof=1) / np.sqrt(len(means)))
    assert abs(z) < 4, z


@pytest.mark.parametrize("name", ["inputs", "labels", "weights", "readouts"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_own_arrays_must_be_finite(name, value):
    instance = ww.sample_instance(ww.Problem("relu", gamma=0.6), d=5, alpha=1.7)
    arrays = {part: np.array(getattr(instance, part)) for part in ("inputs", "labels", "weights", "readouts")}
    arrays[name].flat[2] = value
    with pytest.raises(ValueError, match=f"{name} must be finite|is no label of"):
        Instance.from_arrays(instance.problem, **arrays)


def test_own_arrays_must_fit_their_precision_and_shape():
    instance = ww.sample_instance(ww.Problem("relu", gamma=0.6), d=5, alpha=1.7, dtype="float64")
    arrays = {part: np.array(getattr(instance, part)) for part in ("inputs", "labels", "weights", "readouts")}
    large = arrays | {"inputs": arrays["inputs"] * 1e300}
    assert Instance.from_arrays(instance.problem, **large, dtype="float64").inputs.max() > 1e299
    with pytest.raises(ValueError, match=r"inputs must be finite in float32, but entry \(0, 0\) is -?inf"):
        Instance.from_arrays(instance.problem, **large)
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64', got 'object'"):
        Instance.from_arrays(instance.problem, **arrays, dtype="object")
    with pytest.raises(ValueError, match="inputs must be a d × n array"):
        Instance.from_arrays(instance.problem, **arrays | {"inputs": arrays["inputs"][0]})
    with pytest.raises(ValueError, match="inputs must be an array of numbers, got str"):
        Instance.from_arrays(instance.problem, **arrays | {"inputs": "none"})
