"""Who imports whom: the layers of the package, imports that point upwards, and a picture of them all.

``python tools/imports.py`` draws ``docs/images/imports.svg``. Modules are read with ``ast`` and never run.

Every import counts, also one inside a function or under ``TYPE_CHECKING``: a lazy import hides a cycle from
the interpreter, not from the reader. Computed names count too: ``import_module(f"{__package__}.{name}")`` may
lead to any module of the package that its fixed beginning names, and one without such a beginning anywhere.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "widthwise"
PICTURE = ROOT / "docs" / "images" / "imports.svg"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version",),
    ("numerics",),
    ("ingredients",),
    ("problem",),
    ("denoising",),
    ("theory",),
    ("networks",),
    ("learners",),
    ("sweeps",),
    ("studies",),
    ("plotting",),
    ("paper",),
    ("explorer",),
    ("cli",),
    ("experiments", "__main__", ""),
)
"""Lowest first. A name covers everything beneath it; "" is the package itself, and fits only itself.

One package a layer, so that no two can need each other. The last one lists names of all the others.
A private module at the top (``_name.py``) is shared ground, as low as ``_version``.
"""

USER_NAMES = "_import_path"
"""The module that imports what a user names, and the only one whose names may come from elsewhere."""

_CALLS = ("import_module", "__import__", "resolve_name", "load_module", "find_spec")


def layer_of(module: str) -> int | None:
    """Position in ``LAYERS`` of a module named relative to the package; None when it has no layer."""
    top = module.partition(".")[0]
    for position, layer in enumerate(LAYERS):
        if top in layer:
            return position
    return 0 if top.startswith("_") else None


def modules_of(package: Path) -> dict[str, Path]:
    """Every module under ``package``, by its name relative to it ("" is the package itself)."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imports_of(
    module: str, path: Path, modules: dict[str, Path], root: str
) -> Iterator[tuple[int, str | None]]:
    """Line and target, relative to the package, of each import of the package itself made by a module.

    The target is None where it could be anything, and "" (which lies above everything) where it could be
    anything of the package.
    """
    home = [root, *(module.split(".") if module else [])]
    if path.name != "__init__.py":
        home = home[:-1]

    def above(level: int) -> list[str]:
        return home[: len(home) - level + 1] if level else []

    def inside(target: str) -> str | None:
        head, _, rest = target.partition(".")
        return rest if head == root else None

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*above(node.level), *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                # "from .theory import saddle" names a module, "from .theory import solve" does not.
                full = ".".join([*base, alias.name])
                targets.append(full if inside(full) in modules else ".".join(base))
        elif isinstance(node, ast.Call) and _called(node) in _CALLS and node.args:
            name, is_whole = _fixed_beginning(node.args[0], ".".join(home))
            level = len(name) - len(name.lstrip("."))
            parts = [*above(level), *filter(None, name.lstrip(".").partition(":")[0].split("."))]
            if not is_whole and not parts:
                yield node.lineno, None
            else:
                targets = [".".join(parts)]
        for target in dict.fromkeys(targets):
            relative = inside(target)
            if relative is not None:
                yield node.lineno, relative


def _called(node: ast.Call) -> str | None:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def _fixed_beginning(name: ast.expr, home: str) -> tuple[str, bool]:
    """The part of a name that is written in the code up to its last dot, and whether that is all of it."""
    pieces = name.values if isinstance(name, ast.JoinedStr) else [name]
    text = ""
    for piece in pieces:
        if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
            text += piece.value
        elif isinstance(piece, ast.FormattedValue) and getattr(piece.value, "id", "") in (
            "__package__",
            "__name__",
        ):
            text += home
        else:
            return text[: text.rfind(".") + 1], False
    return text, True


