"""Daedalus: from the page to the machine. Write a dynamic system, understand it, simulate it, look at it.

Public names are loaded when they are first used, so that `import daedalus` costs little more than CasADi and NumPy.
`__init__.pyi` beside this file lists the same names for type checkers; a test keeps the two alike.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import casadi as _casadi

from daedalus.model.forking import make_forks_safe as _make_forks_safe
from daedalus.model.interrupts import let_interrupts_through as _let_interrupts_through
from daedalus.tracing.sparse_products import let_sparse_products_through as _let_sparse_products_through

# NumPy functions on CasADi symbols: no warning, and shapes stay those of CasADi.
_casadi.GlobalOptions.setNumpyMode(-1)
# SciPy's sparse matrices on their left.
_let_sparse_products_through()
# Ctrl-C while expressions are written.
_let_interrupts_through()
_make_forks_safe()

__version__ = "0.2.0"

# Where each public name lives, in the order of the road a model takes.
_PLACES = {
    "errors": "DaedalusError InconsistentStartError InputError ModelError SingularModelError SolverError",
    "model.model": "Model",
    "model.system.system": "System",
    "model.guesses": "guess",
    "model.signals": "signal",
    "model.fields": "laplacian gradient_of upwind convolve matrix_product",
    "model.unit_labels": "UnitWarning",
    "model.switching.combined_conditions": "all_of any_of negate",
    "model.doors.joint_kinds": "ground",
    "geometry.inertia": "parallel_axis",
    "geometry.rotations": "skew unskew rot_x rot_y rot_z is_rotation nearest_rotation",
    "geometry.quaternions": "rotation_from_quaternion quaternion_from_rotation quaternion_product quaternion_conjugate "
    "quaternion_rate",
    "geometry.axis_angle": "rotation_from_axis_angle axis_angle_from_rotation rotation_exp rotation_log",
    "geometry.euler_angles": "rotation_from_rpy rpy_from_rotation rotation_from_zyz zyz_from_rotation rpy_rate_matrix "
    "rpy_rate zyz_rate zyz_rate_matrix GimbalLockWarning",
    "geometry.angular_velocity": "angular_velocity rotation_rate compose_angular_velocities",
    "geometry.frames": "transform inverse_transform split_transform transform_point point_velocity point_acceleration "
    "point_acceleration_terms",
    "geometry.moments": "centre_of_mass moment couple",
    "geometry.newton_euler": "newton_euler newton_euler_matrices kinetic_energy angular_momentum angular_momentum_rate",
    "analysis.same": "same",
    "analysis.check_units": "check_units",
    "analysis.linear.lti": "LTI",
    "analysis.linear.descriptor": "DescriptorSystem",
    "analysis.linear.pencils.pencil": "pencil",
    "analysis.linear.covariance": "covariance spectrum",
    "analysis.linear.linearise": "linearise",
    "analysis.points.equilibrium": "equilibrium",
    "analysis.linear.modes": "modes",
    "analysis.analyse": "analyse",
    "analysis.report": "Report",
    "analysis.lipschitz": "lipschitz",
    "initialisation.initialise": "initialise",
    "initialisation.start": "Start",
    "reduction.reduce": "reduce",
    "reduction.forms.first_order": "to_first_order",
    "reduction.forms.semi_explicit": "to_semi_explicit",
    "reduction.forms.eliminate": "eliminate",
    "simulation.simulate": "simulate",
    "simulation.stream": "stream StreamedRun",
    "simulation.prepare": "prepare PreparedRun",
    "simulation.result.trajectory": "Trajectory",
    "ensembles.sweep": "sweep",
    "ensembles.ensemble": "Ensemble",
    "ensembles.sample": "sample Sample",
    "ensembles.importance": "importance Importance",
    "ensembles.distributions": "normal uniform lognormal",
    "saved_results": "load",
    "studies.singular_limit": "singular_limit SingularLimit",
    "scipy_calls.solve_dae": "solve_dae",
    "scipy_calls.solve_ivp": "solve_ivp",
    "integrators.methods": "methods",
    "studies.convergence": "convergence",
    "studies.step_error": "step_error StepError",
    "robots.inverse_kinematics": "inverse_kinematics Posture",
    "robots.read_mjcf": "read_mjcf",
    "robots.read_urdf": "read_urdf",
    "robots.robot": "Robot",
    "exchange.sbml.read_sbml": "read_sbml",
    "studies.branches.branch": "branch",
    "studies.boundary.boundary_value": "boundary_value",
    "studies.boundary.boundary_solution": "BoundarySolution",
    "studies.lyapunov": "lyapunov",
    "studies.frequency_sweep": "frequency_sweep",
    "studies.propagate": "propagate",
    "studies.orbits.orbit_branch": "OrbitBranch",
    "studies.orbits.periodic_orbit": "PeriodicOrbit",
    "studies.periodic": "periodic",
    "studies.poincare": "poincare",
    "studies.branches.equilibrium_branch": "Branch",
    "differentiation.flow.flow": "flow",
    "differentiation.gradient": "gradient Gradient",
    "differentiation.sensitivities": "sensitivities",
    "differentiation.result.sensitivity_result": "Sensitivities",
    "differentiation.touching.contact_sensitivities": "ContactSensitivities",
    "optimisation.optimal_control": "OptimalControl",
    "optimisation.description.unknown": "unknown",
    "optimisation.phases": "phases",
    "optimisation.result.plan": "Plan",
    "optimisation.receding.controller": "Controller",
    "optimisation.receding.loop_with_plant": "closed_loop",
    "estimation.fit": "fit",
    "estimation.fit_result": "Fit",
    "estimation.estimator": "Estimator",
    "estimation.design": "design Design",
    "studies.newton": "newton watch_newton NewtonHistory NewtonWatch",
    "studies.one_step": "step OneStep",
    "studies.work_precision": "work_precision WorkPrecision",
    "studies.energy_over_time": "energy_over_time EnergyOverTime",
    "studies.passivity": "passivity",
    "derivations.derive": "derive",
    "derivations.solve_for": "solve_for",
    "derivations.derivation": "Derivation",
    "display.comparison_plot": "compare",
    "display.motion.animation": "Animation",
    "display.report.report_page": "report",
    "display.phase_portrait": "phase_portrait",
    "display.torque_speed": "torque_speed",
    "display.lectures.reduction_plot": "plot_reduction",
    "display.lectures.stability_regions": "plot_stability_regions",
    "integrators.tableaux.tableau": "Tableau",
    "integrators.tableaux.named_tableaux": "tableau tableau_names",
    "integrators.multistep.families": "bdf adams_bashforth adams_moulton",
    "integrators.multistep.multistep": "Multistep",
    "integrators.tableaux.collocation": "gauss_legendre radau_iia lobatto_iiia lobatto_iiic",
    "integrators.tableaux.best_order": "best_order",
}
# Modules that are public themselves: dd.units.convert, dd.inertia.box, dd.catalogue.load.
_MODULES = {
    "units": "model.units",
    "inertia": "geometry.inertia",
    "catalogue": "catalogue",
    "components": "components",
    "exchange": "exchange",
}

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
    return sorted([*__all__, "__version__"])
