// Lays the blocks of all stages of a group out in compressed columns.
#include "methods/implicit_tableau/stage_pattern.hpp"

#include <memory>

namespace daedalus {

const StagePattern* make_stage_pattern(const ImplicitModel& model, const ImplicitTableau& tableau,
                                       const StageGroup& group) {
    auto made = std::make_unique<StagePattern>();
    const Pattern& one = model.matrix;
    const auto count = static_cast<std::size_t>(group.count), nonzeros = static_cast<std::size_t>(one.nonzeros());
    std::vector<char> in_all(nonzeros, 0);
    for (const long long k : model.all_place) in_all[static_cast<std::size_t>(k)] = 1;
    made->place.assign(count * count * nonzeros, -1);
    Pattern& matrix = made->matrix;
    matrix.n = group.count * one.n;
    matrix.colind.assign(1, 0);
    for (std::size_t j = 0; j < count; ++j)
        for (long long column = 0; column < one.n; ++column) {
            for (std::size_t i = 0; i < count; ++i) {
                // Other stages see this one through x alone.
                const int row = group.first + static_cast<int>(i), other = group.first + static_cast<int>(j);
                const bool coupled = tableau.entry(row, other) != 0;
                if (i != j && (!coupled || column >= model.block_states())) continue;
                const auto begin = static_cast<std::size_t>(one.colind[static_cast<std::size_t>(column)]);
                const auto end = static_cast<std::size_t>(one.colind[static_cast<std::size_t>(column) + 1]);
                for (std::size_t k = begin; k < end; ++k) {
                    if (i != j && !in_all[k]) continue;
                    made->place[(i * count + j) * nonzeros + k] = static_cast<std::int32_t>(matrix.nonzeros());
                    matrix.rows.push_back(static_cast<long long>(i) * one.n + one.rows[k]);
                }
            }
            matrix.colind.push_back(matrix.nonzeros());
        }
    return made.release();
}

void free_stage_pattern(const StagePattern* pattern) noexcept { delete pattern; }

}  // namespace daedalus
