r"""The compiled sweep of single-flip Metropolis steps.

Steps come unit by unit. While unit i is at work the outputs are held without it, as
:math:`\lambda_\mu - v_i \sigma(h_{i\mu})/\sqrt k`. A trial then needs one evaluation of σ for each sample and
nothing of the state before it but one number, the log-likelihood; an accepted move changes one row of
pre-activations and no output.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np

__all__ = ["build_sweep"]

Compiled = Callable[..., Any]
Row = np.ndarray

_BLOCK = 2048  # samples whose terms are summed in single precision before being added in double


@lru_cache(maxsize=32)
def build_sweep(activation: Compiled, term: Compiled, factor: Compiled) -> Compiled:
    """A function that makes one step for each of ``sites`` and returns the numbers accepted and gained.

    Discrete laws propose atom ``index + shift`` (cyclically) and weigh the prior; the others take
    ``targets``, draws from the prior, for which the prior cancels. ``term`` and ``factor`` are those of a
    :class:`~widthwise.learners.numba_functions.LabelKernel`. Sites of one unit should follow each other: to
    change the unit costs about a trial and a half.
    """

    fast = numba.njit(fastmath=True, nogil=True, error_model="numpy")

    # Blocks are slices handed to a function of their own: a loop from 0 to size is vectorised, one from low
    # to high is not (75 against 11 microseconds for n = 22 500).
    @fast
    def trial_of_block(
        hidden: Row, others: Row, x: Row, codes: Row, step: float, shift: float, parameters: Row, table: Row
    ) -> float:
        total = shift - shift  # zero of the same precision
        for m in range(hidden.size):
            own = activation(hidden[m] + shift * x[m])
            total += term(codes[m], others[m], own, step, parameters, table)
        return total

    @fast
    def trial(
        hidden: Row, others: Row, x: Row, codes: Row, step: float, shift: float, parameters: Row, table: Row
    ) -> Any:
        """Log-likelihood with the unit moved by shift · x, up to what does not depend on the unit."""
        total = 0.0
        for low in range(0, hidden.size, _BLOCK):
            part = slice(low, min(low + _BLOCK, hidden.size))
            total += trial_of_block(
                hidden[part], others[part], x[part], codes[part], step, shift, parameters, table
            )
        return factor(step, parameters) * total

    @fast
    def exchange_in_block(
        last: Row,
        outputs: Row,
        hidden: Row,
        codes: Row,
        last_step: float,
        step: float,
        parameters: Row,
        table: Row,
    ) -> float:
        total = step - step
        for m in range(hidden.size):
            own = activation(hidden[m])
            others = outputs[m] + last_step * activation(last[m]) - step * own
            outputs[m] = others
            total += term(codes[m], others, own, step, parameters, table)
        return total

    @fast
    def exchange(
        last: Row,
        outputs: Row,
        hidden: Row,
        codes: Row,
        last_step: float,
        step: float,
        parameters: Row,
        table: Row,
    ) -> Any:
        """Put the last unit back into the outputs and take another out; return its log-likelihood."""
        total = 0.0
        for low in range(0, hidden.size, _BLOCK):
            part = slice(low, min(low + _BLOCK, hidden.size))
            total += exchange_in_block(
                last[part], outputs[part], hidden[part], codes[part], last_step, step, parameters, table
            )
        return factor(step, parameters) * total

    @fast
    def move(hidden: Row, x: Row, shift: float) -> None:
        for m in range(hidden.size):
            hidden[m] += shift * x[m]

    @fast
    def put_back(outputs: Row, hidden: Row, step: float) -> None:
        for m in range(hidden.size):
            outputs[m] += step * activation(hidden[m])

    @numba.njit(nogil=True, error_model="numpy")
    def sweep(
        weights: Row,
        index: Row,
        hidden: Row,
        outputs: Row,
        inputs: Row,
        codes: Row,
        parameters: Row,
        table: Row,
        steps: Row,
        scale: float,
        sites: Row,
        shifts: Row,
        targets: Row,
        atoms: Row,
        log_prior: Row,
        field: Row,
        side_snr: float,
        thresholds: Row,
        beta: float,
    ) -> tuple[int, float]:
        d, n = weights.shape[1], outputs.size
        n_accepted, gained = 0, 0.0
        unit, current, nothing = -1, 0.0, steps.dtype.type(0)
        for t in range(sites.size):
            i, j = sites[t] // d, sites[t] % d
            h, x, step = hidden[i, :n], inputs[j, :n], steps[i]
            if i != unit:
                last = max(unit, 0)
                last_step = steps[last] if unit >= 0 else nothing
                current = exchange(hidden[last, :n], outputs, h, codes, last_step, step, parameters, table)
                unit = i
            prior, now = 0.0, 0
            if atoms.size > 0:
                now = (index[i, j] + shifts[t]) % atoms.size
                target = atoms[now]
                prior = log_prior[now] - log_prior[index[i, j]]
            else:
                target = targets[t]
            if side_snr > 0:
                before = weights[i, j]
                prior += field[i, j] * (target - before) - 0.5 * side_snr * (target**2 - before**2)
            shift = steps.dtype.type(scale * (target - weights[i, j]))
            proposed = trial(h, outputs, x, codes, step, shift, parameters, table)
            if thresholds[t] < beta * (proposed - current) + prior:
                move(h, x, shift)
                weights[i, j] = target
                if atoms.size > 0:
                    index[i, j] = now
                n_accepted += 1
                gained += proposed - current
                current = proposed
        if unit >= 0:
            put_back(outputs, hidden[unit, :n], steps[unit])
        return n_accepted, gained

    compiled: Compiled = sweep
    return compiled
