"""The RS potential written down as in the paper, from the ingredients alone (no solver)."""

import numpy as np

from widthwise.denoising import MatrixDenoiser


def rs_potential(problem, alpha, q2, q2_hat, overlap, overlap_hat):
    """f_RS of Result 1 at any order parameters; overlaps are arrays over the readout atoms."""
    v, p = np.asarray(problem.readouts.values), np.asarray(problem.readouts.probabilities)
    gamma, mean = problem.gamma, p @ v
    _, mu1, mu2 = problem.hermite
    g = problem.activation.tail_kernel
    r2 = 1 + gamma * mean**2
    q_k = mu1**2 + mu2**2 * q2 / 2 + p @ (v**2 * g(overlap))
    r_k = mu1**2 + mu2**2 * r2 / 2 + float(g(1.0))
    denoiser = MatrixDenoiser(problem.readouts, gamma)
    tau = denoiser.inverse_mmse(1 - p @ (v**2 * overlap**2))
    scalar = p @ (problem.weights.free_entropy(overlap_hat) - overlap * overlap_hat / 2)
    return (
        float(problem.channel.free_entropy(r_k - q_k, r_k))
        + (r2 - q2) * q2_hat / (4 * alpha)
        + gamma / alpha * scalar
        + (denoiser.information(tau) - denoiser.information(tau + q2_hat)) / alpha
    )


def order_parameters(solution):
    """The arguments of a potential, in its order."""
    s = solution
    return [s.matrix_overlap, s.matrix_overlap_hat, s.weight_overlap, s.weight_overlap_hat]


def central_differences(potential, solution, relative_step=1e-4):
    """(which, step, f(+step) - f(-step)) for each order parameter; steps are shares of it, or of 1 - 𝒬."""
    base = order_parameters(solution)
    for k, parameter in enumerate(base):
        for i in range(np.size(parameter)):
            if k >= 2 and solution.weight_overlap[i] == 0:
                continue  # the end of the range: differences would leave it
            size = abs(np.ravel(parameter)[i]) if k != 2 else 1 - solution.weight_overlap[i]
            values = []
            for sign in (1, -1):
                moved = [np.array(x, dtype=float) for x in base]
                moved[k].flat[i] += sign * relative_step * size
                values.append(potential(*moved))
            yield (k, i), relative_step * size, values[0] - values[1]


def saddle_point_residuals(problem, solution):
    """The four equations of the paper (Gaussian noise) at a solution: left minus right, relative."""
    s = solution
    v, p = s.readout_values, s.readout_weights
    gamma, alpha, noise = problem.gamma, s.alpha, problem.channel.noise
    mean = p @ v
    _, _, mu2 = problem.hermite
    g, slope = problem.activation.tail_kernel, problem.activation.tail_kernel_slope
    denoiser = MatrixDenoiser(problem.readouts, gamma)
    r2 = 1 + gamma * mean**2
    m2 = p @ (v**2 * s.weight_overlap**2)
    tau = denoiser.inverse_mmse(1 - m2) if m2 > 0 else 0.0
    total = noise + mu2**2 * (r2 - s.matrix_overlap) / 2 + float(g(1.0)) - p @ (v**2 * g(s.weight_overlap))
    tau_slope = 2 * v**2 * s.weight_overlap / -denoiser.mmse_slope(tau)
    hat = (s.matrix_overlap - gamma * mean**2 - m2) * tau_slope / (2 * gamma)
    hat = hat + alpha / gamma * v**2 * slope(s.weight_overlap) / total
    return {
        "overlap": np.max(np.abs(s.weight_overlap - problem.weights.overlap(s.weight_overlap_hat))),
        "overlap_hat": np.max(np.abs(s.weight_overlap_hat - hat) / (1 + np.abs(hat))),
        "matrix_overlap": abs(s.matrix_overlap - (r2 - denoiser.mmse(s.matrix_overlap_hat + tau))),
        "matrix_overlap_hat": abs(s.matrix_overlap_hat - alpha * mu2**2 / total) / (1 + s.matrix_overlap_hat),
    }
