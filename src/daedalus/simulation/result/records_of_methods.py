"""Which method ran, and why: asked for, chosen by the tolerance, or implicit where the model needs it or is stiff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daedalus.model.names import listed
from daedalus.simulation.result.records import Record


class MethodChoice(Record):
    """Which method runs, and why."""


def choice_of(records: Iterable[Record]) -> MethodChoice | None:
    """The choice of the method among records; None where they are of a piece that no method ran."""
    return next((record for record in records if isinstance(record, MethodChoice)), None)


@dataclass(frozen=True)
class MethodAsked(MethodChoice):
    """The method was asked for; has_step: at fixed step.

    >>> str(MethodAsked("tsit5")), str(MethodAsked("rk4", True))
    ('tsit5, as asked', 'rk4, as asked, at fixed step')
    """

    method: str
    has_step: bool = False

    def __str__(self) -> str:
        return f"{self.method}, as asked" + (", at fixed step" if self.has_step else "")


@dataclass(frozen=True)
class LinearSystems(Record):
    """How the linear systems of implicit steps were solved: dense, sparse, banded or by iteration (krylov).

    fill: nonzeros of L and U. operations: multiplications with subtraction of one factorisation. orderings: how often
    pivots were chosen. gave_up: iterations did not converge or cost more, and factors took over. band: entries in a row
    of a band.

    >>> str(LinearSystems("sparse", 68560, 2605152, 1))
    'linear systems: sparse, 68560 nonzeros in L and U, 2.6e+06 operations each'
    >>> str(LinearSystems("banded", 3000, 2000, 1, band=3))
    'linear systems: banded, 3 wide, 3000 nonzeros in L and U, 2e+03 operations each'
    >>> str(LinearSystems("krylov", 5000, 0, 0, 321))
    'linear systems: 321 iterations of GMRES with ILU(0), 5000 nonzeros'
    """

    form: str
    fill: int
    operations: int
    orderings: int
    iterations: int = 0
    gave_up: bool = False
    band: int = 0
    preconditioner: str = "ILU(0)"

    @property
    def how(self) -> str:
        """The same without the subject."""
        if self.form == "krylov":
            return f"{self.iterations} iterations of GMRES with {self.preconditioner}, {self.fill} nonzeros"
        form = f"{self.form}, {self.band} wide" if self.band else self.form
        each = f"{form}, {self.fill} nonzeros in L and U, {self.operations:.2g} operations each"
        if self.orderings > 1:
            each += f", pivots chosen {self.orderings} times"
        if self.gave_up:
            each += f"; GMRES with {self.preconditioner} was given up after {self.iterations} iterations"
        return each

    def __str__(self) -> str:
        return f"linear systems: {self.how}"


@dataclass(frozen=True)
class StartedUp(MethodChoice):
    """A multistep method ran, whose first steps another one took; over_switches: conditions were stepped over.

    >>> str(StartedUp("bdf3", 2, "radau9", 1e-12))
    'bdf3, as asked, at fixed step; the first 2 steps of an interval by radau9 at rtol = 1e-12'
    """

    method: str
    steps: int
    start_up: str
    rtol: float
    over_switches: bool = False

    def __str__(self) -> str:
        plural = "step" if self.steps == 1 else f"{self.steps} steps"
        first = f"; the first {plural} of an interval by {self.start_up} at rtol = {self.rtol:g}" if self.steps else ""
        over = (
            "; conditions in the equations are stepped over, which costs the order there" if self.over_switches else ""
        )
        return f"{self.method}, as asked, at fixed step{first}{over}"


@dataclass(frozen=True)
class ExplicitChosen(MethodChoice):
    """An explicit method, by the tolerance.

    >>> str(ExplicitChosen("dop853", 1e-6))
    'auto: dop853, explicit, for rtol = 1e-06'
    """

    method: str
    rtol: float
    words = "auto: {method}, explicit, for rtol = {rtol:g}"


@dataclass(frozen=True)
class Stiffness(Record):
    """Stability held an explicit method to short steps from a time on, seen after some of them.

    >>> str(Stiffness("dop853", 0.01, 2.5, 1))
    'stability held dop853 to steps of 0.01 from t = 2.5 on, seen after 1 step'
    """

    method: str
    step: float
    time: float
    steps: int

    def __str__(self) -> str:
        held = f"stability held {self.method} to steps of {self.step:.2g} from t = {self.time:.3g} on"
        return f"{held}, seen after {self.steps} {'step' if self.steps == 1 else 'steps'}"


@dataclass(frozen=True)
class ImplicitChosen(MethodChoice):
    """An implicit method, and because of what; for many unknowns at a loose tolerance, how many and which.

    >>> str(ImplicitChosen("radau5", "outlet is nonlinear in q"))
    'auto: radau5, implicit, because outlet is nonlinear in q'
    """

    method: str
    because: str | Stiffness
    unknowns: int | None = None
    rtol: float | None = None

    def __str__(self) -> str:
        chosen = f"auto: {self.method}, implicit, because {self.because}"
        if self.unknowns is None:
            return chosen
        many = f"of {self.unknowns} unknowns at rtol = {self.rtol:g}"
        return f"{chosen}, and steps {many} are cheapest with few factorisations"


@dataclass(frozen=True)
class FullNewton(Record):
    """From a time on every stage of a Radau step has a matrix of its own.

    >>> str(FullNewton(0.5, 0.1))
    'from t = 0.5 on each stage has its own Jacobian, because a shared one does not converge over steps of 0.1'
    """

    time: float
    step: float

    def __str__(self) -> str:
        since = f"because a shared one does not converge over steps of {self.step:g}"
        return f"from t = {self.time:.6g} on each stage has its own Jacobian, {since}"


@dataclass(frozen=True)
class ToleranceTightened(Record):
    """The error test has a part of the tolerance.

    >>> str(ToleranceTightened())
    'uses rtol/10, because constraints amplify integration errors'
    """

    words = "uses rtol/10, because constraints amplify integration errors"


@dataclass(frozen=True)
class NotSymplectic(Record):
    """A symplectic method on a model that is not Hamiltonian."""

    words = "forces depend on positions or velocities without an energy: the order holds, symplecticity does not"


@dataclass(frozen=True)
class FirstStepsWrong(Record):
    """Variables that implicit Euler gets wrong wherever the step changes.

    >>> print(FirstStepsWrong(("force",)))  # doctest: +ELLIPSIS
    implicit Euler on index 3: force is wrong by O(1) at the first step and after each change of step, ...
    """

    variables: tuple[str, ...]

    def __str__(self) -> str:
        are = f"{listed(self.variables)} {'is' if len(self.variables) == 1 else 'are'} wrong by O(1)"
        return f"implicit Euler on index 3: {are} at the first step and after each change of step, however short it is"


@dataclass(frozen=True)
class BelowTolerance(Record):
    """States that stay below their absolute tolerance over a whole run: no error of theirs is seen.

    >>> print(BelowTolerance(("x",), 1e-9))
    x stays below its absolute tolerance (1e-09), so its error is not controlled: try ...
    """

    variables: tuple[str, ...]
    tolerance: float

    def __str__(self) -> str:
        names = listed(self.variables, 6)
        stay, its, of = ("stays", "its", "it") if len(self.variables) == 1 else ("stay", "their", "them")
        return (
            f"{names} {stay} below {its} absolute tolerance ({self.tolerance:.3g}), so {its} error is not controlled: "
            f"try nominal= in the declaration of {of}, or "
            f'atol={{"{self.variables[0]}": ...}}'
        )


@dataclass(frozen=True)
class FewDigits(Record):
    """States that stay within a thousand absolute tolerances over a whole run: few of their digits are under control.

    >>> print(FewDigits(("c.voltage",), 1e-9))
    c.voltage stays within 1000 times its absolute tolerance (1e-09), so fewer than three digits of it are ...
    """

    variables: tuple[str, ...]
    tolerance: float

    def __str__(self) -> str:
        names = listed(self.variables, 6)
        stay, its, of = ("stays", "its", "it") if len(self.variables) == 1 else ("stay", "their", "them")
        return (
            f"{names} {stay} within 1000 times {its} absolute tolerance ({self.tolerance:.3g}), so fewer than "
            f'three digits of {of} are certain: try atol={{"{self.variables[0]}": ...}}'
        )


@dataclass(frozen=True)
class LongOscillation(Record):
    """States that oscillate on and on, with nothing outside to lead them: errors of the steps add up in their phase.

    periods: of the fastest. steps: of the run. rtol: what each step may add.

    >>> print(LongOscillation(("c.voltage",), 4800, 25600, 1e-6))
    c.voltage oscillates about 4800 times, and the errors of 25600 steps add up in its phase: up to 2.6 % of its ...
    """

    variables: tuple[str, ...]
    periods: int
    steps: int
    rtol: float

    def __str__(self) -> str:
        oscillate, its = ("oscillates", "its") if len(self.variables) == 1 else ("oscillate up to", "their")
        most = 100 * min(1.0, self.steps * self.rtol)
        return (
            f"{listed(self.variables, 6)} {oscillate} about {self.periods} times, and the errors of {self.steps} steps "
            f"add up in {its} phase: up to {most:.2g} % of {its} size at rtol = {self.rtol:g}, less with a smaller one"
        )


@dataclass(frozen=True)
class GrowingModeMet(Record):
    """A disturbance that grows like e^(rate · t), and what the run made of it.

    kind: "rest" where the state stands on an unstable rest; "followed" where steps were kept short enough to resolve
    it; "passed" where it was followed until rounding errors would have shown, and did not show; "unresolved" where
    steps of a fixed length are too long for it. variable: the state that it moves most. frequency: in rad/s, 0 where
    it does not oscillate.

    >>> print(GrowingModeMet("rest", "x", 0.0, 0.5, 0.0))
    the state is at an unstable equilibrium at t = 0: disturbances, mainly of x, grow by a factor e every 2 s ...
    """

    kind: str
    variable: str
    time: float
    rate: float
    frequency: float

    def __str__(self) -> str:
        turns = f", oscillating at {self.frequency:.3g} rad/s" if self.frequency else ""
        factor = f"by a factor e every {1 / self.rate:.3g} s (rate {self.rate:.3g} 1/s{turns})"
        if self.kind == "rest":
            return (
                f"the state is at an unstable equilibrium at t = {self.time:.6g}: disturbances, mainly of "
                f"{self.variable}, grow {factor}, but nothing disturbs it; to see the motion away from it, start "
                "slightly off the equilibrium (start=, or .ic and uic in a netlist)"
            )
        if self.kind == "passed":
            return (
                f"a disturbance of {self.variable} grows {factor} from t = {self.time:.6g} on: short steps followed it "
                "until rounding errors would have been visible, but it did not appear; later steps do not resolve it"
            )
        if self.kind == "unresolved":
            return (
                f"a disturbance of {self.variable} grows {factor} at t = {self.time:.6g}: the fixed step is longer "
                "than that, and implicit methods damp motions that they do not resolve; "
                f"try step={0.1 / self.rate:.1g}, or a run without step="
            )
        return (
            f"a disturbance of {self.variable} grows {factor} from t = {self.time:.6g} on: steps are short enough to "
            "follow it, and the result depends on the last digits of the start"
        )


@dataclass(frozen=True)
class SizesOfParts(Record):
    """States of parts that turned out small, so that the run was made again with tolerances in units of their sizes.

    >>> print(SizesOfParts(("c.voltage",)))
    absolute tolerances of c.voltage were too large for its size in a first run and were reduced
    """

    variables: tuple[str, ...]

    def __str__(self) -> str:
        its = "its size" if len(self.variables) == 1 else "their sizes"
        return (
            f"absolute tolerances of {listed(self.variables, 6)} were too large for {its} in a first run "
            "and were reduced"
        )


def seen_late(events: Sequence[str]) -> str:
    """That events are located on a smoother path than that of the noise.

    >>> print(seen_late(("hit",)))  # doctest: +NORMALIZE_WHITESPACE
    noise moves the guard of hit, which the path may pass unseen within a step: times are late by a share of the root of
    the step
    """
    unseen = f"noise moves the guard of {listed(events, 4)}, which the path may pass unseen within a step"
    return f"{unseen}: times are late by a share of the root of the step"


@dataclass(frozen=True)
class NoiseDrawn(Record):
    """The noise of a run: its seed, the step that white noise is held over, and what shortening to that step changed.

    >>> print(NoiseDrawn(("w",), (), 3, 0.01))
    the noise w is drawn with seed 3 and held over steps of 0.01 s
    >>> print(NoiseDrawn(("w",), (), 3, 0.005, True, 4e-4, 1e-3))  # doctest: +NORMALIZE_WHITESPACE
    the noise w is drawn with seed 3 and held over steps of 0.005 s; Itô's drift is added; shortening the step to this
    one changed the states by 0.0004 of their sizes
    """

    white: tuple[str, ...]
    sampled: tuple[str, ...]
    seed: int
    step: float | None = None
    drift: bool = False
    change: float | None = None
    wanted: float | None = None
    commutes: bool = True
    curved: bool = False
    late: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = (*self.white, *self.sampled)
        told = f"the noise {listed(names, 6)} is drawn with seed {self.seed}"
        if self.step is not None and self.curved:
            told += f"; over steps of {self.step:g} s, polynomials have the increments and integrals of its path"
        elif self.step is not None:
            told += f" and held over steps of {self.step:g} s" if not self.sampled else (
                f"; {listed(self.white, 6)} is held over steps of {self.step:g} s")  # fmt: skip
        if self.drift:
            told += "; Itô's drift is added"
        if not self.commutes:
            told += "; the order of pushes of different noises matters, so the error falls with the root of the step"
        if self.late:
            told += f"; {seen_late(self.late)}"
        if self.change is not None and self.wanted is not None:
            told += f"; shortening the step to this one changed the states by {self.change:.2g} of their sizes"
            if not self.change <= self.wanted:
                told += f", which is more than {self.wanted:g}: compare runs with shorter steps"
        return told


@dataclass(frozen=True)
class PainleveParadox(Record):
    """A sliding contact at which no finite force fits.

    >>> print(PainleveParadox("rod_ground", 0.12, 2.0, -0.4))  # doctest: +NORMALIZE_WHITESPACE
    Painlevé's paradox at t = 0.12 in rod_ground: with friction 2, a normal force would press the bodies further into
    each other (-0.4 of its effect without friction); no finite force fits, and an impulse stops the sliding
    """

    contact: str
    time: float
    friction: float
    share: float

    def __str__(self) -> str:
        return (
            f"Painlevé's paradox at t = {self.time:.6g} in {self.contact}: with friction {self.friction:g}, a normal "
            f"force would press the bodies further into each other ({self.share:.2g} of its effect without friction); "
            "no finite force fits, and an impulse stops the sliding"
        )


@dataclass(frozen=True)
class OverlapAtStart(Record):
    """Bodies that lie in each other as a run begins, which its first step moves apart.

    >>> print(OverlapAtStart("a", "b", 0.02, 3))
    a and b overlap by 0.02 m at the start, and 2 other pairs do; the first step moves them apart
    """

    one: str
    other: str
    depth: float
    pairs: int

    def __str__(self) -> str:
        others = self.pairs - 1
        rest = "" if not others else ", and another pair does" if others == 1 else f", and {others} other pairs do"
        return (
            f"{self.one} and {self.other} overlap by {self.depth:.3g} m at the start{rest}; "
            "the first step moves them apart"
        )


@dataclass(frozen=True)
class WentFar(Record):
    """Equal steps in which a body goes so far that it may pass through another one.

    >>> print(WentFar(0.3, 0.01, 3e-5))  # doctest: +NORMALIZE_WHITESPACE
    a body goes 0.3 m in an equal step and may pass through another one unseen (centres that touch are 0.01 m apart);
    try step=3e-05, or method='event_driven'
    """

    way: float
    thick: float
    step: float

    def __str__(self) -> str:
        return (
            f"a body goes {self.way:.3g} m in an equal step and may pass through another one unseen (centres that "
            f"touch are {self.thick:.3g} m apart); try step={self.step:.1g}, or method='event_driven'"
        )


@dataclass(frozen=True)
class ContactsStepped(Record):
    """How bodies with hard contacts were run: which way, with which steps, and how well the contact laws hold.

    >>> print(ContactsStepped(1, True, 1e-6, 0.1, 2, 1e-12))  # doctest: +NORMALIZE_WHITESPACE
    hard contacts by time stepping (Moreau and Jean) with 2 impacts located, steps of 1e-06 to 0.1 s by the
    tolerance; contact laws hold to 1e-12 of the velocities
    >>> "equal steps" in str(ContactsStepped(50, False, 1e-3, 1e-3, 0, 1e-11))
    True
    """

    bodies: int
    located: bool
    shortest: float
    longest: float
    impacts: int
    residual: float
    unsolved: int = 0
    lessened: int = 0
    reason: str = ""
    depth: float = 0.0
    redundant: bool = False

    def __str__(self) -> str:
        told = "hard contacts by time stepping (Moreau and Jean) "
        if self.located:
            times = "impact" if self.impacts == 1 else "impacts"
            told += f"with {self.impacts} {times} located, steps of {self.shortest:.3g} to {self.longest:.3g} s"
            told += " by the tolerance" + (f", because {self.reason}" if self.reason else "")
        else:
            why = self.reason or f"{self.bodies} bodies touch"
            told += (
                f"in equal steps of {self.longest:.3g} s, because {why}; bounces act in turn before a step, the error "
            )
            told += "is not controlled, and tr.events lists no contacts of these steps (method='event_driven' does)"
        told += f"; contact laws hold to {self.residual:.2g} of the velocities"
        if self.unsolved:
            were = "problem was" if self.unsolved == 1 else "problems were"
            told += f" ({self.unsolved} {were} not solved to their tolerance)"
        if self.lessened:
            told += f"; {self.lessened} impacts return less speed than their restitution, so the energy does not grow"
        if self.redundant:
            told += "; where points can share a load in many ways, their forces are those of least norm"
        return told
