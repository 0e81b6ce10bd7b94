// The steppers of the implicit methods, compiled once for each instruction set (DAEDALUS_ISA).
#include "methods/bdf/bdf.hpp"
#include "methods/implicit_tableau/implicit_runge_kutta.hpp"
#include "methods/implicit_tableau/sdirk.hpp"
#include "methods/lobatto/lobatto.hpp"
#include "methods/radau/radau.hpp"
#include "methods/rosenbrock/rosenbrock.hpp"
#include "run/kernels.hpp"
#include "run/stepper.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

Kernels implicit_kernels(Method method) noexcept;

namespace {

// How the linear systems of a method were solved: those of groups of stages come with solvers of their own.
template <class State>
SolverCounts counts_of(const State& state) noexcept {
    SolverCounts all = state.solver.one().counts();
    if constexpr (requires { state.matrices[0].solver; }) {
        for (std::size_t g = 0; g < state.tableau.groups.size(); ++g) {
            if (!state.matrices[g].solver) continue;
            SolverCounts own = state.matrices[g].solver->one().counts();
            if (own.factorisations == 0) continue;
            own.factorisations += all.factorisations, own.orderings += all.orderings, own.iterations += all.iterations;
            own.gave_up |= all.gave_up;
            all = own;
        }
    }
    return all;
}

template <ImplicitMethod M, class State, class Description>
Kernels implicit() noexcept {
    Kernels found;
    found.advance = advance<M>;
    found.make = [](const ImplicitModel& model, const ImplicitCalls& calls, const void* method) -> void* {
        return static_cast<ImplicitState*>(new State(model, calls, *static_cast<const Description*>(method)));
    };
    found.destroy = [](void* implicit) noexcept { delete static_cast<State*>(static_cast<ImplicitState*>(implicit)); };
    found.work = [](const void* implicit) noexcept {
        const auto* state = static_cast<const ImplicitState*>(implicit);
        return ImplicitWork{state->jacobians, state->factorisations, state->newton, state->newton_failures,
                            state->solver.one().fill(), counts_of(*static_cast<const State*>(state)), state->modes.told};
    };
    found.consistent = make_consistent;
    return found;
}

}  // namespace

Kernels implicit_kernels(Method method) noexcept {
    switch (method) {
        case Method::radau: return implicit<Radau, RadauState, CollocationCoefficients>();
        case Method::rosenbrock: return implicit<Rosenbrock, RosenbrockState, RosenbrockCoefficients>();
        case Method::bdf: return implicit<Bdf, BdfState, BdfSettings>();
        case Method::implicit_tableau: return implicit<ImplicitRungeKutta, StepState, ImplicitTableau>();
        case Method::sdirk: return implicit<Sdirk, SdirkState, ImplicitTableau>();
        case Method::lobatto: return implicit<Lobatto, LobattoState, LobattoStep>();
        default: return {};
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
