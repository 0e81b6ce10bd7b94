"""Models that leave the package: as C code, FMUs, ONNX networks, functions of CasADi, JAX and PyTorch, and for PETSc.

Example
-------
>>> import daedalus as dd
>>> sorted(dd.exchange.__all__)
['c', 'casadi', 'fmu', 'jax', 'load_fmu', 'petsc', 'read_onnx', 'torch', 'write_onnx']
"""

from daedalus.exchange.c_code.export_c import export_c as c
from daedalus.exchange.casadi_functions import casadi_functions as casadi
from daedalus.exchange.fmu.export_fmu import export_fmu as fmu
from daedalus.exchange.fmu_import.load_fmu import load_fmu
from daedalus.exchange.jax_function import jax_function as jax
from daedalus.exchange.onnx_network import read_onnx, write_onnx
from daedalus.exchange.petsc_problem import petsc_problem as petsc
from daedalus.exchange.torch_function import torch_function as torch

__all__ = ["c", "casadi", "fmu", "jax", "load_fmu", "petsc", "read_onnx", "torch", "write_onnx"]
