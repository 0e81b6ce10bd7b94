// One step of a method of momenta for constrained mechanics, as functions that were written for one model.
//
// The unknowns w of a step are the stage velocities V_1 .. V_s and the impulses of the first s - 1 stages. A row of the
// run is y = (x, z, x') with q and v among x and the multipliers among z.
#pragma once

#include "linear/pattern.hpp"
#include "model/function.hpp"

namespace daedalus {

struct LobattoStep {
    // (t, h, y, w, inputs at the stages, p) -> residual; nonzeros of its Jacobian; q at the end, and the momentum there
    // without the last impulse.
    const Function* residual = nullptr;
    const Function* jacobian = nullptr;
    const Function* landing = nullptr;
    // (t, y, u, p) -> nonzeros of K = (M -G'; G 0), the momentum, -dc/dt, -c.
    const Function* masses = nullptr;
    // (t, y, u, p) -> right-hand side of K (v', lambda) = (tau - h, gamma).
    const Function* motion = nullptr;

    Pattern stages;                        // of the Jacobian of the residual
    Pattern saddle;                        // of K
    std::vector<double> nodes, half_way;   // c_i; sum of the row i of Lobatto IIIB
    std::vector<long long> positions, velocities, multipliers;  // in x, in x, in z
};

}  // namespace daedalus
