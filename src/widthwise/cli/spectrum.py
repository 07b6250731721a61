"""``widthwise spectrum``: denoising of the matrix that the hidden units make."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .._sizes import conversions
from .bundles import takes_bundles
from .output import BadInput, Output, number, print_table, talk
from .problem_options import (
    GammaOption,
    HiddenOption,
    NormaliseOption,
    ReadoutsOption,
    SizeOption,
    read_numbers,
    read_problem,
    read_readouts,
)

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
@takes_bundles
def spectrum(
    readouts: ReadoutsOption = "homogeneous",
    gamma: GammaOption = None,
    k: HiddenOption = None,
    d: SizeOption = None,
    normalise: NormaliseOption = False,
    snr: Annotated[
        str,
        typer.Option(
            "--snr",
            metavar="VALUES",
            help="Signal-to-noise ratio eta of the matrix channel, >= 0: one value (3.7), a list (1,2,5) or "
            "a range (0.5:8:16 is first, last, count).",
        ),
    ] = "1",
    *,
    out: Output,
) -> None:
    """Spectrum, mmse and information of the matrix that the hidden units make.

    The matrix S = W^T D_v W/sqrt(kd) is seen as Y = sqrt(eta) S + Z, Z being a Gaussian orthogonal matrix:
    bands of the spectrum of Y, the mmse (1 without data) and the mutual information in nats per d². The
    figure shows the density and the shrinkage function, which turns eigenvalues of Y into estimates of S.

    Example: widthwise spectrum --readouts four-point --gamma 0.7 --snr 3.7 --plot spectrum.png

    Example: widthwise spectrum --readouts gaussian --snr 0.1:10:20 --csv
    """
    from ..denoising import LARGEST_SPECTRAL_SNR, MatrixDenoiser

    values = read_numbers("--snr", snr, "signal-to-noise ratio of the matrix channel", is_zero_allowed=True)
    if values.max() > LARGEST_SPECTRAL_SNR:
        raise BadInput(
            f"--snr must be at most {LARGEST_SPECTRAL_SNR:g} (beyond, the bands of the noise are lost in the "
            f"rounding of those of the signal); got {values.max():g}"
        )
    law = read_readouts(readouts, normalise=normalise)
    width = read_problem(gamma=gamma, k=k, d=d).gamma
    if k is not None:
        talk(conversions(gamma=(width, "k/d")))
    if out.plot is not None and values.size > 1:
        raise BadInput(f"--plot shows one value of --snr; got {values.size}")

    denoiser = MatrixDenoiser(law, width)
    records: list[dict[str, Any]] = [
        {
            "snr": float(value),
            "matrix_mmse": denoiser.mmse(value),
            "matrix_information": denoiser.information(value),
            "bands": [list(band) for band in denoiser.support(value)],
        }
        for value in values
    ]
    title = repr(denoiser)
    out.print({"readouts": law.spec, "gamma": width}, records, lambda: _print(records, title))

    def figure() -> Any:
        from ..plotting import plot_spectrum

        return plot_spectrum(None, denoiser, float(values[0])).figure

    out.draw(figure)


def _print(records: list[dict[str, Any]], title: str) -> None:
    rows = [
        [
            f"{r['snr']:.6g}",
            number(r["matrix_mmse"]),
            number(r["matrix_information"]),
            "  ".join(f"[{low:.5g}, {high:.5g}]" for low, high in r["bands"]),
        ]
        for r in records
    ]
    print_table(["snr", "matrix_mmse", "matrix_information", "bands"], rows, title=title)
