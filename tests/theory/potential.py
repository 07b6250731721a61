"""Differences of a potential about a solution."""

import numpy as np

from widthwise.theory.potential import rs_potential, saddle_point_residuals

__all__ = ["central_differences", "order_parameters", "rs_potential", "saddle_point_residuals"]


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
