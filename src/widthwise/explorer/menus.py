"""What the lists of the page offer, by the names that the theory reads."""

from __future__ import annotations

from ..ingredients.activations import ACTIVATIONS as NAMED

__all__ = ["ACTIVATIONS", "CHANNELS", "INPUTS", "OWN", "READOUTS", "WEIGHTS"]

OWN = "own"
"""The entry of each list that opens a field for something else."""

ACTIVATIONS = {name: name for name in NAMED if name not in ("linear", "identity", "he2", "he3", "he4")} | {
    "relu": "ReLU",
    "elu": "ELU",
    "gelu": "GELU",
    "quadratic": "quadratic x²",
    "sigma1": "σ₁ = He₂/√2",
    "sigma2": "σ₂ = He₃/√6",
    "sigma3": "σ₃ = He₂/√2 + He₃/6",
    OWN: "own formula …",
}
WEIGHTS = {
    "gaussian": "Gaussian",
    "rademacher": "binary ±1 (Rademacher)",
    "uniform": "uniform",
    "sparse-gaussian(0.2)": "sparse Gaussian, density 0.2",
    OWN: "own values …",
}
READOUTS = {
    "homogeneous": "homogeneous, all 1",
    "rademacher": "binary ±1 (Rademacher)",
    "four-point": "four values",
    "uniform": "uniform",
    "gaussian": "Gaussian",
    OWN: "own table …",
}
CHANNELS = {
    "gaussian": "output + Gaussian noise",
    "laplace": "output + Laplace noise",
    "probit": "sign of noisy output (probit)",
    "logistic": "logistic, steepness 1/Δ",
    "sign": "sign of the output",
    OWN: "own channel …",
}
INPUTS = {
    "isotropic": "white",
    "power-law(1.0, 100)": "power law, 100 eigenvalues 1/i",
    "power-law(2.0, 100)": "power law, 100 eigenvalues 1/i²",
    "spiked(4.0, 0.1)": "spiked, a tenth with eigenvalue 4",
    OWN: "own eigenvalues …",
}
