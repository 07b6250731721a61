"""A result as a netCDF-4 file: what it looks like on disk, in every version that was written.

Format 1: numbers and short arrays in the root group, the course of the run in the group ``trace``; attributes
``description`` (canonical JSON), ``key``, ``seed``, ``status``, ``run_status``, ``error``, ``details``,
``warnings``, ``timings``, ``version``, ``software`` and ``digest``, the SHA-256 of all numbers.

Files are written with h5py after the rules of netCDF-4 and read by xarray, h5netcdf or any netCDF library:
through h5netcdf the same file takes 48 ms of processor time instead of 9.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from typing import Any

import numpy as np

from .result import Result, Variables
from .task import Task

__all__ = ["FORMAT", "DamagedFile", "decode", "digest", "encode", "read_header"]

FORMAT = 1


class DamagedFile(ValueError):
    """A file that is no result, or not the one that was written."""


def encode(result: Result) -> bytes:
    """The file of a result."""
    import h5py

    attributes: dict[str, Any] = {
        "format": FORMAT,
        "key": result.task.key,
        "description": result.task.text,
        "seed": result.task.seed,
        "status": result.status,
        "run_status": result.run_status,
        "error": result.error,
        "details": result.details,
        "warnings": json.dumps(result.warnings),
        "timings": json.dumps(result.timings),
        "version": result.version,
        "software": json.dumps(_software()),
        "digest": digest(result),
    }
    image = io.BytesIO()
    with h5py.File(image, "w", track_order=True) as file:
        written = file.attrs
        for name, value in attributes.items():
            written[name] = value
        _write_group(file, result.values)
        if result.trace:
            _write_group(file.create_group("trace", track_order=True), result.trace)
    return image.getvalue()


def decode(source: str | os.PathLike[str] | bytes, *, with_trace: bool = True) -> Result:
    """The result in a file; :class:`DamagedFile` if it cannot be read."""
    import h5py

    try:
        with h5py.File(io.BytesIO(source) if isinstance(source, bytes) else source, "r") as file:
            head = _header(dict(file.attrs))
            values = _read_group(file)
            trace = _read_group(file["trace"]) if with_trace and "trace" in file else {}
    except FileNotFoundError:
        raise
    except (OSError, KeyError, RuntimeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"not a readable netCDF-4 file: {error}") from None
    return Result(
        Task.from_description(head["description"]),
        head["status"],
        values,
        trace,
        head["run_status"],
        head["error"],
        head["details"],
        json.loads(head["warnings"]),
        json.loads(head["timings"]),
        head["version"],
    )


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The attributes of a file."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return _header(dict(file.attrs))
    except FileNotFoundError:
        raise
    except (OSError, KeyError, RuntimeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"not a readable netCDF-4 file: {error}") from None


def digest(result: Result) -> str:
    """SHA-256 of status and numbers: the same wherever and whenever the task is run."""
    total = hashlib.sha256(f"{result.task.text}\n{result.status}\n".encode())
    for group in (result.values, result.trace):
        for name in sorted(group):
            dims, array = group[name]
            array = np.ascontiguousarray(array)
            total.update(f"{name}{dims}{array.shape}{array.dtype.str}\n".encode())
            total.update(array.tobytes())
    return total.hexdigest()


def _header(attributes: dict[str, Any]) -> dict[str, Any]:
    if "format" not in attributes or "description" not in attributes:
        raise DamagedFile("not a result of widthwise: it has no format and description")
    if int(attributes["format"]) > FORMAT:
        raise DamagedFile(
            f"written in format {int(attributes['format'])}, by widthwise {attributes.get('version', '?')}; "
            f"this version reads formats up to {FORMAT}: install a newer one"
        )
    return attributes


def _write_group(group: Any, variables: Variables) -> None:
    sizes = {d: n for dims, array in variables.values() for d, n in zip(dims, array.shape, strict=True)}
    scales = {}
    for i, (name, size) in enumerate(sizes.items()):
        if name in variables:
            scale = group.create_dataset(name, data=variables[name][1])
            scale.make_scale(name)
        else:  # a dimension without values of its own, said as netCDF says it
            scale = group.create_dataset(name, shape=(size,), dtype=">f4")
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable. {size:9d}")
        scale.attrs["_Netcdf4Dimid"] = np.int32(i)
        scales[name] = scale
    for name, (dims, array) in variables.items():
        if name in scales:
            continue
        dataset = group.create_dataset(name, data=array)
        for axis, dim in enumerate(dims):
            dataset.dims[axis].attach_scale(scales[dim])


def _read_group(group: Any) -> Variables:
    import h5py

    found: Variables = {}
    for name, item in group.items():
        if not isinstance(item, h5py.Dataset):
            continue
        if item.is_scale:
            label = item.attrs.get("NAME", b"")
            if bytes(label).startswith(b"This is a netCDF dimension but not"):
                continue
            found[name] = ((name,), item[()])
        else:
            dims = tuple(item.dims[i][0].name.rsplit("/", 1)[-1] for i in range(item.ndim))
            found[name] = (dims, np.asarray(item[()]))
    return found


def _software() -> dict[str, str]:
    """Versions of what may have computed the numbers: nothing about the machine."""
    names = ("numpy", "scipy", "jax", "blackjax", "optax", "numba", "sklearn")
    versions = {n: getattr(sys.modules[n], "__version__", "?") for n in names if n in sys.modules}
    return {"python": ".".join(map(str, sys.version_info[:3]))} | versions
