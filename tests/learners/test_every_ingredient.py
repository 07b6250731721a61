"""Every channel and activation that the theory knows runs in every learner, or is refused in words."""

import re

import numpy as np
import pytest

import widthwise as ww
from widthwise.ingredients.activations import ACTIVATIONS
from widthwise.learners import adam, hmc, metropolis
from widthwise.learners.numba_functions import label_kernel, numba_activation
from widthwise.networks import sample_instance

pytestmark = pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")


def softsign(x):
    return x / (1 + x * x) ** 0.5


def logit(labels, outputs, xp=np):
    return -xp.logaddexp(0.0, -3.0 * labels * outputs)


def gaussian(labels, outputs, xp=np):
    return -((labels - outputs) ** 2) / 0.6 - 0.5 * np.log(0.6 * np.pi)


CHANNELS = {
    "gaussian": 0.3,
    "laplace": ww.channels.Laplace(0.4),
    "student": ww.channels.StudentT(0.4, 3.5),
    "probit": ww.channels.Probit(0.3, shift=0.4),
    "logistic": ww.channels.Logistic(2.0, shift=0.0),
    "poisson": ww.channels.Poisson(1.5, shift=0.2),
    "nonlinear": ww.channels.Nonlinear("tanh(x)", 0.1, shift=0.0),
    "nonlinear-callable": ww.channels.Nonlinear(softsign, 0.1, shift=0.0),
    "custom-labels": ww.channels.Custom(logit, labels=(-1.0, 1.0), shift=0.0),
    "custom": ww.channels.Custom(gaussian, support=(-np.inf, np.inf), shift=0.0),
}
LEARNERS = {"hmc": (hmc, "gaussian"), "metropolis": (metropolis, "rademacher"), "adam": (adam, "gaussian")}
SPECS = (*ACTIVATIONS, "tanh(2*x)", "max(x,0.2*x)-exp(-x**2)", "leaky-relu(0.3)", "abs(x)", "cos(x)")


