"""Is the specialised solution exact?  Fisher matrices of networks at finite d against three coefficients.

As α → ∞ the posterior is Gaussian about the teacher, and its covariance is the inverse of n times the Fisher
matrix of one label. For a network of k units that matrix is F = M/(kdΔ),

    M_(ia),(jb) = v_i v_j E[σ'(h_i) σ'(h_j) x_a x_b],    h_i = w_i·x/√d,

an average over Gaussian inputs that is known exactly (Stein's lemma and two-dimensional integrals; closed for
ReLU). No data are drawn: each row of the table is one teacher. From the inverse follow

    ξ = Σ_i v_i² tr(M⁻¹)_ii/(kd),  κ = (2/d²) tr(M⁻¹P),  P_(ia),(jb) = v_i v_j (δ_ab w_i·w_j + w_ja w_ib)/d,

the coefficients of 1 - 𝒬 and 1 - q₂ whose limits ``ww.theory.small_noise_limit`` gives. Adds to
``small_noise_fisher.csv`` beside this file the rows that it does not have; ``--show`` extrapolates in 1/d.

    python examples/small_noise_fisher.py --activations sigma3 relu --dimensions 40 60 80 --seeds 4
"""

import argparse
import itertools

import numpy as np
from scipy.linalg import lapack

import widthwise as ww
from growing_table import GrowingTable
from small_noise_hmc import extrapolated

KEY = {"activation": str, "readouts": str, "gamma": float, "d": int, "seed": int}
COEFFICIENTS = ("overlap_coefficient", "matrix_coefficient")

# He₂/√2 + He₃/6 as a polynomial, by ascending powers.
SIGMA3 = np.polynomial.Polynomial([-1 / np.sqrt(2), -0.5, 1 / np.sqrt(2), 1 / 6])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--activations", nargs="+", default=["sigma3", "relu"], choices=["sigma3", "relu"])
    parser.add_argument("--readouts", nargs="+", default=["homogeneous"])
    parser.add_argument("--gammas", type=float, nargs="+", default=[0.5])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[40, 60, 80])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--show", action="store_true", help="only extrapolate what the table has")
    options = parser.parse_args()
    rows = GrowingTable(__file__, **KEY)
    if not options.show:
        seeds = range(options.seeds)
        axes = (options.dimensions, options.activations, options.readouts, options.gammas, seeds)
        for d, *case, seed in itertools.product(*axes):
            key = (*case, d, seed)
            if key not in rows:
                rows.add(dict(zip((*KEY, *COEFFICIENTS), (*key, *coefficients(*key)), strict=True)))
    show(rows)


def coefficients(activation: str, readouts: str, gamma: float, d: int, seed: int) -> tuple[float, float]:
    """ξ and κ of one teacher, at α → ∞."""
    k = round(gamma * d)
    w = np.random.default_rng([seed, d]).standard_normal((k, d))
    v = ww.Problem(activation, readouts=readouts, gamma=gamma).readouts.quantiles(k)
    inverse = inverted(fisher(w, v, *(relu(w) if activation == "relu" else polynomial(SIGMA3, w))))
    overlap = float(np.repeat(v**2, d) @ inverse.diagonal()) / (k * d)
    covariance = inverse.reshape(k, d, k, d)
    u = w / np.sqrt(d)
    matrix = float(np.sum(np.outer(v, v) * (u @ u.T) * np.einsum("iaja->ij", covariance)))
    for i in range(k):
        matrix += float(v[i] * (v @ (np.einsum("ajb,ja->jb", covariance[i], u) @ u[i])))
    return overlap, 2 * matrix / d**2


def fisher(
    w: np.ndarray, v: np.ndarray, flat: np.ndarray, single: np.ndarray, double: np.ndarray
) -> np.ndarray:
    """M from E σ'(h_i)σ'(h_j), E σ'''(h_i)σ'(h_j) and E σ''(h_i)σ''(h_j), by Stein's lemma."""
    k, d = w.shape
    u = w / np.sqrt(d)
    matrix = np.empty((k, d, k, d))
    for i in range(k):
        block = double[i][:, None, None] * (u[i][:, None] * u[:, None, :] + u[:, :, None] * u[i])
        block += single[i][:, None, None] * np.outer(u[i], u[i])
        block += single[:, i][:, None, None] * (u[:, :, None] * u[:, None, :])
        block[:, np.arange(d), np.arange(d)] += flat[i][:, None]
        matrix[i] = ((v[i] * v)[:, None, None] * block).transpose(1, 0, 2)
    return matrix.reshape(k * d, k * d)


