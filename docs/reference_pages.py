"""The reference of the site: one page per topic, each public name with its signature, its text and its example."""

from __future__ import annotations

import contextlib
import inspect
import re
import textwrap
from importlib import import_module
from typing import Any

TOPICS: dict[str, tuple[str, list[str]]] = {
    "model": ("Writing a model", ["Model", "System", "guess", "signal", "ground", "all_of", "any_of", "negate"]),
    "fields": ("Fields on grids", ["laplacian", "gradient_of", "upwind", "convolve", "matrix_product"]),
    "understanding": (
        "Understanding a model",
        [
            *("analyse", "Report", "check_units", "same", "lipschitz", "reduce", "to_first_order", "to_semi_explicit"),
            *("eliminate", "initialise", "Start", "derive", "solve_for", "Derivation", "plot_reduction", "passivity"),
        ],
    ),
    "running": (
        "Running it",
        [
            "simulate",
            "Trajectory",
            "prepare",
            "PreparedRun",
            "stream",
            "StreamedRun",
            "load",
            "solve_ivp",
            "solve_dae",
            "compare",
            "energy_over_time",
            "EnergyOverTime",
        ],
    ),
    "ensembles": (
        "Many runs",
        ["sweep", "Ensemble", "sample", "Sample", "normal", "uniform", "lognormal", "importance", "Importance"],
    ),
    "derivatives": ("Derivatives", ["sensitivities", "Sensitivities", "gradient", "Gradient", "flow"]),
    "linear": (
        "Linear systems",
        ["linearise", "equilibrium", "modes", "LTI", "DescriptorSystem", "pencil", "covariance", "spectrum"],
    ),
    "optimisation": (
        "Optimal control and estimation",
        [
            *("OptimalControl", "unknown", "phases", "Plan", "Controller", "closed_loop"),
            *("fit", "Fit", "Estimator", "design", "Design"),
        ],
    ),
    "robots": ("Robots", ["read_urdf", "read_mjcf", "Robot", "inverse_kinematics", "Posture"]),
    "exchange": ("Exchange with other tools", ["exchange", "read_sbml"]),
    "studies": (
        "Studies beyond one run",
        [
            *(
                "branch",
                "Branch",
                "OrbitBranch",
                "periodic",
                "PeriodicOrbit",
                "boundary_value",
                "BoundarySolution",
                "poincare",
            ),
            *("lyapunov", "propagate", "frequency_sweep", "singular_limit", "SingularLimit"),
        ],
    ),
    "methods": (
        "Integration methods",
        [
            *("methods", "Tableau", "tableau", "tableau_names", "gauss_legendre", "radau_iia", "lobatto_iiia"),
            *("lobatto_iiic", "Multistep", "bdf", "adams_bashforth", "adams_moulton", "best_order", "convergence"),
            *(
                "step_error",
                "StepError",
                "step",
                "OneStep",
                "newton",
                "NewtonHistory",
                "watch_newton",
                "NewtonWatch",
                "work_precision",
            ),
            *("WorkPrecision", "plot_stability_regions"),
        ],
    ),
    "looking": ("Plots, animations, reports", ["Animation", "report", "phase_portrait", "torque_speed"]),
    "components": ("Components", ["components"]),
    "catalogue": ("Catalogue of known systems", ["catalogue"]),
    "geometry": (
        "Rotations, frames, inertia",
        [
            *("skew", "unskew", "rot_x", "rot_y", "rot_z", "is_rotation", "nearest_rotation"),
            *("rotation_from_quaternion", "quaternion_from_rotation", "quaternion_product", "quaternion_conjugate"),
            *(
                "quaternion_rate",
                "rotation_from_axis_angle",
                "axis_angle_from_rotation",
                "rotation_exp",
                "rotation_log",
            ),
            *("rotation_from_rpy", "rpy_from_rotation", "rotation_from_zyz", "zyz_from_rotation", "rpy_rate_matrix"),
            *("rpy_rate", "zyz_rate", "zyz_rate_matrix", "GimbalLockWarning", "angular_velocity", "rotation_rate"),
            *("compose_angular_velocities", "transform", "inverse_transform", "split_transform", "transform_point"),
            *("point_velocity", "point_acceleration", "point_acceleration_terms", "centre_of_mass", "moment", "couple"),
            *("parallel_axis", "inertia", "newton_euler", "newton_euler_matrices", "kinetic_energy"),
            *("angular_momentum", "angular_momentum_rate"),
        ],
    ),
    "units_and_errors": (
        "Units and errors",
        [
            *("units", "UnitWarning", "DaedalusError", "ModelError", "SingularModelError", "InconsistentStartError"),
            *("InputError", "SolverError"),
        ],
    ),
}
# Classes that users make themselves; all others are results, whose constructors are of no interest.
MADE_BY_USERS = (
    "Model",
    "LTI",
    "DescriptorSystem",
    "Tableau",
    "Multistep",
    "OptimalControl",
    "Controller",
    "Estimator",
)
# Members that other folders of the package use, and users do not need.
INTERNAL = {
    "Trajectory": "begins dense dense_spans fired_at_end first_events happened of_run outcome remade "
    "violation_series violations",
    "System": "assigned changed constrains_start from_record guards has_invariants of_kind part parts resets symbol "
    "to_record unknown_name watched",
    "Plan": "add_note run_between ending phases",
    "Tableau": "from_polynomial_stages",
    "Controller": "reads writes sample",
}
LINE = 88
INDENTED = {"initial_indent": "    ", "subsequent_indent": "    ", "break_long_words": False}
DOMAINS = ("electrical", "rotational", "translational", "hydraulic", "thermal", "signals", "machines")


