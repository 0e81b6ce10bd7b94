"""Cases on lanes: whole kernels (time loop, stages and model together) that run several cases at once.

Kernels are written here, and not made of the core's steppers: those, compiled to LLVM's bitcode and linked with a model
could at best be a scalar loop. Measured on one core of a Xeon, steps of RK4 compiled by g++ -O3
-march=native take 204 to 244 ns (double pendulum) and 18 ns (Lorenz), on lanes 41 and 8.5: masks over cases do not come
out of scalar code. Numbers that both decide by are the core's (`_core.shared_numbers`).
"""