def violations(package: Path) -> list[str]:
    """One sentence for each import that points upwards and for each module that has no layer."""
    root = package.name
    modules = modules_of(package)
    found = []
    for module, path in modules.items():
        where = path.relative_to(package.parent).as_posix()
        layer = layer_of(module)
        if layer is None:
            found.append(f"{where} belongs to no layer; give it one in LAYERS of tools/imports.py")
            continue
        for line, target in imports_of(module, path, modules, root):
            if target is None:
                if module != USER_NAMES:
                    found.append(f"{where}:{line} imports by a name that is computed")
                continue
            below = layer_of(target)
            full = ".".join(filter(None, [root, target]))
            if below is None:
                found.append(f"{where}:{line} imports {full}, which belongs to no layer")
            elif below > layer:
                found.append(f"{where}:{line} imports {full}, which lies above it")
    return found


def package_imports(package: Path) -> Counter[tuple[str, str]]:
    """Number of imports between packages, by (importer, imported); lowest and highest layer left out."""
    modules = modules_of(package)
    found: Counter[tuple[str, str]] = Counter()
    for module, path in modules.items():
        for _, target in imports_of(module, path, modules, package.name):
            pair = module.partition(".")[0], (target or "").partition(".")[0]
            if pair[0] != pair[1] and all(0 < (layer_of(name) or 0) < len(LAYERS) - 1 for name in pair):
                found[pair] += 1
    return found


# --- the picture -----------------------------------------------------------------------------------

_ROW, _TOP, _LEFT, _WIDTH = 46, 20, 20, 740  # heights and widths in pixels
_COLOURS = ("#4477aa", "#228833", "#aa3377", "#66757f", "#bb5522", "#117788")


def draw(package: Path) -> str:
    """The packages as a column of boxes, lowest at the bottom, and an arc down to each that one imports.

    A box has the first sentence of the docstring of its package.
    """
    counts = package_imports(package)
    names = [n for layer in reversed(LAYERS) for n in layer if any(n in pair for pair in counts)]
    place = {name: i for i, name in enumerate(names)}
    reach = max(place[b] - place[a] for a, b in counts)
    right = _LEFT + _WIDTH
    width, height = right + 60 + 24 * reach, 2 * _TOP + _ROW * len(names)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" role="img" '
        'aria-label="Imports between the packages of widthwise, all of them downwards">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for (a, b), count in sorted(counts.items(), key=lambda item: (place[item[0][0]], place[item[0][1]])):
        start, end = (_TOP + _ROW * place[name] for name in (a, b))
        # Starts in the lower half of a box, ends in the upper half: the longer, the nearer the middle.
        span = place[b] - place[a]
        start, end = start + 38 - 1.5 * span, end + 2 + 1.5 * span
        bulge = right + 10 + 30 * span
        lines.append(
            f'<path d="M {right} {start} C {bulge} {start} {bulge} {end} {right + 4} {end}" fill="none" '
            f'stroke="{_COLOURS[place[a] % len(_COLOURS)]}" stroke-width="1.2">'
            f"<title>{a} imports {b}: {count} times</title></path>"
        )
        lines.append(f'<path d="M {right} {end} l 7 -3 v 6 z" fill="#333333"/>')
    for name, i in place.items():
        y, colour = _TOP + _ROW * i, _COLOURS[i % len(_COLOURS)]
        lines += [
            f'<rect x="{_LEFT}" y="{y}" width="{_WIDTH}" height="{_ROW - 6}" rx="4" fill="#f7f7f7" '
            f'stroke="{colour}"/>',
            f'<text x="{_LEFT + 10}" y="{y + 25}" font-size="15" font-weight="bold" fill="{colour}">'
            f"{name}</text>",
            f'<text x="{_LEFT + 118}" y="{y + 25}" font-size="12" fill="#333333">'
            f"{escape(_sentence(package, name))}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _sentence(package: Path, name: str) -> str:
    path = package / name / "__init__.py"
    path = path if path.exists() else package / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "")


if __name__ == "__main__":
    PICTURE.write_text(draw(PACKAGE), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} is drawn")
