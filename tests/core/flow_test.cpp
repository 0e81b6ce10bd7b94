// Flows without Python, for `make sanitize`: tables by hand, explicit and implicit steps, all derivatives, threads.
//
// x' = v, v' = -x³ + u: one state enters nonlinearly, so two directions of three are active after a step.
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "flow/covariance.hpp"
#include "flow/flow_evaluate.hpp"

using namespace daedalus;
using namespace daedalus::flows;

namespace {

int failures = 0;

#define CHECK(condition)                                            \
    if (!(condition)) {                                             \
        std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        ++failures;                                                 \
    }

// Arguments t, x, u, p, k, z, m. The Jacobian by (x, v, u) has the nonzeros (v, x), (x, v), (v, u).
int value(const double** a, double** r, long long*, double*, int) {
    r[0][0] = a[1][1], r[0][1] = -a[1][0] * a[1][0] * a[1][0] + a[2][0];
    return 0;
}
int linear(const double** a, double** r, long long* iw, double* w, int memory) {
    r[1][0] = -3 * a[1][0] * a[1][0], r[1][1] = 1, r[1][2] = 1;
    return value(a, r, iw, w, memory);
}
int curvature(const double** a, double** r, long long*, double*, int) {
    r[0][0] = -6 * a[1][0] * a[6][1];
    return 0;
}
int tensor(const double** a, double** r, long long*, double*, int) {
    r[0][0] = -6 * a[1][0];
    return 0;
}
// The residual k - f, whose Jacobian has the two nonzeros of k after those of x and u.
int residual(const double** a, double** r, long long*, double*, int) {
    r[0][0] = a[4][0] - a[1][1], r[0][1] = a[4][1] + a[1][0] * a[1][0] * a[1][0] - a[2][0];
    return 0;
}
int residual_linear(const double** a, double** r, long long* iw, double* w, int memory) {
    r[1][0] = 3 * a[1][0] * a[1][0], r[1][1] = -1, r[1][2] = -1, r[1][3] = 1, r[1][4] = 1;
    return residual(a, r, iw, w, memory);
}
int residual_curvature(const double** a, double** r, long long*, double*, int) {
    r[0][0] = 6 * a[1][0] * a[6][1];
    return 0;
}

const double A4[] = {0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0}, b4[] = {1 / 6., 1 / 3., 1 / 3., 1 / 6.},
             c4[] = {0, 0.5, 0.5, 1};
const double A1[] = {1}, b1[] = {1}, c1[] = {1}, guess[] = {0, 0}, nominal[] = {1, 1};
const Nonzero products[] = {{1, 0, 1}, {0, 1, 0}, {2, 1, ~2}};
const int product_starts[] = {0, 1, 1, 2, 3};
const Nonzero transposed[] = {{0, 1, 0}, {1, 0, 1}, {2, 1, 2}};
const Nonzero curved[] = {{0, 0, 0}};
const int source[] = {0}, curved_starts[] = {0, 1}, states[] = {0, 1, -1}, places[] = {0, 1};
const Curvature rows[] = {{source, curved_starts, 0, 0, {}}, {source, curved_starts, 1, 1, {curved, 1}}};
const double units[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
const int equations[] = {0, 1};
const Nonzero own_direct[] = {{3, 0, 0}, {4, 1, 1}}, own_state[] = {{0, 1, 0}, {1, 0, 1}};

struct Made {
    Function functions[4];
    FlowOwner flow;

    Made(bool implicit, int steps) {
        FlowPlan& plan = flow.plan;
        plan.n = 2, plan.nu = 1, plan.unknowns = 2, plan.rows = 4, plan.steps = steps, plan.h = 0.1;
        plan.implicit = implicit, plan.stages = implicit ? 1 : 4;
        plan.A = implicit ? A1 : A4, plan.b = implicit ? b1 : b4, plan.c = implicit ? c1 : c4;
        plan.guess = guess, plan.nominal = nominal;
        const MachineCode code[] = {implicit ? residual : value, implicit ? residual_linear : linear,
                                    implicit ? residual_curvature : curvature, tensor};
        for (std::size_t k = 0; k < 4; ++k) {
            functions[k].sz_arg = 7, functions[k].sz_res = 2, functions[k].machine_code = code[k];
            flow.functions[0][k] = &functions[k];
        }
        Directions& along = plan.directions[0];
        along.count = 3, along.active = 3, along.lanes = along.active_lanes = 4;
        along.state_of = states, along.direction_of = places, along.units = units;
        along.jacobian_size = implicit ? 5 : 3, along.second_size = 1;
        along.jacobian = {products, product_starts, 2}, along.transposed = {transposed, 3};
        along.curvature = {source, curved_starts, 1, 1, {curved, 1}};
        along.tensor = rows, along.tensor_rows = 1;
        StageBlock block;
        block.size = 2, block.stacked = 2 * plan.stages, block.equations = equations, block.unknowns = equations;
        block.own_direct = {own_direct, 2}, block.own_state = {own_state, 2};
        flow.blocks = {block};
        plan.blocks = flow.blocks.data(), plan.block_count = implicit ? 1 : 0;
        plan.factor_size = block.stacked * padded(block.stacked);
        flow.kernels = flows::baseline::flow_kernels();
    }
};

const double start[] = {0.7, -0.3}, input[] = {0.2}, seed[] = {1.5, -0.5};

// First and second derivatives against differences of the value and of the reverse mode.
void check_derivatives(bool implicit, int steps) {
    Made made(implicit, steps);
    FlowOwner& flow = made.flow;
    const FlowLoan loan(flow), other(flow);
    FlowMemory &memory = loan.memory(), &moved = other.memory();
    CHECK(flow.kernels.second(flow.plan, memory, start, input, nullptr, seed, 0) == 0);
    const double* M = memory.M + steps * 8;
    for (int d = 0; d < 3; ++d) {
        double ends[2][2], gradients[2][3];
        for (int side = 0; side < 2; ++side) {
            double at[] = {start[0], start[1], input[0]};
            at[d] += side ? 1e-6 : -1e-6;
            CHECK(flow.kernels.reverse(flow.plan, moved, at, at + 2, nullptr, seed, 0) == 0);
            for (int r = 0; r < 2; ++r) ends[side][r] = moved.x[2 * steps + r];
            for (int r = 0; r < 3; ++r) gradients[side][r] = moved.adjoint[r];
        }
        for (int r = 0; r < 2; ++r) CHECK(std::fabs(M[r * 4 + d] - (ends[1][r] - ends[0][r]) / 2e-6) < 1e-8);
        for (int r = 0; r <= d; ++r)
            CHECK(std::fabs(memory.hessian[r * 4 + d] - (gradients[1][r] - gradients[0][r]) / 2e-6) < 1e-7);
        CHECK(std::fabs(memory.adjoint[d] - seed[0] * M[d] - seed[1] * M[4 + d]) < 1e-14);
    }
    if (implicit) return;
    CHECK(flow.kernels.tensors(flow.plan, moved, start, input, nullptr, 0) == 0);
    for (int a = 0; a < 3; ++a)
        for (int b = a; b < 3; ++b)
            CHECK(std::fabs(seed[0] * moved.tensors[a * 4 + b] + seed[1] * moved.tensors[16 + a * 4 + b] -
                            memory.hessian[a * 4 + b]) < 1e-14);
}

// Steps pulled back one by one, with inputs by stage, against the reverse mode over all of them.
void check_pull_back(bool implicit) {
    Made made(implicit, 3);
    FlowOwner& flow = made.flow;
    const FlowLoan loan(flow), other(flow);
    FlowMemory &memory = loan.memory(), &pulled = other.memory();
    CHECK(flow.kernels.reverse(flow.plan, memory, start, input, nullptr, seed, 0) == 0);
    const double times[] = {0, 0.1, 0.2, 0.30000000000000004}, guesses[6] = {};
    const std::vector<double> inputs(static_cast<std::size_t>(3 * (flow.plan.stages + 1)), input[0]);
    double weights[] = {seed[0], seed[1]}, by_inputs[3], nothing = 0;
    const FlowSteps steps{3, times, memory.x, guesses, inputs.data(), nullptr};
    CHECK(flow.kernels.pull_back(flow.plan, pulled, steps, weights, by_inputs, &nothing) == 0);
    for (int r = 0; r < 2; ++r) CHECK(std::fabs(weights[r] - memory.adjoint[r]) < 1e-13);
    CHECK(std::fabs(by_inputs[0] + by_inputs[1] + by_inputs[2] - memory.adjoint[2]) < 1e-13);
}

void check_threads() {
    Made made(true, 5);
    std::vector<double> ends(16);
    std::vector<std::thread> workers;
    for (std::size_t k = 0; k < 8; ++k)
        workers.emplace_back([&made, &ends, k] {
            const double* arguments[] = {start, input, nullptr};
            double* results[] = {&ends[2 * k]};
            for (int repetition = 0; repetition < 100; ++repetition)
                if (evaluate_flow(made.flow, FlowPart::value, arguments, results)) ends[2 * k] = -1;
        });
    for (std::thread& worker : workers) worker.join();
    for (std::size_t k = 0; k < 16; ++k) CHECK(ends[k] == ends[k % 2]);
}

// F P Fᵀ + Q, and a measurement of the first of two states beside one that is missing, by hand.
void check_covariances() {
    const double F[] = {1, 0.5, 0, 1}, P[] = {2, 0, 0, 4}, Q[] = {0.1, 0, 0, 0.2};
    double out[4];
    std::vector<double> work;
    carry_covariance(2, F, P, Q, work, out);
    CHECK(std::abs(out[0] - 3.1) < 1e-14 && std::abs(out[1] - 2) < 1e-14 && out[1] == out[2]);
    const double H[] = {1, 0, 0, 1}, R[] = {2, 0, 0, 1}, v[] = {1, std::nan("")};
    double x[] = {5, 6};
    CHECK(take_in(2, 2, H, R, v, P, x, out));
    CHECK(std::abs(x[0] - 5.5) < 1e-14 && x[1] == 6 && std::abs(out[0] - 1) < 1e-14 && std::abs(out[3] - 4) < 1e-14);
    const double none[] = {0, 0, 0, 0};
    CHECK(!take_in(2, 2, H, none, v, none, x, out));
}

}  // namespace

int main() {
    for (const bool implicit : {false, true})
        for (const int steps : {1, 3}) check_derivatives(implicit, steps);
    for (const bool implicit : {false, true}) check_pull_back(implicit);
    check_threads();
    check_covariances();
    if (failures == 0) std::puts("flows: all checks passed");
    return failures != 0;
}