def reference_pages() -> dict[str, str]:
    """All pages of the reference by their place in the site."""
    pages = {}
    rows = ["# Reference", "All names of `import daedalus as dd`, by topic.", "| topic | names |\n|---|---|"]
    for topic, (title, names) in topics().items():
        pages[f"reference/{topic}.md"] = topic_page(title, names)
        links = ", ".join(f"[`{name}`]({topic}.md#{anchor(f'dd.{name}')})" for name in names)
        rows[-1] += f"\n| [{title}]({topic}.md) | {links} |"
    pages["reference/index.md"] = "\n\n".join(rows)
    return pages


def topics() -> dict[str, tuple[str, list[str]]]:
    """The topics with their names; public names without a topic are gathered in one of their own."""
    import daedalus as dd

    listed = {name for _, names in TOPICS.values() for name in names}
    others = [name for name in dd.__all__ if name not in listed]
    return {**TOPICS, **({"more": ("More names", others)} if others else {})}


def anchor(name: str) -> str:
    """The place of a heading within its page, as Markdown names it."""
    return re.sub(r"[^\w]", "", name.lower())


def topic_page(title: str, names: list[str]) -> str:
    """One topic: every name, and the members of classes and modules."""
    import daedalus as dd

    parts = [f"# {title}"]
    for name in names:
        value = getattr(dd, name)
        parts += [heading(2, f"dd.{name}"), *documented(value, f"dd.{name}")]
        if name == "components":
            parts += component_sections(value)
        elif inspect.ismodule(value):
            for member, function in functions_of(value).items():
                parts += [heading(3, f"dd.{name}.{member}"), *documented(function, f"dd.{name}.{member}")]
        elif inspect.isclass(value) and not issubclass(value, Exception):
            hidden = INTERNAL.get(name, "").split()
            for member, method in sorted((key, m) for key, m in members_of(value).items() if key not in hidden):
                parts += [heading(3, f"dd.{name}.{member}"), *documented(method, f"{name}.{member}")]
    return "\n\n".join(parts)


def heading(level: int, name: str) -> str:
    return f"{'#' * level} {name.replace('_', chr(92) + '_')} {{ #{anchor(name)} }}"


