r"""GAMP-RIE on an instance: the best known polynomial-time learner, which follows the universal branch.

The network is read as a quadratic form of the inputs plus noise (algorithm alg:gamp and eqs. hexpan,
Maillard_starting_point and output_GAMP_RIE of arXiv:2505.24849):

.. math:: y \approx c + \mu_1 \frac{S_1^\top x}{\sqrt d}
          + \frac{\mu_2}{2} \mathrm{Tr}\Big[\frac{xx^\top - I}{\sqrt d}\bar S\Big]
          + \sqrt{\Delta + g(1)}\, z, \qquad \bar S = \frac{W^\top D_v W}{\sqrt{kd}},

and learnt by :func:`~widthwise.learners.gamp_rie_iteration.iterate`. Two things differ from the printed
algorithm. The linear part starts from its exact ridge posterior and is then learnt along with the matrix,
from the same residuals, so that its error is that of a regression with noise Δ + excess rather than with
the whole quadratic part (a term of relative order 1/d). The scale of that posterior is the derived one, not
the printed one (:func:`ridge_posterior`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .._extras import explained
from .._threads import one_thread_below
from ..denoising import MatrixDenoiser
from ..ingredients import channels
from ..networks.instance import Instance
from ..networks.observables import Groups, Observer
from .empirical_shrinkage import EmpiricalShrinkage, KnownLaw, NoMatrix, Shrinkage
from .gamp_rie_iteration import ChannelOutput, Design, GampRieState, GaussianOutput, Output, iterate
from .run import Run
from .sample_blocks import SampleBlocks

__all__ = ["gamp_rie", "population_error"]


@explained
def gamp_rie(
    instance: Instance,
    *,
    start: str | np.ndarray = "prior",
    denoiser: str = "known",
    is_noise_known: bool = False,
    iterations: int = 100,
    damping: float = 0.0,
    rtol: float = 1e-3,
    progress: Callable[[int, dict[str, float]], None] | bool | None = None,
) -> Run:
    """The quadratic predictor that GAMP-RIE learns from an instance.

    Parameters
    ----------
    instance : Instance
        Any activation, weights, readouts and gamma; any channel that gives its ``output_derivatives``.
    start : "prior", "spectral", "teacher" or a d × d array
        The prior mean ("random" means the same: nothing is drawn); one shrinkage of the label-weighted
        covariance; the teacher's S̄; or a matrix S̄.
    denoiser : "known" or "empirical"
        Shrink eigenvalues by the law of S̄, or from the observed spectrum alone.
    is_noise_known : bool
        Use Δ + g(1) instead of the variance of the residuals (Gaussian noise only; both are right).
    iterations, damping, rtol
        Steps at most; weight of the old iterate; change of the fit, in units of its error, at which to stop.
    progress : callable, optional
        Told the number of each step and its errors as they come.

    Returns
    -------
    Run
        ``status`` "converged", "max_steps" or "stalled". ``trace`` has the error of every step on its
        dimension ``draw``, exact over fresh Gaussian inputs, with the estimates of the last one as
        ``matrix`` (S̄) and ``vector`` (S₁).
    """
    begin = time.perf_counter()
    instance.require_white("gamp_rie")
    problem, d = instance.problem, instance.d
    mu0, mu1, mu2 = problem.hermite
    tail = float(problem.activation.tail_kernel(1.0))
    # Below this Hermite coefficients are rounding: odd activations have no quadratic part.
    floor = 1e-9 * math.sqrt(problem.activation.second_moment)
    scale = mu2 / (2 * math.sqrt(d)) if abs(mu2) > floor else 0.0
    linear_power = mu1**2 / d if abs(mu1) > floor else 0.0
    shrinkage = _shrinkage(instance, denoiser, scale)
    output: Output
    if isinstance(problem.channel, channels.Gaussian):
        output = GaussianOutput(problem.channel.noise + tail if is_noise_known else None)
    elif is_noise_known:
        raise ValueError(
            "is_noise_known is for Gaussian label noise; other channels are always taken as known"
        )
    else:
        offset = mu0 * float(instance.readouts.sum()) / math.sqrt(instance.k) + instance.output_shift
        # Σ v_i(|w_i|² - d) moves it by σ'' · (Σ v_i(|w_i|²/d - 1))/(2√k): variance μ₂²/(2d) for Gaussian
        # weights.
        output = ChannelOutput(problem.channel, tail, offset, mu2**2 / (2 * d))
    first = _start(instance, start, scale)

    with one_thread_below(d):
        teacher = _Teacher(instance)
        n_steps = 0

        def observe(s: GampRieState) -> dict[str, Any]:
            nonlocal n_steps
            n_steps += 1
            seen = teacher.observe(s, scale)
            if callable(progress):  # a bar, which other learners draw for True, would only flicker
                progress(n_steps, seen)
            return seen

        design = Design(SampleBlocks(instance.inputs.T))
        state = iterate(
            design,
            instance.labels,
            shrinkage,
            output,
            linear_power=linear_power,
            start=first,
            damping=damping,
            max_steps=iterations,
            rtol=rtol,
            callback=observe,
        )
        history = list(state.history)
        if state.status == "stalled":  # the state returned is an earlier one
            history.append(
                history[-1] | {"residual_variance": state.residual_variance} | teacher.observe(state, scale)
            )
    seconds = time.perf_counter() - begin
    run = Run(
        learner="gamp_rie",
        instance=instance,
        trace=_trace(history, state, instance, scale, mu1 / math.sqrt(d) if linear_power else 0.0),
        status=state.status,
        is_sampler=False,
        timings={"seconds": seconds, "iterations": float(state.n_steps)},
        settings={
            "start": start if isinstance(start, str) else "array",
            "denoiser": denoiser,
            "is_noise_known": is_noise_known,
            "damping": damping,
            "rtol": rtol,
        },
    )
    if problem.channel.is_additive:
        with one_thread_below(d):
            run.test_error = _test_error(instance, state)
    return run


def population_error(instance: Instance, intercept: float, vector: np.ndarray, matrix: np.ndarray) -> float:
    """E(λ⁰ - c - bᵀx - Tr[Q(xxᵀ - I)])² over Gaussian inputs, exact at finite size (no test set)."""
    return _Teacher(instance).error(intercept, vector, matrix)


class _Teacher:
    r"""The teacher's variance and its projections on the polynomials of degree 0, 1 and 2.

    With s_i = |w_i|/√d, E σ(w·x/√d) = m₀(s), E σ x = (m₁/s) w/√d, E σ (xxᵀ - I) = (m₂/s²) wwᵀ/d, m_ℓ(s) = E
    σ(sz) He_ℓ(z).
    """

    def __init__(self, instance: Instance) -> None:
        w, v = np.asarray(instance.weights, dtype=float), instance.readouts
        k, d = w.shape
        s = np.sqrt(np.einsum("ij,ij->i", w, w) / d)
        # Gauss–Legendre on panels that end at 0, where the kinks of the usual activations are.
        node, weight = np.polynomial.legendre.leggauss(10)
        ends = np.linspace(-10, 10, 41)
        z = (ends[:-1, None] + 0.25 * (node + 1)).ravel()
        measure = np.tile(0.25 * weight, 40) * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        values = instance.problem.activation(s[:, None] * z) * measure
        scaled = v / math.sqrt(k)
        s = np.maximum(s, 1e-300)
        mean = float(scaled @ values.sum(axis=1))
        self.variance = Observer(instance).teacher_power - mean**2
        self.mean = mean + instance.output_shift
        self.vector = (scaled * (values @ z) / s) @ w / math.sqrt(d)
        self.matrix = (w.T * (scaled * (values @ (z**2 - 1)) / s**2)) @ w / (2 * d)
        self.s_matrix = (w.T * v) @ w / math.sqrt(k * d)

    def error(self, intercept: float, vector: np.ndarray, matrix: np.ndarray) -> float:
        known = self.vector @ self.vector + 2 * np.sum(self.matrix**2)
        missed = (
            (intercept - self.mean) ** 2
            + np.sum((vector - self.vector) ** 2)
            + 2 * np.sum((matrix - self.matrix) ** 2)
        )
        return float(self.variance - known + missed)

    def observe(self, state: GampRieState, scale: float) -> dict[str, float]:
        error = self.error(state.intercept, state.vector, state.matrix)
        overlap = math.nan
        if scale:
            d = len(state.vector)
            overlap = 1 - float(np.sum((state.matrix / scale - self.s_matrix) ** 2)) / d
        return {"excess_error": error, "matrix_overlap_centred": overlap}


def _shrinkage(instance: Instance, denoiser: str, scale: float) -> Shrinkage:
    if denoiser not in ("known", "empirical"):
        raise ValueError(f'denoiser must be "known" or "empirical", got {denoiser!r}')
    if scale == 0:
        return NoMatrix()
    if denoiser == "empirical":
        return EmpiricalShrinkage()
    problem = instance.problem
    return KnownLaw(MatrixDenoiser(problem.readouts, problem.gamma), scale, instance.d)


def _start(instance: Instance, start: Any, scale: float) -> str | np.ndarray:
    if not isinstance(start, str):
        return scale * np.asarray(start, dtype=float)
    if start == "teacher":
        w = np.asarray(instance.weights, dtype=float)
        return np.asarray(scale * (w.T * instance.readouts) @ w / math.sqrt(instance.k * instance.d))
    if start not in ("prior", "random", "spectral"):
        raise ValueError(f'start must be "prior", "spectral", "teacher" or a d × d array, got {start!r}')
    return "prior" if start == "random" else start


def _trace(
    history: list[dict[str, float]], state: GampRieState, instance: Instance, scale: float, slope: float
) -> Any:
    import xarray

    names = ("excess_error", "matrix_overlap_centred", "residual_variance", "variance", "change", "damping")
    variables: dict[str, Any] = {
        name: (("chain", "draw"), np.array([[row[name] for row in history]])) for name in names
    }
    variables["gibbs_excess_error"] = variables["excess_error"]
    groups = Groups.of(instance.readouts)
    # A quadratic form has no weights to compare with the teacher's.
    nothing = np.full((1, len(history), groups.values.size), np.nan)
    variables["weight_overlap"] = (("chain", "draw", "readout"), nothing)
    variables["intercept"] = (("chain", "draw"), np.full((1, len(history)), state.intercept))
    d = instance.d
    variables["matrix"] = (("row", "column"), state.matrix / scale if scale else np.full((d, d), np.nan))
    variables["vector"] = (("row",), state.vector / slope if slope else np.full(d, np.nan))
    coordinates = {"chain": [0], "draw": np.arange(len(history)), "readout": groups.values}
    return xarray.Dataset(variables, coords=coordinates)


def _test_error(instance: Instance, state: GampRieState) -> float:
    x, y = instance.test_set()
    prediction = Design(SampleBlocks(x.T)).outputs(state.matrix, state.vector) + state.intercept
    return float(np.mean((y - prediction) ** 2))
