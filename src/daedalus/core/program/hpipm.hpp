// A quadratic program in stages, solved by HPIPM: an interior-point method whose Newton steps are Riccati recursions.
//
//     min Σ_k ½ vᵀ H_k v + h_kᵀ v    v = (u_k, x_k)      x_{k+1} = B_k u_k + A_k x_k + b_k
//     lower <= v_i <= upper for bounded variables,       low_k <= D_k u_k + C_k x_k <= high_k
//
// HPIPM's functions are found at run time; all memory is settled when the stages are known.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace daedalus::programs {

// The parts of HPIPM's C interface that are used here; its structures stay closed.
struct HpipmLibrary {
    using Size = std::size_t (*)();
    using SizeOf = std::size_t (*)(void*);
    using Create = void (*)(void*, void*, void*);
    using Set = void (*)(int, double*, void*);
    using SetIntegers = void (*)(int, int*, void*);
    using Get = void (*)(int, void*, double*);

    Size dim_struct = nullptr, qp_struct = nullptr, solution_struct = nullptr, arguments_struct = nullptr,
         workspace_struct = nullptr;
    std::size_t (*dim_memory)(int) = nullptr;
    SizeOf qp_memory = nullptr, solution_memory = nullptr, arguments_memory = nullptr;
    std::size_t (*workspace_memory)(void*, void*) = nullptr;
    void (*dim_create)(int, void*, void*) = nullptr;
    void (*dim_set_all)(int*, int*, int*, int*, int*, int*, void*) = nullptr;
    Create qp_create = nullptr, solution_create = nullptr, arguments_create = nullptr;
    void (*workspace_create)(void*, void*, void*, void*) = nullptr;
    void (*set_default)(int, void*) = nullptr;
    void (*set_most_iterations)(int*, void*) = nullptr;
    void (*set_argument)(char*, void*, void*) = nullptr;
    Set set_A = nullptr, set_B = nullptr, set_b = nullptr, set_Q = nullptr, set_S = nullptr, set_R = nullptr,
        set_q = nullptr, set_r = nullptr, set_C = nullptr, set_D = nullptr, set_lower_x = nullptr, set_upper_x = nullptr,
        set_lower_u = nullptr, set_upper_u = nullptr, set_low = nullptr, set_high = nullptr, mask_lower_x = nullptr,
        mask_upper_x = nullptr, mask_lower_u = nullptr, mask_upper_u = nullptr, mask_low = nullptr, mask_high = nullptr;
    SetIntegers set_bounded_x = nullptr, set_bounded_u = nullptr;
    void (*solve)(void*, void*, void*, void*) = nullptr;
    Get get_u = nullptr, get_x = nullptr;
    void (*get_status)(void*, int*) = nullptr;
    void (*get_iterations)(void*, int*) = nullptr;
    void (*get_off_steps)(void*, double*) = nullptr;
    void (*get_off_bounds)(void*, double*) = nullptr;
};

// One stage: matrices column by column; bounded variables by their places among u and x.
struct QuadraticStage {
    std::vector<double> A, B, b, Q, S, R, q, r, C, D, low, high;
    std::vector<int> bounded_u, bounded_x;
    std::vector<double> lower_u, upper_u, lower_x, upper_x;
    std::vector<double> step_u, step_x;  // the solution
    int nu = 0, nx = 0, rows = 0;

    // next: the states of the stage behind it.
    void settle(int inputs, int states, int own_rows, int next) {
        nu = inputs, nx = states, rows = own_rows;
        const auto size = [](int one, int two) { return std::size_t(one) * std::size_t(two); };
        A.assign(size(next, nx), 0.0), B.assign(size(next, nu), 0.0), b.assign(std::size_t(next), 0.0);
        Q.assign(size(nx, nx), 0.0), S.assign(size(nu, nx), 0.0), R.assign(size(nu, nu), 0.0);
        q.assign(std::size_t(nx), 0.0), r.assign(std::size_t(nu), 0.0);
        C.assign(size(rows, nx), 0.0), D.assign(size(rows, nu), 0.0);
        low.assign(std::size_t(rows), 0.0), high.assign(std::size_t(rows), 0.0);
        step_u.assign(std::size_t(nu), 0.0), step_x.assign(std::size_t(nx), 0.0);
    }
};