def component_sections(components: Any) -> list[str]:
    """The ready components, domain by domain, and the functions that read netlists."""
    parts = []
    for name in ("from_spice", "run_spice"):
        parts += [
            heading(3, f"dd.components.{name}"),
            *documented(getattr(components, name), f"dd.components.{name}"),
        ]
    for domain in DOMAINS:
        module = import_module(f"daedalus.components.{domain}")
        parts.append(heading(2, f"dd.components.{domain}"))
        for name, value in vars(module).items():
            if (
                inspect.isclass(value)
                and not name.startswith("_")
                and hasattr(value, "keywords")
                and value.keywords is not None
            ):
                if name in ("Component", "Meter"):
                    continue
                parts += [heading(3, f"{domain}.{name}"), *documented(value, f"{domain}.{name}")]
    return parts


def functions_of(module: Any) -> dict[str, Any]:
    """The public functions of a module that belong to the package."""
    listed = getattr(module, "__all__", None)
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and (
            name in listed
            if listed
            else value.__module__.startswith(("daedalus.catalogue", "daedalus.geometry", "daedalus.model.units"))
        )
        and inspect.getdoc(value)
        and ">>>" in (inspect.getdoc(value) or "")
    }


def members_of(cls: type) -> dict[str, Any]:
    """The public methods and properties of a class, those it inherits from the package too."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("daedalus"):
            found |= {
                name: member
                for name, member in vars(base).items()
                if not name.startswith("_") and (callable(member) or isinstance(member, property))
            }
    return found


def documented(value: Any, name: str) -> list[str]:
    """Signature and docstring of one name, as Markdown."""
    parts = []
    result = inspect.isclass(value) and name.startswith("dd.") and name[3:] not in MADE_BY_USERS
    if callable(value) and not result:
        with contextlib.suppress(TypeError, ValueError):
            parts.append(f"```python\n{call(name, value)}\n```")
    text = inspect.getdoc(value)
    if text:
        parts.append(as_markdown(text))
    return parts


def call(name: str, value: Any) -> str:
    """A call with the names and defaults of its parameters; types and `self` are left out, the text explains each."""
    signature = inspect.signature(value)
    parameters = [p.replace(annotation=p.empty) for key, p in signature.parameters.items() if key != "self"]
    whole = f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"
    if len(whole) <= LINE:
        return whole
    kinds = {p.kind for p in parameters}
    pieces = [str(p) for p in parameters]
    positional = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        pieces.insert(positional, "*")
    return f"{name}(\n" + "\n".join(textwrap.wrap(", ".join(pieces), LINE, **INDENTED)) + "\n)"


def as_markdown(text: str) -> str:
    """A docstring as Markdown: lists of parameters as bullets, examples as code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if len(lines) > 1 and re.fullmatch(r"-{3,}", lines[1].strip()):
            blocks.append(f"**{lines[0].strip()}**")
            lines = lines[2:]
            if not lines:
                continue
            block = "\n".join(lines)
            if not block.lstrip().startswith(">>>"):
                blocks.append(bullets(lines))
                continue
        if ">>>" in block:
            blocks.append(f"```pycon\n{block}\n```")
        elif all(line.startswith("    ") for line in lines):
            blocks.append("```text\n" + "\n".join(line[4:] for line in lines) + "\n```")
        else:
            blocks.append(safe(block))
    return "\n\n".join(blocks)


def bullets(lines: list[str]) -> str:
    """`name: text` over indented lines, as a list."""
    entries: list[str] = []
    for line in lines:
        if line.startswith(" ") and entries:
            entries[-1] += " " + line.strip()
        else:
            entries.append(line.strip())
    written = []
    for entry in entries:
        names, colon, words = entry.partition(": ")
        written.append(f"- `{names}`: {safe(words)}" if colon else f"- {safe(entry)}")
    return "\n".join(written)


def safe(text: str) -> str:
    """Text whose signs Markdown would read as its own; what is between backticks stays."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", piece) for piece in pieces)
