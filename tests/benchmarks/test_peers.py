"""The peers' environment: what does not install is known with its reason, and a second call reuses the first."""

from pathlib import Path

import pytest
from benchmarks import peers

CMAKE = """  CMake Error at CMakeLists.txt:3 (project):
    No CMAKE_Fortran_COMPILER could be found.
ERROR: Failed building wheel for numbalsoda
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    (tmp_path / "requirements.txt").write_text("# peers\ngood>=1.0\nbad  # needs Fortran\n")
    monkeypatch.setattr(peers, "installed_versions", lambda python: {"good": "1.2"})
    monkeypatch.setattr(peers.sys, "platform", "linux")
    return tmp_path


def test_a_peer_that_does_not_install_is_reported_and_the_rest_go_on(folder):
    asked, said = [], []

    def install(python: str, requirement: str) -> str | None:
        asked.append(requirement)
        return "no Fortran compiler" if requirement == "bad" else None

    found = peers.prepare(said.append, folder, install)
    assert asked == ["good>=1.0", "bad"]
    assert "  bad not installed: no Fortran compiler" in said
    assert found.lacks(["good>=1.0"]) is None
    assert found.lacks(["good>=1.0", "bad"]) == "bad not installed: no Fortran compiler"

    # The second call installs nothing; a change of the requirements or a wish does.
    assert peers.prepare(said.append, folder, install) == found
    assert len(asked) == 2
    peers.prepare(said.append, folder, install, renew=True)
    (folder / "requirements.txt").write_text("good>=1.0\n")
    assert peers.prepare(said.append, folder, install).missing == {}
    assert len(asked) == 5


def test_an_interrupted_call_is_taken_up_again(folder):
    def interrupted(python: str, requirement: str) -> str | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        peers.prepare(print, folder, interrupted)
    assert peers.prepare(print, folder, lambda python, requirement: None).missing == {}


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (CMAKE, "No CMAKE_Fortran_COMPILER could be found"),
        ("x\nERROR: No matching distribution found for nowhere\n", "No matching distribution found for nowhere"),
        ("something else\nlast words\n", "last words"),
        ("", "pip gave no reason"),
    ],
)
def test_the_reason_is_one_telling_line(output, reason):
    assert peers.reason_of(output) == reason
