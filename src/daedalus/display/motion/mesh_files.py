"""Triangles from files: STL (binary and text), OBJ, glTF (.gltf with data inside or beside it, .glb)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.system.plain_record import parsed

Mesh = tuple[np.ndarray, np.ndarray]
MOST_TRIANGLES = 200_000


def read_mesh(path: str | Path) -> Mesh:
    """Vertices (n, 3) and triangles (m, 3) of a mesh file.

    Example
    -------
    >>> import tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "tile.obj")
    >>> _ = open(file, "w").write("v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4\\n")
    >>> vertices, triangles = read_mesh(file)
    >>> vertices.shape, triangles.tolist()
    ((4, 3), [[0, 1, 2], [0, 2, 3]])
    """
    file = Path(path)
    readers: dict[str, Callable[[Path], Mesh]] = {".stl": _stl, ".obj": _obj, ".gltf": _gltf, ".glb": _glb}
    try:
        vertices, triangles = readers[file.suffix.lower()](file)
        vertices, triangles = np.asarray(vertices, dtype=float), np.asarray(triangles, dtype=int)
        if not len(triangles) or triangles.min() < 0 or triangles.max() >= len(vertices):
            raise ValueError("it has no triangles, or triangles without corners")
    except (OSError, ValueError, KeyError, IndexError, TypeError, struct.error, InputError) as error:
        raise InputError(
            f"The mesh {file.name!r} cannot be read.",
            f"{type(error).__name__}: {error}",
            because="its content does not match its extension, or it is damaged.",
            remedy="a triangle mesh as .stl, .obj, .gltf or .glb",
        ) from error
    if len(triangles) > MOST_TRIANGLES:
        raise InputError(
            f"The mesh {file.name!r} is too fine.",
            f"{len(triangles)} triangles, {MOST_TRIANGLES} at most",
            because="the page has to hold and draw all of them.",
            remedy="a coarser mesh of the same part",
        )
    return vertices, triangles


def _stl(file: Path) -> Mesh:
    data = file.read_bytes()
    count = struct.unpack("<I", data[80:84])[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, offset=84, dtype=np.dtype([("f", "<f4", (4, 3)), ("a", "<u2")]))
        corners = rows["f"][:, 1:].reshape(-1, 3).astype(float)
    else:
        words = data.decode("ascii").split()
        corners = np.array([[float(w) for w in words[k + 1 : k + 4]] for k, w in enumerate(words) if w == "vertex"])
    vertices, place = np.unique(corners.round(9), axis=0, return_inverse=True)
    return vertices, np.asarray(place).reshape(-1, 3)


def _obj(file: Path) -> Mesh:
    vertices: list[list[float]] = []
    triangles: list[list[int]] = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(value) for value in rest[:3]])
        elif word == "f":
            numbers = [int(corner.split("/")[0]) for corner in rest]
            corners = [n - 1 if n > 0 else len(vertices) + n for n in numbers]
            triangles += [[corners[0], corners[k], corners[k + 1]] for k in range(1, len(corners) - 1)]
    return np.array(vertices), np.array(triangles)


def _glb(file: Path) -> Mesh:
    data = file.read_bytes()
    if data[:4] != b"glTF":
        raise ValueError("it does not begin with glTF")
    chunks, place = [], 12
    while place < len(data):
        length = struct.unpack("<I", data[place : place + 4])[0]
        chunks.append(data[place + 8 : place + 8 + length])
        place += 8 + length
    return _gltf_mesh(parsed(chunks[0]), chunks[1:2], file)


def _gltf(file: Path) -> Mesh:
    return _gltf_mesh(parsed(file.read_text(encoding="utf-8")), [], file)


def _gltf_mesh(tree: dict[str, Any], inside: list[bytes], file: Path) -> Mesh:
    """All triangles of the first scene, in its coordinates."""
    buffers = [_buffer(buffer, inside, file) for buffer in tree.get("buffers", [])]
    scene = tree["scenes"][tree.get("scene", 0)] if tree.get("scenes") else {"nodes": range(len(tree["nodes"]))}
    vertices: list[np.ndarray] = []
    triangles: list[np.ndarray] = []
    waiting = [(node, np.eye(4)) for node in scene["nodes"]]
    while waiting:
        place, above = waiting.pop()
        node = tree["nodes"][place]
        own = above @ _node_matrix(node)
        waiting += [(child, own) for child in node.get("children", [])]
        if "mesh" not in node:
            continue
        for part in tree["meshes"][node["mesh"]]["primitives"]:
            if part.get("mode", 4) != 4:
                continue
            points = _accessor(tree, buffers, part["attributes"]["POSITION"]).reshape(-1, 3).astype(float)
            corners = _accessor(tree, buffers, part["indices"]) if "indices" in part else np.arange(len(points))
            triangles.append(corners.reshape(-1, 3).astype(int) + sum(map(len, vertices)))
            vertices.append(points @ own[:3, :3].T + own[:3, 3])
    return np.concatenate(vertices), np.concatenate(triangles)


def _buffer(buffer: dict[str, Any], inside: list[bytes], file: Path) -> bytes:
    address = buffer.get("uri")
    if address is None:
        return inside[0]
    if address.startswith("data:"):
        return base64.b64decode(address.partition(",")[2])
    beside = (file.parent / address).resolve()
    if file.parent.resolve() not in beside.parents:
        raise ValueError("its data is outside its folder")
    return beside.read_bytes()


def _node_matrix(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=float).reshape(4, 4).T
    from scipy.spatial.transform import Rotation

    whole = np.eye(4)
    turned = Rotation.from_quat(node.get("rotation", [0.0, 0.0, 0.0, 1.0])).as_matrix()
    whole[:3, :3] = turned * np.array(node.get("scale", [1.0, 1.0, 1.0]))
    whole[:3, 3] = node.get("translation", [0.0, 0.0, 0.0])
    return whole


_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


def _accessor(tree: dict[str, Any], buffers: list[bytes], place: int) -> np.ndarray:
    accessor = tree["accessors"][place]
    view = tree["bufferViews"][accessor["bufferView"]]
    kind, width, count = np.dtype(_TYPES[accessor["componentType"]]), _WIDTHS[accessor["type"]], accessor["count"]
    begin = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    stride = view.get("byteStride", kind.itemsize * width)
    return np.ndarray((count, width), kind, buffers[view["buffer"]], begin, (stride, kind.itemsize)).ravel()
