"""What chains in JAX have in common: a state that is one tree of arrays, saved leaf by leaf."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["JaxChain"]


class JaxChain:
    """A chain whose whole state is ``_carry``; see :class:`~widthwise.learners.loop.Chain`."""

    _carry: Any

    def network(self) -> tuple[Any, ...]:
        """Current weights, and readouts if they are learnt; chains first."""
        raise NotImplementedError

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.network()[0])

    @property
    def readouts(self) -> np.ndarray | None:
        learnt = self.network()[1:]
        return np.asarray(learnt[0]) if learnt else None

    def save(self) -> dict[str, np.ndarray]:
        return {f"state:{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self._carry))}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        leaves, structure = jax.tree.flatten(self._carry)
        saved_leaves = [jnp.asarray(saved[f"state:{i}"]) for i in range(len(leaves))]
        self._carry = jax.tree.unflatten(structure, saved_leaves)
