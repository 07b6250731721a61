"""The limit of small noise: against Fisher matrices, the solver, committee machines and published numbers."""

import csv
from pathlib import Path

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory import small_noise_limit

ASYMMETRIC = ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True)
TABLE = Path(__file__).parents[2] / "examples" / "small_noise_fisher.csv"


@pytest.mark.parametrize(
    ("activation", "exact", "main", "factorised"),
    [("sigma3", 0.2872, 0.2673, 0.3048), ("relu", 2.912, 2.694, 3.002)],
)
def test_the_coefficients_at_gamma_one_half(activation, exact, main, factorised):
    limit = small_noise_limit(ww.Problem(activation, gamma=0.5))
    found = [c.matrix for c in (limit.exact, limit.main, limit.factorised)]
    assert found == pytest.approx([exact, main, factorised], abs=6e-4 if activation == "relu" else 6e-5)


@pytest.mark.parametrize("gamma", [0.02, 0.3, 1.0, 1.7])
@pytest.mark.parametrize("activation", ["sigma3", "elu"])
def test_the_two_parts_of_the_error_add_up(activation, gamma):
    """½μ₂²κ + γcξ = γ: the error is the noise times unknowns per label, whatever the ansatz."""
    problem = ww.Problem(activation, gamma=gamma, readouts=ASYMMETRIC)
    limit = small_noise_limit(problem)
    slope = float(problem.activation.tail_kernel_slope(1.0))
    for part in (limit.exact, limit.main, limit.factorised):
        total = 0.5 * problem.hermite[2] ** 2 * part.matrix + gamma * slope * part.overlap
        assert total == pytest.approx(gamma, rel=1e-11)


@pytest.mark.parametrize("gamma", [0.3, 1.7])
def test_the_tangent_map_has_the_eigenvalues_that_are_claimed(gamma):
    """δS = Σ_i v_i(δw_i w_iᵀ + w_i δw_iᵀ)/√k written out: eigenvalues s + s', s and 0, for any readouts."""
    d, rng = 12, np.random.default_rng(7)
    k = round(gamma * d)
    w, v = rng.standard_normal((k, d)), ASYMMETRIC.sample(rng, k)
    change = np.zeros((d, d, k, d))  # of Σ_i v_i w_i w_iᵀ, by the entry (i, a) of v_i δw_i
    for a in range(d):
        change[a, :, :, a] += w.T
        change[:, a, :, a] += w.T
    change = change.reshape(d * d, k * d)
    seen = change.T @ change / (2 * d)
    claimed = np.sort(_tangent_spectrum(w))
    assert np.linalg.eigvalsh(seen) == pytest.approx(claimed, abs=1e-11)
    # The weights themselves move by 1/v_i of that, and the readouts drop out of v_i²|δw_i|².
    size = np.repeat(v, d)
    fisher = 2.0 * size[:, None] * seen * size + 0.5 * np.diag(size**2)
    trace = np.sum(size**2 * np.linalg.inv(fisher).diagonal())
    assert trace == pytest.approx(np.sum(1 / (2.0 * claimed + 0.5)), rel=1e-10)


def _tangent_spectrum(w):
    """All kd eigenvalues, by the singular values of the weights."""
    k, d = w.shape
    s = np.linalg.svd(w, compute_uv=False) ** 2 / d
    pairs = np.add.outer(s, s)[np.triu_indices(s.size)]
    out = np.repeat(s, max(d - k, 0))
    return np.concatenate([pairs, out, np.zeros(k * d - pairs.size - out.size)])


@pytest.mark.parametrize("gamma", [0.3, 1.0, 1.7])
def test_the_mean_over_the_spectrum_is_that_of_large_weights(gamma):
    """Entries ±1 instead of Gaussian ones fluctuate less: Σw² is fixed, and s has the same law."""
    problem = ww.Problem("sigma3", gamma=gamma, readouts=ASYMMETRIC)
    limit = small_noise_limit(problem)
    slope = float(problem.activation.tail_kernel_slope(1.0))
    means, errors = [], []
    for d in (100, 200):
        found = []
        for seed in range(12):
            w = np.random.default_rng([seed, d]).choice([-1.0, 1.0], (round(gamma * d), d))
            spectrum = _tangent_spectrum(w)
            stiffness = problem.hermite[2] ** 2 * spectrum + slope
            found.append([np.mean(1 / stiffness), 2 * gamma * np.mean(spectrum / stiffness)])
        means.append(np.mean(found, axis=0))
        errors.append(np.std(found, axis=0, ddof=1) / np.sqrt(12))
    # The line through both sizes takes out the term in 1/d; one of 1/d² is left, some 1e-4.
    error = np.hypot(2 * errors[1], errors[0])
    exact = np.array([limit.exact.overlap, limit.exact.matrix])
    assert np.all(error < 0.004 * exact)
    assert np.all(np.abs(2 * means[1] - means[0] - exact) < 4 * error + 5e-4 * exact)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.3, 1.7])
