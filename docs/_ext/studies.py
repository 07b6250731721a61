"""The page of the studies: every script of ``examples``, shown and not executed, with the tables it wrote."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

__all__ = ["setup"]

HEAD = """\
Studies
=======

Scripts that take minutes to hours. They are **not executed** when these pages are built: run them from a
checkout, as in ``python examples/validate_hmc.py``. Tables that are kept lie beside the scripts. Unfold a
script to read it.
"""


def _page(folder: Path) -> str:
    parts = [HEAD]
    for path in sorted(folder.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "__main__" not in source:  # what scripts share
            continue
        text = ast.get_docstring(ast.parse(source)) or path.stem
        title = text.strip().splitlines()[0].rstrip(".").replace("*", r"\*")
        tables = [f"``{p.name}``" for p in sorted(folder.glob(f"{path.stem}.csv"))]
        kept = f" Its table is kept: {', '.join(tables)}." if tables else ""
        parts += [
            f"{title}\n{'-' * 2 * len(title)}\n",
            f"``examples/{path.name}``.{kept}\n",
            f".. raw:: html\n\n   <details><summary>Source of {path.name}</summary>\n",
            f".. literalinclude:: ../examples/{path.name}\n",
            ".. raw:: html\n\n   </details>\n",
        ]
    return "\n".join(parts)


def _write(app: Any) -> None:
    target = Path(app.srcdir) / "studies.rst"
    text = _page(Path(app.srcdir).parent / "examples")
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
