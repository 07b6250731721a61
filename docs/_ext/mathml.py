"""Formulas as MathML, which every browser draws by itself: pages need no script and no network.

It is a renderer of Sphinx (``html_math_renderer = "mathml"``), for inline roles and for displays.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["setup"]

# What the converter does not know, in words that it does.
_WORDS = {
    r"\Big[": "[",
    r"\Big]": "]",
    r"\Big(": "(",
    r"\Big)": ")",
    r"\tfrac": r"\frac",
    r"\dfrac": r"\frac",
}


def _mathml(latex: str, display: str) -> str:
    for old, new in _WORDS.items():
        latex = latex.replace(old, new)
    return convert(latex.strip(), display=display)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{_mathml(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.math_block) -> None:
    # A blank line in the source separates formulas, as in other renderers.
    parts = [part for part in node.astext().split("\n\n") if part.strip()]
    for part in parts:
        writer.body.append(f'<div class="math">{_mathml(part, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