@pytest.mark.parametrize("theory", ["main", "factorised"])
def test_both_theories_tend_to_their_coefficients(theory, gamma):
    alpha, noise = 2.9, 1e-7
    readouts = ASYMMETRIC if gamma < 1 else "homogeneous"
    problem = ww.Problem("sigma3", readouts=readouts, gamma=gamma, noise=noise)
    limit = small_noise_limit(problem)
    part = getattr(limit, theory)
    found = ww.solve(problem, alpha, branch="specialised", theory=theory).require()
    scale = (noise + found.excess_error) / alpha
    # The next order is Δ/α times numbers of order 10, relative: 1e-6 here.
    assert found.excess_error == pytest.approx(limit.excess_error(alpha), rel=1e-5)
    assert (1 - found.matrix_overlap_centred) / scale == pytest.approx(part.matrix, rel=1e-5)
    gap = (1 - found.weight_overlap) * found.readout_values**2 / (gamma * scale)
    assert gap == pytest.approx(np.full(gap.size, part.overlap), rel=1e-5)


@pytest.mark.slow
def test_kinks_and_readouts_near_zero_only_slow_the_approach():
    for activation, readouts in (("relu", "homogeneous"), ("sigma3", "gaussian")):
        errors = []
        for noise in (1e-5, 1e-7):
            problem = ww.Problem(activation, readouts=readouts, gamma=0.3, noise=noise)
            found = ww.solve(problem, 2.0, branch="specialised").require()
            ratio = (1 - found.matrix_overlap_centred) * 2.0 / (noise + found.excess_error)
            errors.append(abs(ratio / small_noise_limit(problem).main.matrix - 1))
        # As the root of the noise: a hundredth of it, a tenth of the distance.
        assert errors[0] < 0.03 and errors[1] < 0.2 * errors[0]


def test_units_without_readout_are_not_counted():
    some = ww.readouts.Discrete((0.0, 1.0), (0.4, 0.6), normalise=True)
    limit = small_noise_limit(ww.Problem("sigma3", readouts=some, gamma=1.1, noise=1e-7))
    others = small_noise_limit(ww.Problem("sigma3", gamma=0.66))
    assert limit.active_gamma == pytest.approx(0.66)
    assert limit.exact.matrix == pytest.approx(others.exact.matrix, rel=1e-12)
    found = ww.solve(limit.problem, 2.0, branch="specialised").require()
    assert found.excess_error == pytest.approx(limit.excess_error(2.0), rel=1e-5)
    ratio = (1 - found.matrix_overlap_centred) * 2.0 / (1e-7 + found.excess_error)
    assert ratio == pytest.approx(limit.main.matrix, rel=1e-5)


def test_few_units_are_a_committee():
    """γ → 0: every unit has the stiffness μ₂² + c; the factorised ansatz says so, the main theory not."""
    problem = ww.Problem("sigma3", gamma=1e-5)
    limit = small_noise_limit(problem)
    alone = 1 / (problem.hermite[2] ** 2 + float(problem.activation.tail_kernel_slope(1.0)))
    assert limit.exact.overlap == pytest.approx(alone, rel=1e-4)
    assert limit.factorised.overlap == pytest.approx(alone, rel=1e-4)
    assert limit.main.overlap > 1.5 * alone


def test_a_committee_of_many_units_at_finite_noise():
    """γ → 0 at fixed α/γ (d → ∞ first): q₂ = 𝒬² and 𝒬/(1 - 𝒬) = (α/γ)[μ₂²𝒬 + g'(𝒬)]/(Δ + ε)."""
    labels, noise = 2.0, 0.1
    problem = ww.Problem("sigma3", gamma=1e-4, noise=noise)
    g, slope = problem.activation.tail_kernel, problem.activation.tail_kernel_slope
    mu2 = problem.hermite[2]
    q = 0.99
    for _ in range(200):
        error = 0.5 * mu2**2 * (1 - q**2) + float(g(1.0)) - float(g(q))
        snr = labels * (mu2**2 * q + float(slope(q))) / (noise + error)
        q = snr / (1 + snr)
    by_factorised = ww.solve(problem, labels * 1e-4, branch="specialised", theory="factorised").require()
    by_main = ww.solve(problem, labels * 1e-4, branch="specialised").require()
    assert by_factorised.weight_overlap[0] == pytest.approx(q, abs=1e-4)  # corrections of order γ
    assert by_factorised.matrix_overlap_centred == pytest.approx(q**2, abs=1e-4)
    assert by_main.weight_overlap[0] < q - 0.03 and by_main.matrix_overlap_centred > q**2 + 0.01


