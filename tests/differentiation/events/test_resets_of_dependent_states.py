"""Derivatives across a reset of states that depend on each other are those of what `dd.simulate` does."""

import numpy as np
import pytest
from promoted_models import bent_store

import daedalus as dd


def by_differences(m, name, k, span=2.0, step=1e-5):
    ends = [dd.simulate(m, span, parameters={"k": k + h}, rtol=1e-11, atol=1e-13).end[name] for h in (step, -step)]
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.parametrize(
    "options", [{}, {"by": "discrete"}, {"method": "radau5"}, {"method": "rodas5p"}, {"method": "bdf"}]
)
def test_across_a_reset_with_a_promoted_variable(options):
    m = bent_store()
    sens = dd.sensitivities(m, 2.0, rtol=1e-8, **options)
    whole = dd.simulate(m, 2.0, rtol=1e-10)
    assert sens.value[0] == pytest.approx(whole["w"][-1], abs=1e-6)
    assert float(sens.d("w", "k")) == pytest.approx(by_differences(m, "w", 1.0), abs=1e-5)
    assert sens.verify().passed


def test_the_gradient_across_it():
    m = bent_store()
    g = dd.gradient(m, 2.0, final="w", wrt=["k"], rtol=1e-9)
    assert g["k"] == pytest.approx(by_differences(m, "w", 1.0), abs=1e-6)


def test_a_parameter_moves_the_guesses_of_a_start_and_not_what_was_given():
    """x is given, and r = -k x and s = r follow: x = exp(-k t)."""
    m = dd.Model("decay")
    x, s = m.state("x", start=1.0), m.state("s")
    r, f, k = m.algebraic("r"), m.algebraic("f"), m.parameter("k", 2.0)
    m.equation(m.der(x), r)
    m.equation(r, -k * x)
    m.equation(m.der(s), f)
    m.equation(s, r)
    sens = dd.sensitivities(m, 1.0, wrt=["k"], rtol=1e-9)
    assert float(sens.d("x", "k")) == pytest.approx(-np.exp(-2.0), abs=1e-7)
    assert float(sens.d("s", "k")) == pytest.approx(np.exp(-2.0), abs=1e-7)


def test_verify_catches_a_run_that_simulate_does_not_confirm(monkeypatch):
    """A reset that the derivatives carry out and `dd.simulate` does not."""
    from daedalus.differentiation.result import independent_run

    sens = dd.sensitivities(bent_store(), 2.0, rtol=1e-8)
    other = bent_store()
    other.written.events.clear()
    own = independent_run.simulate
    monkeypatch.setattr(independent_run, "simulate", lambda model, *rest, **more: own(other, *rest, **more))
    report = sens.verify()
    assert not report.passed
    assert "dd.simulate ends elsewhere, by " in report["differences"].detail
