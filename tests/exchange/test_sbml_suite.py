"""The SBML Test Suite: every case is right, refused, ended with its reason, or announced in `unsupported`.

Its files are at github.com/sbmlteam/sbml-test-suite; DAEDALUS_SBML_TEST_SUITE names its folder cases/semantic.
"""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest

import daedalus as dd

CASES = Path(os.environ.get("DAEDALUS_SBML_TEST_SUITE", "/nowhere"))
pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(not CASES.is_dir(), reason="DAEDALUS_SBML_TEST_SUITE names no folder of its cases"),
]
FOLDERS = sorted(p.name for p in CASES.iterdir() if p.is_dir()) if CASES.is_dir() else []


def asked(name):
    """What a case asks for: times, tolerances, which species are amounts and concentrations; None without a run."""
    lines = (CASES / name / f"{name}-settings.txt").read_text().splitlines()
    found = dict([part.strip() for part in line.split(":", 1)] for line in lines if ":" in line)
    return found if found.get("duration") else None


def values_of(tr, m, library, name, settings):
    """A variable of a run as the case wants it: a species as an amount or a concentration."""

    def plain(key):
        for word in (key, f"{key}_"):
            if word in tr and word not in ("t", "time"):  # these are the time of the run
                return np.asarray(tr[word], dtype=float)
        frozen = m.freeze()
        return np.full(len(tr.time), frozen.start["p"][frozen.labels["p"].index(key)])

    species, found = library.getSpecies(name), plain(name)
    volume = library.getCompartment(species.getCompartment()) if species is not None else None
    if species is None or species.getHasOnlySubstanceUnits() or volume.getSpatialDimensions() == 0:
        amount = species is not None and volume.getSpatialDimensions() != 0 and name in settings["concentration"]
        return found / plain(species.getCompartment()) if amount else found
    return found * plain(species.getCompartment()) if name in settings["amount"] else found


def library_model(path):
    import libsbml

    document = libsbml.readSBML(str(path))
    if document.getPlugin("comp") is not None:
        flat = libsbml.ConversionProperties()
        flat.addOption("flatten comp", True)
        document.convert(flat)
    return document, document.getModel()


def worst(name, m, tr, settings):
    """The largest error of a run, in tolerances of the case."""
    head, *rows = list(csv.reader((CASES / name / f"{name}-results.csv").open()))
    table = np.array([[float(cell) for cell in row] for row in rows if row])
    document, library = library_model(sorted((CASES / name).glob(f"{name}-sbml-l*.xml"))[-1])
    assert document is not None
    groups = {key: {w.strip() for w in settings[key].split(",")} for key in ("amount", "concentration")}
    largest = 0.0
    for word in (w.strip() for w in settings["variables"].split(",")):
        column = table[:, 1 + [h.strip() for h in head[1:]].index(word)]
        own = values_of(tr, m, library, word, groups)
        same = (own == column) | (np.isnan(own) & np.isnan(column))
        allowed = float(settings["absolute"]) + float(settings["relative"]) * np.abs(column)
        with np.errstate(invalid="ignore"):
            off = np.where(same, 0.0, np.abs(own - column) / allowed)
        largest = max(largest, float(np.max(np.where(np.isnan(off), math.inf, off))))
    return largest


@pytest.mark.parametrize("hundred", sorted({name[:3] for name in FOLDERS}))
def test_no_case_is_wrong_in_silence(hundred):
    pytest.importorskip("libsbml", reason="reading SBML needs python-libsbml (the extra `sbml`)")
    right, wrong = 0, {}
    for name in (name for name in FOLDERS if name.startswith(hundred)):
        settings = asked(name)
        if settings is None:
            continue
        rows = list(csv.reader((CASES / name / f"{name}-results.csv").open()))[1:]
        times = np.array([float(row[0]) for row in rows if row])
        try:
            m = dd.read_sbml(sorted((CASES / name).glob(f"{name}-sbml-l*.xml"))[-1])
            tr = dd.simulate(m, (times[0], times[-1]), rtol=1e-8, atol=1e-12, save_at=times)
        except dd.DaedalusError:
            continue
        if len(tr.time) != len(times):
            assert not tr.success, name
            continue
        off = worst(name, m, tr, settings)
        right += off <= 1
        if off > 1 and not m.unsupported:
            wrong[name] = off
    assert not wrong
    assert right or hundred in ("011", "016"), "no case is right"