enum class QuadraticEnding { solved, near, failed };

class StageQp {
public:
    StageQp(const HpipmLibrary& library, std::vector<QuadraticStage> settled)
        : stages(std::move(settled)), library_(library) {
        const int last = int(stages.size()) - 1;
        std::vector<int> sizes[6];
        for (const QuadraticStage& stage : stages) {
            const int own[6] = {stage.nx, stage.nu, int(stage.bounded_x.size()), int(stage.bounded_u.size()), stage.rows, 0};
            for (int i = 0; i < 6; ++i) sizes[i].push_back(own[i]);
        }
        dim_ = room(library.dim_struct());
        library.dim_create(last, dim_, room(library.dim_memory(last)));
        library.dim_set_all(sizes[0].data(), sizes[1].data(), sizes[2].data(), sizes[3].data(), sizes[4].data(),
                            sizes[5].data(), dim_);
        qp_ = made(library.qp_struct, library.qp_memory, library.qp_create);
        solution_ = room(library.solution_struct()), solution_memory_ = room(library.solution_memory(dim_));
        for (Manner& manner : manners_) {
            manner.arguments = made(library.arguments_struct, library.arguments_memory, library.arguments_create);
            library.set_default(&manner == manners_ ? 1 : 2, manner.arguments);
            manner.workspace = room(library.workspace_struct());
            manner.memory = room(library.workspace_memory(dim_, manner.arguments));
        }
        renew();
        for (int k = 0; k <= last; ++k) {
            QuadraticStage& stage = stages[std::size_t(k)];
            if (!stage.bounded_u.empty()) library.set_bounded_u(k, stage.bounded_u.data(), qp_);
            if (!stage.bounded_x.empty()) library.set_bounded_x(k, stage.bounded_x.data(), qp_);
        }
    }

    void set_number(const char* name, double value) {
        for (Manner& manner : manners_) library_.set_argument(const_cast<char*>(name), &value, manner.arguments);
    }

    // Hands a stage over as it stands.
    void hand_over(std::size_t k) {
        QuadraticStage& stage = stages[k];
        const int at = int(k);
        if (k + 1 < stages.size()) {
            library_.set_A(at, stage.A.data(), qp_), library_.set_B(at, stage.B.data(), qp_);
            library_.set_b(at, stage.b.data(), qp_);
        }
        library_.set_Q(at, stage.Q.data(), qp_), library_.set_S(at, stage.S.data(), qp_);
        library_.set_R(at, stage.R.data(), qp_), library_.set_q(at, stage.q.data(), qp_);
        library_.set_r(at, stage.r.data(), qp_);
        library_.set_C(at, stage.C.data(), qp_), library_.set_D(at, stage.D.data(), qp_);
        bound(at, stage.low, library_.set_low, library_.mask_low), bound(at, stage.high, library_.set_high, library_.mask_high);
        bound(at, stage.lower_u, library_.set_lower_u, library_.mask_lower_u);
        bound(at, stage.upper_u, library_.set_upper_u, library_.mask_upper_u);
        bound(at, stage.lower_x, library_.set_lower_x, library_.mask_lower_x);
        bound(at, stage.upper_x, library_.set_upper_x, library_.mask_upper_x);
    }

