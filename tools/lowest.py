"""The lowest versions that pyproject.toml promises, as requirements for pip: ``python tools/lowest.py``.

``make test-lowest`` installs them into a folder of its own and runs the quick tests there. The tools of the
tests themselves are not pinned, and neither is what the documentation needs.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("simulate", "cluster", "explorer")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "mpmath", "pyarrow")

_BOUND = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*>=\s*([0-9][0-9A-Za-z.]*)")


def lowest(pyproject: Path = ROOT / "pyproject.toml") -> dict[str, str]:
    """Lowest version by name, of what the package and its extras need."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    found = {}
    for line in wanted:
        if line.startswith("widthwise["):
            continue
        bound = _BOUND.match(line)
        if bound is None:
            raise ValueError(f"{line!r} states no lowest version; write it as name>=version")
        found[bound[1].lower()] = bound[2]
    return found


def main() -> None:
    print("\n".join([f"{name}=={version}" for name, version in lowest().items()] + list(TOOLS)))


if __name__ == "__main__":
    main()
