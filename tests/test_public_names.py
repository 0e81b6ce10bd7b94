"""The public face: every name exists, is documented with an example, and is known to type checkers."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import daedalus as dd

STUB = Path(dd.__file__).with_suffix(".pyi")


@pytest.mark.parametrize("name", dd.__all__)
def test_every_public_name_has_a_docstring_with_an_example(name):
    value = getattr(dd, name)
    if inspect.ismodule(value):
        functions = [f for n, f in vars(value).items() if inspect.isfunction(f) and not n.startswith("_")]
        assert value.__doc__
        assert all(has_example(f) for f in functions if f.__module__ == value.__name__)
    elif inspect.isclass(value) and issubclass(value, Exception) and value is not dd.DaedalusError:
        assert value.__doc__
    else:
        assert has_example(value), f"{name} has no running example"


def has_example(value):
    return bool(value.__doc__) and bool(doctest.DocTestParser().get_examples(value.__doc__))


@pytest.mark.parametrize("cls", ["Model", "Trajectory", "Tableau"])
def test_public_methods_are_documented(cls):
    silent = [
        name
        for name, member in inspect.getmembers(getattr(dd, cls))
        if not name.startswith("_") and (callable(member) or isinstance(member, property)) and not member.__doc__
    ]
    assert not silent


def test_the_stub_lists_the_same_names():
    tree = ast.parse(STUB.read_text())
    listed = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert listed == set(dd.__all__)


def test_unknown_names_raise_as_usual():
    with pytest.raises(AttributeError, match="module 'daedalus' has no attribute 'simulte'"):
        dd.simulte  # noqa: B018
    assert "simulate" in dir(dd)


def test_importing_and_simulating_loads_no_heavy_packages():
    script = (
        "import sys, daedalus as dd\n"
        "m = dd.Model('m'); x = m.state('x', start=1.0); m.equation(m.der(x), -x)\n"
        "dd.simulate(m, 1.0)['x']\n"
        "heavy = {'scipy', 'xarray', 'pandas', 'matplotlib', 'tqdm', 'rich', 'typer', 'pint', 'h5py'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
