// What a flow is made of: sizes, tableau and the lists that say where the nonzeros of its stage functions go.
//
// A stage function has the arguments (t, x, u, p, k, z, m). With an explicit tableau it is f, k = f(t, x, u, p); else it
// is the residual F(t, x, u, p, k, z) of x' = k and the algebraic z. m are the multipliers of its second derivative.
#pragma once

#include "model/function.hpp"

namespace daedalus::flows {

// One nonzero: number `place` of a Jacobian stands at (row, column). A column >= 0 is a row of the stage's tangents,
// ~column a direction along which u or p changes by one.
struct Nonzero {
    int place, row, column;
};

struct Nonzeros {
    const Nonzero* data = nullptr;
    int count = 0;
};

// Nonzeros sorted by row; those of row r are starts[2r] … starts[2r+2], the directions after the tangents.
struct Products {
    const Nonzero* data = nullptr;
    const int* starts = nullptr;
    int rows = 0;
};

// The nonzeros of a symmetric second derivative, both halves, sorted by row. Rows and columns count the variables it
// touches; `source` says where the tangent of each is found, by the rule of Nonzero, the first `rows` being tangents.
struct Curvature {
    const int* source = nullptr;
    const int* starts = nullptr;
    int touched = 0, rows = 0;
    Nonzeros entries;
};

// Where the numbers of an output come from: position in the result array of each nonzero.
struct Gather {
    const int* place = nullptr;
    int count = 0;
};

// The directions in which a flow is differentiated: x and u, or x, u and p. Those that a second derivative can depend
// on are `active` and come first.
struct Directions {
    int count = 0, active = 0;
    long long lanes = 0, active_lanes = 0;
    const int* state_of = nullptr;      // for each direction the state that it moves, or -1
    const int* direction_of = nullptr;  // for each state its direction
    const double* units = nullptr;  // (count, lanes): the identity, tangents of u and p
    long long jacobian_size = 0, projection_size = 0, second_size = 0, tensor_size = 0;
    Products jacobian, projection_jacobian;
    // Nonzeros by x, u and p in this order of columns, for the transposed products.
    Nonzeros transposed, projection_transposed;
    Curvature curvature, projection_curvature;
    const Curvature* tensor = nullptr;  // the second derivative of each equation, for the full tensors
    int tensor_rows = 0;                // touched variables of all equations together
};

// Equations and unknowns of a stage that are solved together, one block after the other. The Jacobian with parameters
// has their columns last, so that places are the same in both.
struct StageBlock {
    int size = 0, stacked = 0;             // unknowns, and unknowns of all stages
    const int *equations = nullptr, *unknowns = nullptr;
    Nonzeros own_direct, own_state;          // inside the block, rows and columns local: by k or z, by x
    Nonzeros other_direct, other_state;      // on earlier blocks: column is an unknown or a state
    long long offset = 0, pivot_offset = 0;  // in the memory of the factors
};

struct FlowPlan {
    int n = 0, nu = 0, np = 0, nz = 0;
    int unknowns = 0;  // of a stage: k, then z where the stages are implicit
    int rows = 0;      // tangents of a stage: x, then the unknowns
    int stages = 0, steps = 0;
    double t0 = 0, h = 0;
    const double *A = nullptr, *b = nullptr, *c = nullptr;
    bool implicit = false;
    int corrections = 0;  // of the projection behind each step
    Directions directions[2];
    const StageBlock* blocks = nullptr;
    int block_count = 0;
    long long factor_size = 0, largest_block = 0;
    const double* guess = nullptr;    // of the unknowns of a stage, or of each stage
    int guess_stride = 0;             // from one stage to the next; zero where all begin at one guess
    const double* nominal = nullptr;  // sizes of x, then of z: below them a change does not count
};

enum class StageFunction : int { value, linear, curvature, tensor, projection, projection_linear, projection_curvature };
inline constexpr int stage_function_count = 7;

// The memory of one evaluation; every array is there when the evaluation begins.
struct FlowMemory {
    Call* calls[2][stage_function_count] = {};  // for the two choices of directions
    int which = 0;                              // the choice of this evaluation
    long long jacobian_size = 0;                // its number of nonzeros
    double *x = nullptr;           // (steps + 1, n)
    double *moved = nullptr;       // (corrections, n) the end of a step before each correction of the projection
    double *stage_x = nullptr;     // (stages, n)
    double *stage_w = nullptr;     // (steps, stages, unknowns)
    double *jacobian = nullptr;    // (stages, jacobian_size)
    double *projection = nullptr;  // (corrections, projection_size)
    double *second = nullptr;      // numbers of one second derivative
    double *tangent = nullptr;     // (stages, rows, lanes)
    double *M = nullptr;           // (steps + 1, n, lanes)
    double *moved_M = nullptr;     // (corrections, n, lanes)
    double *product = nullptr;     // touched variables × active lanes
    double *hessian = nullptr;     // (active_lanes, active_lanes)
    double *tensors = nullptr;     // (n, active_lanes, active_lanes)
    double *panel = nullptr;       // (1 + stages, n, 48): one group of the tensors
    double *tensor_product = nullptr;  // (stages, tensor_rows, active_lanes)
    double *adjoint = nullptr;     // (n + nu + np): the result of reverse mode
    double *lambda = nullptr;      // (n)
    double *cotangent = nullptr;   // (n + nu + np)
    double *multipliers = nullptr; // (stages, unknowns)
    double *direct = nullptr;      // (stages, unknowns) sums of the transposed solve
    double *through_x = nullptr;   // (stages, n)
    double *factors = nullptr;     // LU factors of the blocks
    int *pivots = nullptr;
    double *right = nullptr;       // (largest block, lanes)
    double *newton = nullptr;      // (stages, rows, 4): corrections of Newton's method, one lane in use
    double *trial = nullptr;       // (stages, unknowns)
    double *correction = nullptr;  // (stages, unknowns)
    double *residual = nullptr;    // (stages, unknowns)
    const double *zeros = nullptr; // what a missing argument stands for
};

inline constexpr int flow_failed = 1;

// Steps of a run that follow each other, to be pulled back.
struct FlowSteps {
    long long count = 0;
    const double* times = nullptr;       // (count + 1)
    const double* states = nullptr;      // (count, n): before each step
    const double* guesses = nullptr;     // (count, stages, unknowns): near (k, z) of its stages
    const double* inputs = nullptr;      // (count, stages + 1, nu): at its stages and its end
    const double* parameters = nullptr;  // (np)
};

struct FlowKernels {
    int (*value)(const FlowPlan&, FlowMemory&, const double* x, const double* u, const double* p);
    int (*first)(const FlowPlan&, FlowMemory&, const double* x, const double* u, const double* p, int which);
    int (*reverse)(const FlowPlan&, FlowMemory&, const double* x, const double* u, const double* p, const double* seed,
                   int which);
    int (*second)(const FlowPlan&, FlowMemory&, const double* x, const double* u, const double* p, const double* seed,
                  int which);
    int (*pull_back)(const FlowPlan&, FlowMemory&, const FlowSteps&, double* weights, double* by_inputs,
                     double* by_parameters);
    int (*tensors)(const FlowPlan&, FlowMemory&, const double* x, const double* u, const double* p, int which);
};

inline namespace DAEDALUS_ISA {}
namespace baseline {
FlowKernels flow_kernels() noexcept;
}
namespace avx2 {
FlowKernels flow_kernels() noexcept;
}

}  // namespace daedalus::flows