def finite(run):
    assert run.status == "done" and np.isfinite(run.trace["excess_error"]).all()
    assert np.ptp(run.trace["excess_error"].to_numpy()) > 0  # it moves


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_channels(learner, channel):
    run, weights = LEARNERS[learner]
    problem = ww.Problem("relu", weights=weights, channel=CHANNELS[channel], gamma=0.6)
    finite(run(sample_instance(problem, d=5, alpha=1.2, seed=1), iterations=4, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("activation", ["max(x,0.2*x)-exp(-x**2)", softsign], ids=["formula", "callable"])
def test_activations_of_ones_own(learner, activation):
    run, weights = LEARNERS[learner]
    problem = ww.Problem(activation, weights=weights, channel=0.3, gamma=0.6)
    finite(run(sample_instance(problem, d=5, alpha=1.2, seed=1), iterations=4, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["hmc", "adam", "metropolis"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_to_three_inputs_run_or_are_refused_in_a_sentence(learner, d):
    (run, weights), words = LEARNERS[learner], []
    third = {"temperatures": [1.0, 2.0]} if learner == "metropolis" else {"learn_readouts": True}
    settings = [{}, {"n_chains": 2}, third, {"start": "teacher"}]
    settings += [{"held_out": 0.3}, {"width": 3, "normalise_rows": True}] if learner == "adam" else []
    specs = ["relu", "heaviside", "sigma3", "abs(x)", "tanh(2*x)"]
    laws = ["gaussian", "rademacher", "homogeneous", "four-point"]
    channels = [0.1, "poisson:2,shift=0", "laplace:0.2", "sign:shift=0"]
    for i, (gamma, alpha) in enumerate([(0.3, 4.0), (1.7, 0.2), (1.7, 4.0), (6.0, 1.0)], start=4 * d + 1):
        activation, law, channel, more = (one[i % len(one)] for one in (specs, laws, channels, settings))
        problem = ww.Problem(activation, weights, readouts=law, channel=channel, gamma=gamma)
        try:
            found = run(sample_instance(problem, d=d, alpha=alpha, seed=1), iterations=4, seed=1, **more)
        except ValueError as error:
            words.append(str(error))
            continue
        assert np.isfinite(found.trace["excess_error"]).all() and found.instance.d == d
    reasons = "hidden unit|no sample|jumps|certain|discrete|leaves none"
    assert len(words) < 4 and all("\n" not in one and re.search(reasons, one) for one in words)


@pytest.mark.parametrize("spec", [*SPECS, softsign], ids=lambda spec: getattr(spec, "__name__", spec))
def test_activations_in_jax(spec):
    """What HMC and Adam follow: the value, and the slope by automatic differentiation."""
    import jax

    from widthwise.learners.jax_model import jax_activation

    activation = ww.Problem(spec).activation
    x = np.linspace(-5.93, 6.1, 57)
    with jax.enable_x64(True):
        value, slope = jax.jvp(jax_activation(activation), (jax.numpy.asarray(x),), (jax.numpy.ones(57),))
    assert np.allclose(value, activation(x), rtol=1e-10, atol=1e-12)
    # A callable's slope in the theory comes from its interpolation.
    assert np.allclose(slope, activation.derivative(x), rtol=1e-5, atol=1e-7)


def test_what_has_no_gradient_is_refused():
    jump = sample_instance(ww.Problem("sign(x)", channel=0.3), d=6, alpha=1.0)
    with pytest.raises(ValueError, match="use metropolis"):
        hmc(jump)
    bare = ww.channels.Custom(
        lambda y, x: -((np.asarray(y) - np.asarray(x)) ** 2) / 0.6 - 0.5 * np.log(0.6 * np.pi),
        support=(-np.inf, np.inf),
        shift=0.0,
    )
    inst = sample_instance(ww.Problem("relu", channel=bare), d=6, alpha=1.0)
    for learner in (hmc, adam):
        with pytest.raises(ValueError, match="channel 'custom' cannot be differentiated by JAX.*xp"):
            learner(inst, iterations=2)


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_without_noise_are_refused(learner):
    run, weights = LEARNERS[learner]
    problem = ww.Problem("tanh(2*x)", weights=weights, channel=ww.channels.Sign())
    with pytest.raises(ValueError, match=f"{learner} follows the likelihood.*Probit"):
        run(sample_instance(problem, d=6, alpha=1.0))


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_compiled_activations(spec):
    """Single precision: rounding of the value, and of the argument times the slope."""
    activation = ww.Problem(spec).activation
    function = numba_activation(activation, "float32")
    x = np.linspace(-5.9, 6.1, 977).astype(np.float32)
    seen, exact = np.array([function(u) for u in x]), activation(x.astype(float))
    slope = np.abs(np.gradient(exact, x.astype(float)))
    assert np.all(np.abs(seen - exact) < 1e-6 * (1 + np.abs(exact) + np.abs(x) * slope))


@pytest.mark.parametrize("channel", CHANNELS)
def test_compiled_likelihoods(channel):
    """What one unit adds to ln P(y | λ): compiled against double precision, up to the other units' part."""
    law = ww.Problem("relu", channel=CHANNELS[channel]).channel
    rng = np.random.default_rng(0)
    outputs = rng.normal(0.0, 0.8, 40)
    labels = law.sample(rng, outputs)
    kernel = label_kernel(law, labels, outputs, np.float64)
    step, before, after = np.float64(0.3), *rng.standard_normal((2, 40))
    others = outputs - step * before

    def compiled(own):
        rest = zip(kernel.codes, others - kernel.shift, own, strict=True)
        terms = [kernel.term(code, o, u, step, kernel.parameters, kernel.table) for code, o, u in rest]
        return kernel.factor(step, kernel.parameters) * np.array(terms)

    seen = compiled(after) - compiled(before)
    exact = law.log_likelihood(labels, others + step * after) - law.log_likelihood(labels, outputs)
    # Linear interpolation; Laplace has a kink, rounded off over one step of its table.
    tolerance = 1e-3 if channel == "laplace" else 2e-6
    assert np.max(np.abs(seen - exact)) < tolerance