def test_without_a_matrix_all_three_agree():
    limit = small_noise_limit(ww.Problem("tanh(2*x)", gamma=1.7, readouts="gaussian"))
    for part in (limit.main, limit.factorised):
        assert part.overlap == pytest.approx(limit.exact.overlap, rel=1e-12)
        assert part.matrix == pytest.approx(limit.exact.matrix, rel=1e-12)


def test_first_orders_of_the_overlaps():
    problem = ww.Problem("sigma3", gamma=0.3, noise=1e-3, readouts=ASYMMETRIC)
    limit = small_noise_limit(problem)
    total = 1e-3 + limit.excess_error(1.7)
    assert limit.matrix_overlap_centred(1.7) == pytest.approx(1 - limit.exact.matrix * total / 1.7, rel=1e-12)
    gap = 0.3 * total * limit.exact.overlap / (1.7 * 0.4**2)
    assert limit.weight_overlap(1.7, 0.4) == pytest.approx(1 - gap, rel=1e-12)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (ww.Problem("sign"), "jumps"),
        (ww.Problem("relu", "rademacher"), "density"),
        (ww.Problem("x**2"), "beyond second order"),
        (ww.Problem("x"), "beyond second order"),
        (ww.Problem("relu", readouts="rademacher", channel="probit:0.1"), "channel"),
        (ww.Problem("tanh", inputs="spiked:4,0.1"), "isotropic"),
    ],
)
def test_refusals(problem, words):
    with pytest.raises(ValueError, match=words):
        small_noise_limit(problem)


def test_too_few_labels_are_refused():
    with pytest.raises(ValueError, match=r"must be > 0.3"):
        small_noise_limit(ww.Problem("relu", gamma=0.3)).excess_error(0.3)


def test_the_table_of_fisher_matrices_decides():
    """Whole networks, all orders: the coefficient that fluctuates less, on its line in 1/d."""
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for activation, name in (("sigma3", "matrix"), ("relu", "overlap")):
        chosen = [
            (float(r["d"]), float(r[f"{name}_coefficient"]))
            for r in rows
            if (r["activation"], r["readouts"], r["gamma"]) == (activation, "homogeneous", "0.5")
        ]
        d, y = np.array(chosen).T
        value, error = _at_infinity(d, y)
        limit = small_noise_limit(ww.Problem(activation, gamma=0.5))
        assert abs(value - getattr(limit.exact, name)) < 3 * error
        for wrong in (limit.main, limit.factorised):
            assert abs(value - getattr(wrong, name)) > 4 * error


def test_the_table_of_hmc_runs_rules_out_both_theories():
    """Straight lines in 1/d through runs from the teacher end between the two theories, and at neither."""
    with TABLE.with_name("small_noise_hmc.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for case, name in (
        (("relu", "0.1", "0.8", "0.1"), "matrix"),
        (("relu", "0.1", "0.8", "0.1"), "overlap"),
        (("sigma3", "0.1", "0.2", "0.1"), "overlap"),
        (("sigma3", "0.01", "1.0", "0.5"), "matrix"),
    ):
        activation, noise, alpha, gamma = case[0], *map(float, case[1:])
        chosen = [r for r in rows if (r["activation"], r["noise"], r["alpha"], r["gamma"]) == case]
        d, error, q2, gap = (
            np.array([float(r[column]) for r in chosen])
            for column in ("d", "excess_error", "matrix_overlap_centred", "weight_gap")
        )
        value, spread = _at_infinity(d, (gamma * (1 - q2) if name == "matrix" else gap) / error)
        found = []
        for theory in ("main", "factorised"):
            problem = ww.Problem(activation, noise=noise, gamma=gamma)
            s = ww.solve(problem, alpha, branch="specialised", theory=theory).require()
            away = gamma * (1 - s.matrix_overlap_centred) if name == "matrix" else 1 - s.weight_overlap[0]
            found.append(float(away) / s.excess_error)
        assert min(found) + 3 * spread < value < max(found) - 3 * spread, (case, name, value, spread, found)


def _at_infinity(d, y):
    """a of the least-squares line a + b/d, errors being of order 1/d, and its standard error."""
    design = np.stack([d, np.ones_like(d)], axis=1)
    fit, residual, *_ = np.linalg.lstsq(design, y * d, rcond=None)
    return fit[0], np.sqrt(residual[0] / (d.size - 2) * np.linalg.inv(design.T @ design)[0, 0])
