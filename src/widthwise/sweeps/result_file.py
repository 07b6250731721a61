"""A result as a netCDF-4 file: what it looks like on disk, in every version that was written.

Format 1: numbers and short arrays in the root group, the course of the run in the group ``trace``; attributes
``description`` (canonical JSON), ``key``, ``seed``, ``status``, ``run_status``, ``error``, ``details``,
``warnings``, ``timings``, ``version``, ``software``, ``digest``, the SHA-256 of all numbers, and ``content``,
that of all attributes (from version 0.1 on).

Files are written with h5py after the rules of netCDF-4 and read by xarray, h5netcdf or any netCDF library:
through h5netcdf the same file takes 48 ms of processor time instead of 9.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .result import Result, Variables
from .task import Task

__all__ = ["FORMAT", "DamagedFile", "NewerFile", "decode", "digest", "encode"]

FORMAT = 1


class DamagedFile(ValueError):
    """A file that is no result, or not the one that was written."""


class NewerFile(DamagedFile):
    """A file in a format that only later versions can read: not to be touched."""


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
    attributes["content"] = _content(attributes)
    image = io.BytesIO()
    with h5py.File(image, "w", track_order=True) as file:
        written = file.attrs
        for name, value in attributes.items():
            written[name] = value
        _write_group(file, result.values)
        if result.trace:
            _write_group(file.create_group("trace", track_order=True), result.trace)
    return image.getvalue()


def decode(source: str | os.PathLike[str] | bytes, *, key: str | None = None) -> Result:
    """The result in a file, with everything that can be checked: its digests, and its key if one is given.

    Raises :class:`DamagedFile` if it cannot be read or is not what was written, :class:`NewerFile` if a later
    version wrote it, FileNotFoundError if there is none.
    """
    content = source if isinstance(source, bytes) else _read_bytes(source)
    try:
        result, head = _decode(content)
    except DamagedFile:
        raise
    except Exception as error:  # whatever a broken file makes of a library
        raise DamagedFile(f"not a readable netCDF-4 file: {error}") from None
    if key is not None and result.task.key != key:
        raise DamagedFile(f"its description has the key {result.task.key}")
    if "digest" in head and head["digest"] != digest(result):
        raise DamagedFile("its numbers are not those that were written (the digest differs)")
    if "content" in head and head["content"] != _content(head):
        raise DamagedFile("its attributes are not those that were written (the digest differs)")
    return result


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise DamagedFile("not a file")
        return Path(path).read_bytes()
    except FileNotFoundError:
        if os.path.lexists(path):
            raise DamagedFile("a link to nothing") from None
        raise
    except OSError as error:
        raise DamagedFile(f"it cannot be read: {error.strerror or error}") from None


def _decode(content: bytes) -> tuple[Result, dict[str, Any]]:
    import h5py

    with h5py.File(io.BytesIO(content), "r") as file:
        head = _header(dict(file.attrs))
        values = _read_group(file, len(content))
        trace = _read_group(file["trace"], len(content)) if "trace" in file else {}
    try:
        task = Task.from_description(head["description"])
    except Exception as error:
        raise DamagedFile(f"its description cannot be read: {error}") from None
    warnings, timings = json.loads(head["warnings"]), json.loads(head["timings"])
    if not (isinstance(warnings, list) and isinstance(timings, dict)):
        raise DamagedFile("its warnings or timings are of another kind")
    timings = {str(name): float(seconds) for name, seconds in timings.items()}
    texts = (head["run_status"], head["error"], head["details"])
    return Result(task, head["status"], values, trace, *texts, warnings, timings, head["version"]), head


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


def _content(attributes: Mapping[str, Any]) -> str:
    """SHA-256 of the attributes, the digest of the numbers among them."""
    plain = {name: attributes[name] for name in sorted(attributes) if name != "content"}
    text = json.dumps(plain, default=lambda value: value.item())
    return hashlib.sha256(text.encode()).hexdigest()


_TEXTS = ("description", "status", "run_status", "error", "details", "warnings", "timings", "version")


def _header(attributes: dict[str, Any]) -> dict[str, Any]:
    if "format" not in attributes or "description" not in attributes:
        raise DamagedFile("not a result of widthwise: it has no format and description")
    number = np.asarray(attributes["format"])
    if number.shape != () or number.dtype.kind not in "iu":
        raise DamagedFile(f"its format is no number: {attributes['format']!r}")
    if int(number) > FORMAT:
        raise NewerFile(
            f"written in format {int(number)}, by widthwise {attributes.get('version', '?')}; "
            f"this version reads formats up to {FORMAT}: install a newer one"
        )
    wrong = [name for name in _TEXTS if not isinstance(attributes.get(name), str)]
    if wrong:
        raise DamagedFile(f"its {wrong[0]} is no text: {attributes.get(wrong[0])!r}")
    if attributes["status"] not in ("done", "failed"):
        raise DamagedFile(f"its status is {attributes['status']!r}, neither 'done' nor 'failed'")
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


def _read_group(group: Any, n_bytes: int) -> Variables:
    import h5py

    found: Variables = {}
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise DamagedFile(f"{name!r} is not in this file")
        item = group[name]
        if not isinstance(item, h5py.Dataset):
            continue
        if item.is_scale:
            label = item.attrs.get("NAME", b"")
            if bytes(label).startswith(b"This is a netCDF dimension but not"):
                continue
        if item.nbytes > n_bytes or item.dtype.kind not in "biuf":
            raise DamagedFile(f"{name!r} holds {item.dtype} of shape {item.shape}, which was never written")
        if item.is_scale:
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