def inverted(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a positive matrix, by Cholesky, in its memory."""
    factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)
    inverse, failed = (factor, failed) if failed else lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise ArithmeticError("the Fisher matrix is singular to rounding")
    lower = np.tril(inverse, -1)
    inverse = np.tril(inverse)
    inverse += lower.T
    return inverse


def polynomial(activation: np.polynomial.Polynomial, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """The three averages for a polynomial; units have the norms they have."""
    omega = w @ w.T / w.shape[1]
    n = activation.degree() + 1
    x, weight = np.polynomial.hermite_e.hermegauss(n)
    weight = weight / weight.sum()
    scale = np.sqrt(omega.diagonal())
    correlation = np.clip(omega / np.outer(scale, scale), -1, 1)
    rest = np.sqrt(1 - correlation**2)
    first, second, third = (activation.deriv(m) for m in (1, 2, 3))
    flat, single, double = (np.zeros_like(omega) for _ in range(3))
    for a, p in zip(x, weight, strict=True):
        for b, q in zip(x, weight, strict=True):
            one, two = scale[:, None] * a, scale * (correlation * a + rest * b)
            flat += p * q * first(one) * first(two)
            single += p * q * third(one) * first(two)
            double += p * q * second(one) * second(two)
    return flat, single, double


def relu(w: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same for ReLU, whose second derivative is a δ: only the directions of the units count.

    E θθ = ¼ + arcsin(ρ)/2π, E δ(h_i)δ(h_j) = 1/(2π√(1 - ρ²)) and E δ'(h_i)θ(h_j) = -ρ/(2π√(1 - ρ²)) for units
    of norm 1; a unit with itself has M = ½.
    """
    norm = np.sqrt(np.einsum("ia,ia->i", w, w) / w.shape[1])
    rho = w @ w.T / w.shape[1] / np.outer(norm, norm)
    np.fill_diagonal(rho, 0.0)
    double = 1 / (2 * np.pi * np.sqrt(1 - rho**2))
    single = -rho * double / norm[:, None] ** 2
    double = double / np.outer(norm, norm)
    flat = 0.25 + np.arcsin(rho) / (2 * np.pi)
    np.fill_diagonal(flat, 0.5)
    for part in (single, double):
        np.fill_diagonal(part, 0.0)
    return flat, single, double


def show(rows: GrowingTable) -> None:
    """Means over teachers, and where the straight line in 1/d through them ends."""
    for case in sorted({key[:3] for key in rows}):
        activation, readouts, gamma = case
        limit = ww.theory.small_noise_limit(ww.Problem(activation, readouts=readouts, gamma=gamma))
        print(f"{activation}, {readouts} readouts, gamma = {gamma:g}")
        sizes = sorted({key[3] for key in rows if key[:3] == case})
        for name, exact, main_theory, factorised in (
            ("overlap_coefficient", limit.exact.overlap, limit.main.overlap, limit.factorised.overlap),
            ("matrix_coefficient", limit.exact.matrix, limit.main.matrix, limit.factorised.matrix),
        ):
            values = [[float(row[name]) for key, row in rows.items() if key[:4] == (*case, d)] for d in sizes]
            for d, found in zip(sizes, values, strict=True):
                print(f"  {name:20s} d = {d:4d}  {mean_and_error(found)}  ({len(found)} teachers)")
            d, y = np.repeat(sizes, [len(found) for found in values]).astype(float), np.concatenate(values)
            if len(sizes) > 1 and y.size > 2:
                print("  {:20s} 1/d → 0  {:.4f} ± {:.4f}".format(name, *extrapolated(d, y)), end="  ")
            print(f"exact {exact:.4f}, main theory {main_theory:.4f}, factorised {factorised:.4f}")


def mean_and_error(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
