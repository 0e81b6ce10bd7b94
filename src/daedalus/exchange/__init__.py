"""Models that leave the package: as functions of JAX and PyTorch.

Example
-------
>>> import daedalus as dd
>>> sorted(dd.exchange.__all__)
['jax', 'torch']
"""

from daedalus.exchange.jax_function import jax_function as jax
from daedalus.exchange.torch_function import torch_function as torch

__all__ = ["jax", "torch"]
