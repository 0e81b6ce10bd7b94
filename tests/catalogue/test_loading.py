"""Finding known systems by name, and models that belong to whoever loaded them."""

from pathlib import Path

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue import loading


def test_every_system_file_is_listed():
    folder = Path(loading.__file__).parent
    written = {path.stem for path in folder.rglob("*.py") if "def build(" in path.read_text(encoding="utf-8")}
    assert written == set(catalogue.names())


def test_the_systems_of_the_contract_are_there():
    wanted = "mass_spring cart_pendulum quadrotor double_pendulum pleiades van_der_pol lotka_volterra hires"
    assert set(wanted.split()) <= set(catalogue.names())


def test_an_unknown_name_shows_the_closest():
    with pytest.raises(dd.InputError) as caught:
        catalogue.load("quadroter")
    text = str(caught.value)
    assert text.startswith("The catalogue has no system 'quadroter'.\n  known: mass_spring, cart_pendulum,")
    assert text.endswith("Try: 'quadrotor' or 'quarter_car'")


@pytest.mark.parametrize("name", ["", "build", "known_system", "reference", None, 3])
def test_only_systems_can_be_loaded(name):
    with pytest.raises(dd.InputError, match="The catalogue has no system"):
        catalogue.load(name)


def test_an_unknown_option_shows_the_known_ones():
    with pytest.raises(dd.InputError) as caught:
        catalogue.load("van_der_pol", mue=5.0)
    assert str(caught.value) == ("The system 'van_der_pol' has no option 'mue'.\n  its options: mu\n  Try: 'mu'")


def test_an_option_where_there_are_none_points_to_parameters():
    with pytest.raises(dd.InputError) as caught:
        catalogue.load("mass_spring", stiffness=3.0)
    assert str(caught.value) == (
        "The system 'mass_spring' has no option 'stiffness'.\n"
        "  it has none\n"
        "  Because its parameters are changed when it runs.\n"
        "  Try: dd.simulate(k.model, k.span, parameters={...})"
    )


def test_a_bad_option_value_is_refused_by_name():
    for mu in ("large", [1.0, 2.0]):
        with pytest.raises(dd.InputError, match="The option mu is not a number"):
            catalogue.load("van_der_pol", mu=mu)
    with pytest.raises(dd.ModelError, match="The value of mu is nan"):
        catalogue.load("van_der_pol", mu=np.nan)


@pytest.mark.parametrize("name", catalogue.names())
def test_each_load_gives_a_model_of_its_own_with_shared_symbols(name):
    one, two = catalogue.load(name), catalogue.load(name)
    assert one.model is not two.model
    assert one.model.freeze() == two.model.freeze()
    state = next(iter(one.start))
    one.model.output("mine", one.model[state])
    assert "mine" not in two.model.outputs
    assert "mine" not in catalogue.load(name).model.outputs
    # An expression written with one model's symbols is valid in the other.
    two.model.output("theirs", one.model[state] ** 2)
    assert "theirs" in two.model.outputs


@pytest.mark.parametrize("name", catalogue.names())
def test_what_a_caller_writes_into_a_record_stays_there(name):
    spoilt = catalogue.load(name)
    for values in (spoilt.start, spoilt.inputs):
        for key, value in values.items():
            if isinstance(value, np.ndarray):
                value[...] = np.nan
            values[key] = np.nan
    fresh = catalogue.load(name)
    assert all(np.all(np.isfinite(v)) for v in (*fresh.start.values(), *fresh.inputs.values()))


def test_options_make_different_systems():
    mild, stiff = catalogue.load("van_der_pol", mu=2.0), catalogue.load("van_der_pol", mu=1000.0)
    assert mild.parameters == {"mu": 2.0}
    assert mild.reference is None
    assert not mild.stiff
    assert stiff.parameters == {"mu": 1000.0}
    assert stiff.reference is not None
    assert stiff.stiff
