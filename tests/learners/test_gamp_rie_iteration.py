"""The parts of GAMP-RIE against slow, obvious versions: products, shrinkage, divergence, ridge."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners.empirical_shrinkage import EmpiricalShrinkage, KnownLaw
from widthwise.learners.gamp_rie_iteration import Design, GaussianOutput, iterate, ridge_posterior
from widthwise.learners.lmmse_rie import iterate_lmmse
from widthwise.learners.sample_blocks import SampleBlocks

ASYMMETRIC = ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True)


def symmetric(rng, d):
    a = rng.standard_normal((d, d))
    return (a + a.T) / np.sqrt(2 * d)


def goe(rng, d):
    """Entries of variance (1 + δ)/d."""
    a = rng.standard_normal((d, d))
    return (a + a.T) / np.sqrt(2 * d)


# --- products over samples -------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["rows", "columns", "memmap", "dask", "dask-both-ways", "integers"])
@pytest.mark.parametrize("centre", [None, "mean"])
def test_products_equal_the_ones_with_explicit_features(layout, centre, tmp_path):
    rng = np.random.default_rng(0)
    n, d = 9000, 7  # more than one block, and more than one sum in the precision of the data
    x = 3 + rng.standard_normal((n, d))
    if layout == "integers":
        x = np.round(10 * x).astype(int)
    given = x
    if layout == "columns":
        given = np.ascontiguousarray(x.T).T
    elif layout == "memmap":
        given = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=x.shape)
        given[:] = x
    elif layout.startswith("dask"):
        array = pytest.importorskip("dask.array")
        given = array.from_array(x, chunks=(701, 3 if "both" in layout else d))
    blocks = SampleBlocks(given, centre)
    z = x - (0 if centre is None else x.mean(axis=0))
    q, b, w = symmetric(rng, d), rng.standard_normal(d), rng.standard_normal(n)
    expected = np.einsum("ni,ij,nj->n", z, q, z) + z @ b
    np.testing.assert_allclose(blocks.forms(q, b), expected, atol=1e-11 * np.abs(expected).max())
    gram, vector = blocks.weighted_sums(w)
    np.testing.assert_allclose(gram, np.einsum("n,ni,nj->ij", w, z, z), atol=1e-11 * np.sum(z**2))
    np.testing.assert_allclose(vector, w @ z, atol=1e-11 * np.abs(z).sum())
    np.testing.assert_allclose(blocks.weighted_sum(w), vector, atol=1e-11 * np.abs(z).sum())
    diagonal = np.diag(rng.standard_normal(d))
    expected = z**2 @ np.diag(diagonal) + z @ b
    np.testing.assert_allclose(blocks.forms(diagonal, b), expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(blocks.covariance, z.T @ z / n, rtol=1e-12, atol=1e-12 * np.abs(z).max() ** 2)


def test_single_precision_is_summed_in_double_precision():
    rng = np.random.default_rng(1)
    n, d = 400_000, 3
    x = rng.standard_normal((n, d)).astype(np.float32)
    w = rng.standard_normal(n)
    gram, _ = SampleBlocks(x).weighted_sums(w)
    exact = (x.T.astype(float) * w) @ x.astype(float)
    # Weights are shifted by up to 5: every block is a sum of about 5 · 8192, rounded at 6e-8 in each of its
    # partial sums; over 49 blocks this leaves 1e-7 of Σ|w|x² or so, where one sum in single precision would
    # leave 1e-5.
    np.testing.assert_allclose(gram, exact, atol=5e-7 * n)


def test_white_coordinates_are_never_formed():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((500, 6)) @ rng.standard_normal((6, 6)) + 5
    whitener = rng.standard_normal((6, 4))
    design = Design(SampleBlocks(x, "mean"), whitener)
    z = (x - x.mean(axis=0)) @ whitener
    q, b, w = symmetric(rng, 4), rng.standard_normal(4), rng.standard_normal(500)
    np.testing.assert_allclose(
        design.outputs(q, b), np.einsum("ni,ij,nj->n", z, q, z) - np.trace(q) + z @ b, atol=1e-9
    )
    matrix, vector = design.sums(w)
    np.testing.assert_allclose(matrix, (z.T * w) @ z - w.sum() * np.eye(4), atol=1e-8)
    np.testing.assert_allclose(vector, w @ z, atol=1e-9)


# --- shrinkage -------------------------------------------------------------------------------


def numerical_divergence(shrinkage, matrix, noise_std, step=1e-5):
    """Sum of central differences of R ↦ Q̂ over orthonormal coordinates (error step² · third derivative)."""
    d = len(matrix)

    def estimate(r):
        values, basis = np.linalg.eigh(r)
        return (basis * shrinkage(values, noise_std).values) @ basis.T

    total = 0.0
    for i in range(d):
        for j in range(i, d):
            e = np.zeros((d, d))
            e[i, j] = e[j, i] = 1.0 if i == j else np.sqrt(0.5)
            total += np.sum(e * (estimate(matrix + step * e) - estimate(matrix - step * e))) / (2 * step)
    return total


@pytest.mark.parametrize("bandwidth", [1.0, 3.0])
def test_the_divergence_of_empirical_shrinkage_is_its_derivative(bandwidth):
    rng = np.random.default_rng(3)
    matrix = symmetric(rng, 12) + np.diag([3.0, -2.0] + [0.0] * 10)
    shrinkage = EmpiricalShrinkage(bandwidth)
    exact = numerical_divergence(shrinkage, matrix, 0.4)
    assert shrinkage(np.linalg.eigvalsh(matrix), 0.4).divergence == pytest.approx(exact, rel=1e-6)


def test_a_spike_far_from_the_bulk_gets_its_known_shrinkage():
    """θ + σ²/θ is observed for a spike θ, and u·Qu = θ - σ²/θ is the best value."""
    bulk = 2 * np.cos(
        np.pi * (np.arange(1, 2000) - 0.5) / 1999
    )  # not a semicircle, but all that matters is far away
    sigma, observed = 0.7, 400.0
    values = EmpiricalShrinkage()(sigma * np.append(bulk, observed), sigma).values
    # g(y) = 1/y (1 + O(2/y²)) for the bulk seen from 400; and 1999 of 2000 eigenvalues are in it.
    assert values[-1] == pytest.approx(sigma * (observed - 2 / observed * 1999 / 2000), abs=sigma * 1e-7)


@pytest.mark.parametrize(("readouts", "gamma"), [("homogeneous", 0.5), (ASYMMETRIC, 1.7), ("gaussian", 0.3)])
@pytest.mark.parametrize("scale", [0.8, -2.0])
def test_known_law_estimates_its_own_error(readouts, gamma, scale):
    """(2σ²/d) div equals ‖Q - Q̂‖², over independent matrices; either sign of the scale."""
    d, sigma = 120, 0.5
    law = ww.readouts.resolve(readouts)
    denoiser = ww.denoising.MatrixDenoiser(law, gamma)
    shrinkage = KnownLaw(denoiser, scale, d)
    ratios = []
    for seed in range(8):
        rng = np.random.default_rng([4, seed])
        k = round(gamma * d)
        w = rng.standard_normal((k, d))
        q = scale * (w.T * law.quantiles(k)) @ w / np.sqrt(k * d)
        values, basis = np.linalg.eigh(q + sigma * goe(rng, d))
        shrunk = shrinkage(values, sigma)
        error = np.sum(((basis * shrunk.values) @ basis.T - q) ** 2)
        ratios.append(error / (2 * sigma**2 / d * shrunk.divergence))
    ratios = np.array(ratios)
    # Two per cent for d = 120: the mmse is that of the limit, with corrections of order 1/d.
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / np.sqrt(8) + 2.5 / d


@pytest.mark.parametrize(("readouts", "gamma"), [("rademacher", 0.4), ("gaussian", 1.5)])
def test_empirical_shrinkage_is_nearly_as_good_as_the_known_law(readouts, gamma):
    d, sigma = 200, 0.6
    law = ww.readouts.resolve(readouts)
    known = KnownLaw(ww.denoising.MatrixDenoiser(law, gamma), 1.0, d)
    excess = []
    for seed in range(5):
        rng = np.random.default_rng([5, seed])
        k = round(gamma * d)
        w = rng.standard_normal((k, d))
        q = (w.T * law.quantiles(k)) @ w / np.sqrt(k * d)
        values, basis = np.linalg.eigh(q + sigma * goe(rng, d))
        errors = [
            np.sum(((basis * f(values, sigma).values) @ basis.T - q) ** 2)
            for f in (EmpiricalShrinkage(), known)
        ]
        excess.append(errors[0] / errors[1] - 1)
    assert np.mean(excess) < 0.03


# --- the linear part -------------------------------------------------------------------------


def test_ridge_is_the_exact_gaussian_posterior_and_the_printed_scale_is_not():
    """⟨S₁⟩ against conditioning of the joint Gaussian of (S₁, y); the printed prefactor is off by √noise."""
    rng = np.random.default_rng(6)
    n, d, mu1, noise = 40, 9, 0.7, 0.3
    x = rng.standard_normal((n, d))
    y = mu1 * x @ rng.standard_normal(d) / np.sqrt(d) + np.sqrt(noise) * rng.standard_normal(n)
    design = mu1 * x / np.sqrt(d)
    exact = design.T @ np.linalg.solve(design @ design.T + noise * np.eye(n), y)
    b, n_free = ridge_posterior(x.T @ x / n, x.T @ y / n, noise / n, mu1**2 / d)
    np.testing.assert_allclose(b * np.sqrt(d) / mu1, exact, rtol=1e-10)
    hat = design @ design.T @ np.linalg.inv(design @ design.T + noise * np.eye(n))
    assert n_free == pytest.approx(np.trace(hat), rel=1e-10)

    delta1 = noise / mu1**2
    printed = np.linalg.solve(np.eye(d) + x.T @ x / (d * delta1), x.T @ y) / np.sqrt(d * delta1)
    np.testing.assert_allclose(printed / np.sqrt(noise), exact, rtol=1e-10)
    assert np.abs(printed - exact).max() > 0.1 * np.abs(exact).max()


# --- the iteration ---------------------------------------------------------------------------


def quadratic_sample(seed, n=4000, d=24, noise=0.2, draw=None):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) if draw is None else draw(rng, (n, d))
    q, b = symmetric(rng, d) / np.sqrt(d), rng.standard_normal(d) / np.sqrt(d)
    y = 1.5 + x @ b + np.einsum("ni,ij,nj->n", x, q, x) - np.trace(q)
    return x, y + np.sqrt(noise) * rng.standard_normal(n), q, b


def test_gamp_knows_its_own_error_and_the_noise():
    ratios, noises = [], []
    for seed in range(8):
        x, y, q, b = quadratic_sample([7, seed])
        state = iterate(Design(SampleBlocks(x)), y, EmpiricalShrinkage(), GaussianOutput(), linear_power=None)
        assert state.status == "converged"
        error = 2 * np.sum((state.matrix - q) ** 2) + np.sum((state.vector - b) ** 2)
        ratios.append(error / state.variance)
        noises.append(state.residual_variance - state.variance)
    # A tenth for d = 24: Onsager terms and kernel are right up to order 1/d.
    assert abs(np.mean(ratios) - 1) < 0.1
    assert np.mean(noises) == pytest.approx(0.2, rel=0.05)


def test_without_the_onsager_term_the_error_estimate_is_wrong():
    """The check above can fail: the plain residual of the fit is far below the residual of a fresh sample."""
    x, y, q, b = quadratic_sample([8, 0])
    design = Design(SampleBlocks(x))
    state = iterate(design, y, EmpiricalShrinkage(), GaussianOutput(), linear_power=None)
    naive = np.var(y - design.outputs(state.matrix, state.vector))
    assert naive < 0.9 * state.residual_variance


def test_damping_and_start_do_not_move_the_fixed_point():
    x, y, *_ = quadratic_sample([9, 0])
    design = Design(SampleBlocks(x))
    options = {"linear_power": None, "rtol": 1e-5, "max_steps": 300}
    shrinkage = KnownLaw(ww.denoising.MatrixDenoiser("rademacher", 1.2), None, 24)
    plain = iterate(design, y, shrinkage, GaussianOutput(), **options)
    rng = np.random.default_rng(10)
    for changed in ({"damping": 0.4}, {"start": "spectral"}, {"start": 0.1 * symmetric(rng, 24)}):
        other = iterate(design, y, shrinkage, GaussianOutput(), **options, **changed)
        assert other.status == plain.status == "converged"
        # Damping moves the Onsager term while it is at work, not at rest.
        np.testing.assert_allclose(other.matrix, plain.matrix, atol=2e-4 * np.abs(plain.matrix).max())


def test_heavy_tails_stall_gamp_but_not_the_exact_regression():
    x, y, q, _ = quadratic_sample(
        [11, 0], n=2500, draw=lambda rng, shape: rng.standard_t(4, shape) / np.sqrt(2)
    )
    design = Design(SampleBlocks(x))
    gamp = iterate(
        design, y, EmpiricalShrinkage(), GaussianOutput(), linear_power=None, max_damping=0.0, max_steps=100
    )
    assert gamp.status == "stalled"
    exact = iterate_lmmse(design, y, EmpiricalShrinkage())
    assert np.sum((exact.matrix - q) ** 2) < 0.2 * np.sum(q**2)


def test_both_solvers_agree_on_gaussian_inputs():
    x, y, q, _ = quadratic_sample([12, 0], n=3000)
    design = Design(SampleBlocks(x))
    gamp = iterate(design, y, EmpiricalShrinkage(), GaussianOutput(), linear_power=None)
    exact = iterate_lmmse(design, y, EmpiricalShrinkage())
    # Two approximations of one posterior mean: their distance is a few per cent of their common error.
    assert np.sum((gamp.matrix - exact.matrix) ** 2) < 0.1 * np.sum((gamp.matrix - q) ** 2)


def test_conjugate_gradients_and_the_factorised_regression_agree(monkeypatch):
    from widthwise.learners import lmmse_rie

    x, y, *_ = quadratic_sample([13, 0], n=900, d=12)
    design = Design(SampleBlocks(x))
    dense = lmmse_rie._Regression(design, y, np.random.default_rng(0))
    monkeypatch.setattr(lmmse_rie, "_N_DENSE", 0)
    sparse = lmmse_rie._Regression(design, y, np.random.default_rng(0))
    belief = lmmse_rie._Belief(0.2, 300.0, 20.0)
    mean = 0.01 * np.eye(12)
    one, two = dense.posterior(belief, mean), sparse.posterior(belief, mean)
    assert dense.is_dense and not sparse.is_dense
    np.testing.assert_allclose(two.matrix, one.matrix, atol=1e-3 * np.abs(one.matrix).max())
    # One random probe of 78 coordinates: relative error √(2/78) of the trace.
    assert two.matrix_variance == pytest.approx(one.matrix_variance, rel=4 * np.sqrt(2 / 78))


@pytest.mark.parametrize(
    ("options", "word"),
    [({"damping": 1.0}, "damping"), ({"max_steps": 0}, "max_steps"), ({"start": "hot"}, "start")],
)
def test_bad_options(options, word):
    x, y, *_ = quadratic_sample([14, 0], n=50, d=4)
    with pytest.raises(ValueError, match=word):
        iterate(
            Design(SampleBlocks(x)), y, EmpiricalShrinkage(), GaussianOutput(), linear_power=None, **options
        )
    with pytest.raises(ValueError, match="noise"):
        GaussianOutput(0.0)
