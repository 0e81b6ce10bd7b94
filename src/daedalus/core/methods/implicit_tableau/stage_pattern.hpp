// The pattern of Newton's matrix for a group of stages that are solved at once.
//
// Block (i, j) is delta_ij (dF/dx' | dF/dz) + h a_ij (dF/dx | 0), everything at stage i; the unknowns are K_j in the
// columns of x, and Z_j.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/implicit_tableau/implicit_tableau.hpp"
#include "model/implicit_model.hpp"

namespace daedalus {

struct StagePattern {
    Pattern matrix;
    // Where nonzero k of the model's matrix stands in block (i, j): place[(i * count + j) * nonzeros + k]; -1: nowhere.
    std::vector<std::int32_t> place;
};

// Compiled once for any processor, as memory of vectors is shared with the rest of the program.
const StagePattern* make_stage_pattern(const ImplicitModel& model, const ImplicitTableau& tableau,
                                       const StageGroup& group);
void free_stage_pattern(const StagePattern* pattern) noexcept;

}  // namespace daedalus
