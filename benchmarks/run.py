"""Run benchmarks and print their ratios: ``python benchmarks/run.py [name ...]`` (default: all)."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    wanted = sys.argv[1:]
    for path in sorted(HERE.glob("bench_*.py")):
        if wanted and not any(name in path.stem for name in wanted):
            continue
        print(f"== {path.stem.removeprefix('bench_')}", flush=True)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main()


if __name__ == "__main__":
    main()
