r"""
The spectrum behind the theory
==============================

The units together make the matrix S = WᵀDᵥW/√k. Its noisy spectrum and its optimal denoiser are all that the
universal phase needs; here they meet one random matrix.
"""

import numpy as np

import widthwise as ww
from widthwise.plotting import plot_spectrum, style

gamma, snr, d = 0.4, 6.0, 1200
denoiser = ww.denoising.MatrixDenoiser("four-point", gamma)
print("bands      ", np.round(denoiser.support(snr), 4).tolist())
print("mmse       ", denoiser.mmse(snr))
print("information", denoiser.information(snr))

# %%
# A random matrix of that law, with its eigenvalues in a histogram. On the right axis: the best estimate of an
# eigenvalue of S from one of the noisy matrix.

rng = np.random.default_rng(1)
k = round(gamma * d)
weights = rng.standard_normal((k, d))
readouts = ww.readouts.resolve("four-point").quantiles(k)
signal = (weights.T * readouts) @ weights / np.sqrt(k * d)
noise = rng.standard_normal((d, d))
noise = (noise + noise.T) / np.sqrt(2 * d)
eigenvalues = np.linalg.eigvalsh(np.sqrt(snr) * signal + noise)

style.use()
ax = plot_spectrum(None, denoiser, snr)
ax.hist(eigenvalues, bins=90, density=True, color="0.75", zorder=0, label=f"one matrix, d = {d}")
_ = ax.figure.legend(loc="outside lower center", ncols=2)
