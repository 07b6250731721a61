r"""Output channels P_out(y | λ): how a label is made from the network's output λ.

The theory needs a few functions of a channel, of the overlap q and the power r of λ,

.. math:: \psi_\mathrm{out}(q; r) = \int dy\, E_\xi\, Z \ln Z,  \qquad
          Z = E_u P_\mathrm{out}(y \mid \xi\sqrt q + u\sqrt{r - q}),

its slope in q, half the Fisher information that a label carries on λ, and its curvature.  They are
written in the *gap* r - q, which stays accurate when the network is learnt almost perfectly.

=========================  ===========================================  =====================================
``Gaussian(noise)``        y = λ + √noise z                             closed form
``Laplace(noise)``         y = λ + Laplace noise of that variance       one integral
``StudentT(noise, dof)``   y = λ + Student-t noise of that variance     one integral, tabulated in the gap
``Probit(noise)``          y = sign(λ + √noise z)                       one integral
``Sign()``                 y = sign λ                                   one integral
``Logistic(steepness)``    P(y) = 1/(1 + exp(-steepness y λ)), y = ±1   one integral, a mixture of probits
``Poisson(rate)``          counts of mean rate · ln(1 + e^λ)            quadrature, tabulated in the gap
``Nonlinear(f, noise)``    y = f(λ) + √noise z                          quadrature, tabulated in the gap
``Custom(function, ...)``  any ln P(y | λ)                              quadrature, tabulated in the gap
=========================  ===========================================  =====================================

The last five (and Probit, Sign) are not additive: with a non-centred activation the mean of λ matters
and is their parameter ``shift``.
"""

from .additive import Additive, Gaussian, Laplace, StudentT
from .base import Channel
from .binary import Probit, Sign
from .general import Custom, Nonlinear, Poisson
from .logistic import Logistic
from .specs import CHANNELS, resolve

__all__ = [
    "CHANNELS",
    "Additive",
    "Channel",
    "Custom",
    "Gaussian",
    "Laplace",
    "Logistic",
    "Nonlinear",
    "Poisson",
    "Probit",
    "Sign",
    "StudentT",
    "resolve",
]
