"""How a flight changes: sensitivities by start, inputs and parameters, checked, ranked and drawn."""

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("quadrotor")

# M = ∂x/∂x₀, N = ∂x/∂u and the derivatives by parameters, with the error of all of them under control.
sens = dd.sensitivities(k.model, 2.0, inputs=k.inputs, rtol=1e-8)
print(sens)
print("∂position/∂mass =", np.round(sens.d("position", "mass"), 3))

# Compared with differences and with the adjoint.
print(sens.verify())

# What matters most for the height, and for one number at the end.
print(sens.rank("position[2]"))
height = k.model["position"][2]
g = dd.gradient(k.model, 2.0, final=height, running=0.01 * ca.sumsqr(k.model["thrust"]), inputs=k.inputs)
print(g)

sens.plot(["position[2]"], ["mass", "arm", "gravity"]).savefig("how_it_changes.png")
