"""Daedalus: from the page to the machine. Write a dynamic system, understand it, simulate it, look at it.

Public names are loaded when they are first used, so that `import daedalus` costs little more than CasADi and NumPy.
`__init__.pyi` beside this file lists the same names for type checkers; a test keeps the two alike.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import casadi as _casadi

# NumPy functions on CasADi symbols: no warning, and shapes stay those of CasADi.
_casadi.GlobalOptions.setNumpyMode(-1)

__version__ = "0.1.0"

# Where each public name lives, in the order of the road a model takes.
_PLACES = {
    "errors": "DaedalusError InconsistentStartError InputError ModelError SingularModelError SolverError",
    "model.model": "Model",
    "model.system": "System",
    "model.signals": "signal",
    "model.joint_kinds": "ground",
    "model.inertia": "parallel_axis",
    "model.rotations": "skew unskew rot_x rot_y rot_z is_rotation nearest_rotation",
    "model.quaternions": "rotation_from_quaternion quaternion_from_rotation quaternion_product quaternion_conjugate "
    "quaternion_rate",
    "model.axis_angle": "rotation_from_axis_angle axis_angle_from_rotation rotation_exp rotation_log",
    "model.euler_angles": "rotation_from_rpy rpy_from_rotation rotation_from_zyz zyz_from_rotation rpy_rate_matrix "
    "rpy_rate zyz_rate_matrix GimbalLockWarning",
    "model.angular_velocity": "angular_velocity rotation_rate compose_angular_velocities",
    "model.frames": "transform inverse_transform split_transform transform_point point_velocity point_acceleration "
    "point_acceleration_terms",
    "model.moments": "centre_of_mass moment couple",
    "model.newton_euler": "newton_euler newton_euler_matrices kinetic_energy",
    "analysis.same": "same",
    "analysis.linear.lti": "LTI",
    "analysis.linear.descriptor": "DescriptorSystem",
    "analysis.linear.pencil": "pencil",
    "analysis.linear.linearise": "linearise",
    "analysis.equilibrium": "equilibrium",
    "analysis.linear.modes": "modes",
    "analysis.analyse": "analyse",
    "analysis.report": "Report",
    "analysis.lipschitz": "lipschitz",
    "initialisation.initialise": "initialise",
    "initialisation.start": "Start",
    "reduction.reduce": "reduce",
    "reduction.first_order": "to_first_order",
    "reduction.semi_explicit": "to_semi_explicit",
    "reduction.eliminate": "eliminate",
    "simulation.simulate": "simulate",
    "simulation.prepare": "prepare PreparedRun",
    "simulation.trajectory": "Trajectory",
    "simulation.sweep": "sweep",
    "simulation.ensemble": "Ensemble",
    "simulation.files": "load",
    "simulation.singular_limit": "singular_limit SingularLimit",
    "simulation.ivp.solve_dae": "solve_dae",
    "simulation.ivp.solve_ivp": "solve_ivp",
    "simulation.methods": "methods",
    "simulation.convergence": "convergence",
    "differentiation.flow": "flow",
    "differentiation.gradient": "gradient Gradient",
    "differentiation.sensitivities": "sensitivities",
    "differentiation.sensitivity_result": "Sensitivities",
    "display.phase_portrait": "phase_portrait",
    "display.torque_speed": "torque_speed",
    "simulation.tableaux.tableau": "Tableau",
    "simulation.tableaux.named_tableaux": "tableau tableau_names",
    "simulation.tableaux.collocation": "gauss_legendre radau_iia lobatto_iiia lobatto_iiic",
    "simulation.tableaux.best_order": "best_order",
}
# Modules that are public themselves: dd.units.convert, dd.inertia.box, dd.catalogue.load.
_MODULES = {"units": "model.units", "inertia": "model.inertia", "catalogue": "catalogue"}

_HOME = {name: place for place, names in _PLACES.items() for name in names.split()}

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"daedalus.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"daedalus.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'daedalus' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
