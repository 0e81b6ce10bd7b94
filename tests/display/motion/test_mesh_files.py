"""Triangles from files: the same tetrahedron in every format."""

import base64
import json
import struct

import numpy as np
import pytest

import daedalus as dd
from daedalus.display.motion.mesh_files import read_mesh

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def write_obj(folder):
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + ["f " + " ".join(f"{k + 1}//1" for k in f) for f in FACES]
    (folder / "part.obj").write_text("\n".join(lines))
    return folder / "part.obj"


def write_text_stl(folder):
    lines = ["solid part"]
    for face in FACES:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += [f"vertex {x} {y} {z}" for x, y, z in CORNERS[face]] + ["endloop", "endfacet"]
    (folder / "part.stl").write_text("\n".join([*lines, "endsolid part"]))
    return folder / "part.stl"


def write_binary_stl(folder):
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[face].ravel(), 0) for face in FACES)
    (folder / "part.stl").write_bytes(b" " * 80 + struct.pack("<I", len(FACES)) + rows)
    return folder / "part.stl"


def gltf_tree(data, address):
    return {
        "scenes": [{"nodes": [0]}],
        "nodes": [{"children": [1], "translation": [0, 0, -1]}, {"mesh": 0, "translation": [0, 0, 1]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4},
            {"bufferView": 1, "componentType": 5123, "type": "SCALAR", "count": 12},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": len(data), **address}],
    }


def gltf_data():
    return CORNERS.astype("<f4").tobytes() + np.array(FACES, dtype="<u2").tobytes()


def write_gltf(folder):
    data = gltf_data()
    address = {"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}
    (folder / "part.gltf").write_text(json.dumps(gltf_tree(data, address)))
    return folder / "part.gltf"


def write_glb(folder):
    data = gltf_data()
    text = json.dumps(gltf_tree(data, {})).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data
    (folder / "part.glb").write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return folder / "part.glb"


@pytest.mark.parametrize("write", [write_obj, write_text_stl, write_binary_stl, write_gltf, write_glb])
def test_every_format_gives_the_same_tetrahedron(write, tmp_path):
    vertices, triangles = read_mesh(write(tmp_path))
    volume = sum(np.linalg.det(vertices[t]) for t in triangles) / 6
    assert vertices.shape == (4, 3)
    assert len(triangles) == 4
    assert volume == pytest.approx(1 / 6, abs=1e-6)


def test_damaged_files_are_refused(tmp_path):
    file = tmp_path / "part.glb"
    file.write_bytes(b"glTF but no more")
    with pytest.raises(dd.InputError, match=r"The mesh 'part\.glb' cannot be read"):
        read_mesh(file)


def test_data_outside_the_folder_is_refused(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.bin").write_bytes(gltf_data())
    (inner / "part.gltf").write_text(json.dumps(gltf_tree(gltf_data(), {"uri": "../secret.bin"})))
    with pytest.raises(dd.InputError, match="outside its folder"):
        read_mesh(inner / "part.gltf")


def test_a_mesh_is_drawn_where_its_body_is(tmp_path):
    m = dd.Model("part")
    b = m.body("part", mass=1.0, inertia=dd.inertia.sphere(1.0, 0.1), position=[1, 2, 3], velocity=[0, 0, 0],
               rotation=[1, 0, 0, 0], angular_velocity=[0, 0, 0])  # fmt: skip
    m.draw("mesh", b, file=write_obj(tmp_path), scale=0.001)
    film = dd.simulate(m, 1.0).animate(frames=3)
    mesh = film.scenes[0].shapes[0]
    assert mesh.mesh[0].shape == (4, 3)
    assert mesh.track[0, :3].tolist() == [1, 2, 3]
    assert str(tmp_path) not in film.html()
