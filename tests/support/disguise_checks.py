"""What must hold of a disguised model: each check takes one and raises where it does not.

The same checks run with fixed seeds in the tests and with any seed for as long as one likes (`make soak`).
"""

import tempfile
from pathlib import Path

import numpy as np
from disguised_models import SPAN

import daedalus as dd

EXPLICIT = ("auto", "dopri5", "tsit5", "dop853")
IMPLICIT = ("radau3", "radau5", "radau9", "bdf", "rodas5p")
# The highest index that each solves as it is written.
HIGHEST = {"radau3": 3, "radau5": 3, "radau9": 3, "bdf": 2, "rodas5p": 1}
FORMS = ("projection", "baumgarte", None, "dummy_derivatives")
TIMES = np.linspace(0.0, SPAN, 7)
# Of a run, and what comes of it at the end; methods of low order ask for less.
RTOL, ATOL, ALLOWED = 1e-8, 1e-10, 3e-5
LOOSE = {"radau3": 1e-2, "radau5": 2e-4, "rodas5p": 1e-4, "bdf": 1e-4}
# Of differences of the reference by the parameter.
STEP = 2e-5


def check_solution(model, tr, allowed=ALLOWED, names=None):
    """All variables of a run are what the ODE says."""
    assert tr.success, tr.stop_reason
    names = list(model.truth) if names is None else names
    times = TIMES[np.array([all(abs(t - fired) > 1e-6 for fired in model.fired) for t in TIMES])]
    wanted = model.values(names, times)
    found = np.array([[float(np.ravel(tr.at(t)[name])[0]) for name in names] for t in times])
    error = np.abs(found - wanted).max(axis=0) / np.maximum(1.0, np.abs(wanted).max(axis=0))
    worst = int(np.argmax(error))
    assert error[worst] < allowed, f"{names[worst]} is off by {error[worst]:.2g}, by {tr.method}"
    assert len(tr.events) == len(model.fired)


def run(model, book=None, **options):
    """A run of the model, or of another form of it."""
    book = model.model if book is None else book
    return dd.simulate(book, SPAN, inputs=model.inputs, **{"rtol": RTOL, "atol": ATOL, **options})


def explicit_methods(model):
    """Explicit methods solve it, after a reduction if need be, or say that x' and z have no formulas."""
    for method in EXPLICIT:
        found = _run_or_refusal(model, method, dd.SolverError)
        if isinstance(found, dd.SolverError):
            assert method != "auto", found
            assert not model.has_formulas, found
        else:
            check_solution(model, found)


def implicit_methods(model):
    """Implicit methods solve it as it is written, or say why not."""
    for method in IMPLICIT:
        found = _run_or_refusal(model, method, dd.InputError)
        if isinstance(found, dd.InputError):
            assert model.index > HIGHEST[method], found
        else:
            check_solution(model, found, LOOSE.get(method, ALLOWED))


def _run_or_refusal(model, method, kind):
    try:
        return run(model, method=method)
    except kind as error:
        return error


def reductions(model):
    """Reduced models have the same solution, whatever keeps them on the constraints."""
    for stabilise in FORMS:
        n = dd.reduce(model.model, stabilise=stabilise)
        check_solution(model, run(model, n))


def starts(model):
    """A start that `dd.initialise` finds is one, for the model and for what it is reduced to."""
    start = dd.initialise(model.model, inputs=model.inputs)
    wanted = model.values(list(model.truth), TIMES[:1])[0]
    for name, value in zip(model.truth, wanted):
        assert abs(float(np.ravel(start[name])[0]) - value) < 1e-7 * max(1.0, abs(value)), name
    for book in (model.model, dd.reduce(model.model), dd.reduce(model.model, stabilise=None)):
        check_solution(model, run(model, book, start=start))
    whole = run(model)
    half = dd.simulate(model.model, (0.0, SPAN / 2), inputs=model.inputs, rtol=RTOL, atol=ATOL)
    rest = dd.simulate(model.model, (SPAN / 2, SPAN), start=half.end, inputs=model.inputs, rtol=RTOL, atol=ATOL)
    for name in model.truth:
        gap = abs(float(np.ravel(rest.end[name])[0]) - float(np.ravel(whole.end[name])[0]))
        assert gap < 1e-4 * max(1.0, abs(float(np.ravel(whole.end[name])[0]))), f"{name} of two joined runs"


def sensitivities(model):
    """Derivatives by the parameter are differences of the ODE, by every way of taking them."""
    end = TIMES[-1:]
    options = {"inputs": model.inputs, "rtol": RTOL, "atol": ATOL}
    found = dd.sensitivities(model.model, SPAN, wrt=["k"], **options)
    names = [name for name in found.states if name in model.truth]
    ends = [model.values(names, end, k=model.k + sign * STEP)[0] for sign in (1, -1)]
    wanted = (ends[0] - ends[1]) / (2 * STEP)
    allowed = 1e-4 * max(1.0, np.abs(wanted).max(initial=0.0))
    ways = [found, dd.sensitivities(model.model, SPAN, wrt=["k"], by="discrete", **options)]
    ways.append(dd.sensitivities(model.model, SPAN, wrt=["k"], method="radau5", **options))
    for sens in ways:
        own = np.array([float(np.ravel(sens.d(name, "k"))[0]) for name in names])
        worst = int(np.argmax(np.abs(own - wanted)))
        assert np.abs(own - wanted)[worst] < allowed, f"d{names[worst]}/dk {own[worst]:.6g} for {wanted[worst]:.6g}"
    adjoint = dd.gradient(model.model, SPAN, final=names[0], wrt=["k"], **options)
    assert abs(float(adjoint["k"]) - wanted[0]) < allowed, f"the gradient {adjoint['k']:.6g} for {wanted[0]:.6g}"


def verified(model):
    """A right result passes its own verification."""
    sens = dd.sensitivities(model.model, SPAN, wrt=["k"], inputs=model.inputs, rtol=RTOL, atol=ATOL)
    report = sens.verify()
    assert report.passed, str(report)


def files(model):
    """A run that was saved and loaded is the same run."""
    tr = run(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        tr.save(path)
        loaded = dd.load(path)
    for name in model.truth:
        assert np.array_equal(loaded.at(SPAN / 3)[name], tr.at(SPAN / 3)[name]), name
    assert [event.time for event in loaded.events] == [event.time for event in tr.events]


CHECKS = (explicit_methods, implicit_methods, reductions, starts, sensitivities, verified, files)
KINDS = tuple({"hybrid": hybrid, "driven": driven} for hybrid in (False, True) for driven in (False, True))