    // Solves with at most so many iterations, quickly or else with care; a point that obeys the conditions is near.
    QuadraticEnding solve(int most_iterations, double near) {
        int status = 0, own = 0;
        double off_steps = 0.0, off_bounds = 0.0;
        iterations_ = 0;
        for (Manner& manner : manners_) {
            const bool careful = &manner != manners_;
            int most = std::min(most_iterations - iterations_, careful ? most_careful : most_quick);
            if (most <= 0) break;
            library_.set_most_iterations(&most, manner.arguments);
            library_.solve(qp_, solution_, manner.arguments, manner.workspace);
            library_.get_status(manner.workspace, &status), library_.get_iterations(manner.workspace, &own);
            iterations_ += own;
            if (status == 0) break;
            // Only what the careful manner left behind may count as near.
            off_steps = off_bounds = 2.0 * near + 1.0;
            if (careful) library_.get_off_steps(manner.workspace, &off_steps);
            if (careful) library_.get_off_bounds(manner.workspace, &off_bounds);
        }
        for (std::size_t k = 0; k < stages.size(); ++k) {
            library_.get_u(int(k), solution_, stages[k].step_u.data());
            library_.get_x(int(k), solution_, stages[k].step_x.data());
        }
        if (!finite()) {
            renew();
            return QuadraticEnding::failed;
        }
        if (status == 0) return QuadraticEnding::solved;
        return off_steps <= near && off_bounds <= near ? QuadraticEnding::near : QuadraticEnding::failed;
    }

    int iterations() const { return iterations_; }

    std::vector<QuadraticStage> stages;

private:
    // Solution and workspaces as they were at first: what is not finite in them would spoil every later solve.
    void renew() {
        clear(solution_memory_), library_.solution_create(dim_, solution_, solution_memory_);
        for (Manner& manner : manners_) {
            clear(manner.memory);
            library_.workspace_create(dim_, manner.arguments, manner.workspace, manner.memory);
        }
    }

    void clear(void* memory) {
        for (std::vector<std::byte>& own : memory_)
            if (own.data() == memory) std::fill(own.begin(), own.end(), std::byte{0});
    }

    bool finite() const {
        const auto all = [](const std::vector<double>& values) {
            return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
        };
        return std::all_of(stages.begin(), stages.end(),
                           [&](const QuadraticStage& stage) { return all(stage.step_u) && all(stage.step_x); });
    }

    // Memory that stays for as long as the program does; HPIPM aligns inside it.
    void* room(std::size_t bytes) {
        memory_.emplace_back(bytes + 64);
        return memory_.back().data();
    }

    void* made(HpipmLibrary::Size size, HpipmLibrary::SizeOf memory, HpipmLibrary::Create create) {
        void* structure = room(size());
        create(dim_, structure, room(memory(dim_)));
        return structure;
    }

    // Bounds that are infinite are masked.
    void bound(int k, const std::vector<double>& values, HpipmLibrary::Set set, HpipmLibrary::Set mask) {
        if (values.empty()) return;
        finite_.resize(values.size()), masks_.resize(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const bool there = values[i] > -infinite && values[i] < infinite;
            finite_[i] = there ? values[i] : 0.0, masks_[i] = there ? 1.0 : 0.0;
        }
        set(k, finite_.data(), qp_), mask(k, masks_.data(), qp_);
    }

    static constexpr double infinite = 1e20;
    // HPIPM keeps an account of as many iterations as these manners take by default, and has no room for more.
    static constexpr int most_quick = 15, most_careful = 30;

    const HpipmLibrary& library_;
    std::vector<std::vector<std::byte>> memory_;
    std::vector<double> finite_, masks_;
    // Settings and their memory: HPIPM's manner for speed that still judges what is left of the
    // conditions (its absolute form does not: inputs were off by up to 0.8 %), and its balanced one.
    struct Manner {
        void *arguments = nullptr, *workspace = nullptr, *memory = nullptr;
    };
    Manner manners_[2];
    void *dim_ = nullptr, *qp_ = nullptr, *solution_ = nullptr, *solution_memory_ = nullptr;
    int iterations_ = 0;
};

}  // namespace daedalus::programs
