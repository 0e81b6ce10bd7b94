// A state and its covariance carried over an interval, in steps that both agree with: one step against two halves.
//
//   x' = f(t, x, u),  P' = A P + P Aᵀ + Q,  A = ∂f/∂x along x(t); Q projected onto what the model keeps, Π Q Πᵀ
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "flow/gathered_noise.hpp"
#include "flow/stiff_noise_step.hpp"

namespace daedalus::flows {

// What is asked of the steps. fine: how much better two short steps are than one, 2^order − 1.
struct NoisySettings {
    double rtol, atol, covariance_rtol, fine, first;
    long long most;
    bool stiff;
};

// Where a step and its halves look at A and Q, as shares of the step, and which of these places belong to each.
struct NoisyNodes {
    std::vector<double> at;
    std::array<int, 3> whole, first, second;

    static NoisyNodes plain() { return {{0, 0.5, 1, 0.25, 0.75}, {0, 1, 2}, {0, 3, 1}, {1, 4, 2}}; }
    static NoisyNodes collocated() {
        const auto [a, b, end] = StiffNoiseSteps::nodes();
        return {{0, 0.5, end, a, b, a / 2, b / 2, (1 + a) / 2, (1 + b) / 2}, {3, 4, 2}, {5, 6, 1}, {7, 8, 2}};
    }
};

// Way has `n()`, `keeps()`, `end(t, length, x)` and `projector(t, x, out)`; slopes(t, x, out) writes A. Both may fail.
template <class Way, class Slopes>
class NoisyInterval {
public:
    NoisyInterval(Way& way, Slopes& slopes, const double* density)
        : way_(way), slopes_(slopes), density_(density), steps_(way.n()), stiff_steps_(way.n()),
          n_(static_cast<std::size_t>(way.n())), nodes_(most_nodes) {
        for (Node& node : nodes_) {
            node.x.resize(n_);
            for (auto* each : {&node.A, &node.Q, &node.projector}) each->resize(steps_.square());
        }
    }

    // Where it leads; false where no step short enough is found among so many.
    bool carry(double t, double length, const double* x, const double* P, const NoisySettings& settings) {
        const double end = t + length;
        places_ = settings.stiff ? NoisyNodes::collocated() : NoisyNodes::plain();
        stiff_ = settings.stiff;
        covariance.assign(P, P + steps_.square());
        whole.transition.assign(steps_.square(), 0.0), whole.noise.assign(steps_.square(), 0.0);
        for (std::size_t k = 0; k < n_; ++k) whole.transition[k * n_ + k] = 1.0;
        std::copy_n(x, n_, nodes_[0].x.begin());
        if (!look(t, nodes_[0])) return false;
        if (way_.keeps()) {
            steps_.join(whole, onto(nodes_[0]), whole);
            steps_.carry(whole, P, covariance.data());
        }
        largest_.assign(n_, 0.0), note_largest();
        step = settings.first;
        double done = 0;
        for (long long count = 0; done < length; ++count) {
            if (count >= settings.most || !(step > shortest * length)) return false;
            const bool ends = done + step >= length * (1 - 1e-12);
            const double h = ends ? length - done : step, begin = ends ? end - h : t + done;
            const double error = tried(begin, h, settings);
            if (error <= 1) {
                done = ends ? length : done + h;
                accept();
            }
            // Of order 5 in the covariance; the state does not ask for more.
            const double factor = error > 0 ? 0.9 * std::pow(error, -0.2) : 4.0;
            const double next = h * std::clamp(factor, 0.1, 4.0);
            step = error <= 1 && ends ? std::max(step, next) : next;
        }
        return true;
    }

    const std::vector<double>& state() const { return nodes_[0].x; }
    std::vector<double> covariance;
    NoiseStep whole;
    double step = 0;

private:
    struct Node {
        std::vector<double> x, A, Q, projector;
    };

    // A and Q at a node whose x is known.
    bool look(double t, Node& node) {
        if (!slopes_(t, node.x.data(), node.A.data())) return false;
        node.Q.assign(density_, density_ + steps_.square());
        if (!way_.keeps()) return true;
        if (!way_.projector(t, node.x.data(), node.projector.data())) return false;
        none_.assign(steps_.square(), 0.0);
        carry_covariance(way_.n(), node.projector.data(), density_, none_.data(), work_, node.Q.data());
        return true;
    }

    // A step over no time that takes out the directions which the model keeps.
    const NoiseStep& onto(const Node& node) {
        onto_.transition = node.projector, onto_.noise.assign(steps_.square(), 0.0);
        return onto_;
    }

    Node& node(int k) { return nodes_[static_cast<std::size_t>(k)]; }

    NoiseSteps::Nodes at(const std::array<int, 3>& nodes) {
        const Node *a = &node(nodes[0]), *b = &node(nodes[1]), *c = &node(nodes[2]);
        return {{a->A.data(), b->A.data(), c->A.data()}, {a->Q.data(), b->Q.data(), c->Q.data()}};
    }

    // The state at a node, from the beginning of the step or its middle, with A and Q there.
    bool go(double t, double h, int to) {
        const double share = places_.at[static_cast<std::size_t>(to)];
        const int from = share > 0.5 ? middle : 0;
        const double begin = from == middle ? 0.5 : 0.0;
        const double* next = way_.end(t + begin * h, (share - begin) * h, node(from).x.data());
        if (!next) return false;
        std::copy_n(next, n_, node(to).x.begin());
        return look(t + share * h, node(to));
    }

    // The error of a step in tolerances, with what it leads to; more than 1 where it has to be shorter.
    double tried(double t, double h, const NoisySettings& settings) {
        const double* coarse = way_.end(t, h, node(0).x.data());
        if (!coarse) return failed;
        coarse_.assign(coarse, coarse + n_);
        if (!go(t, h, middle) || !go(t, h, last)) return failed;
        double error = 0;
        for (std::size_t k = 0; k < n_; ++k) {
            const double off = std::abs(node(last).x[k] - coarse_[k]) / settings.fine;
            error = std::max(error, off / (settings.atol + settings.rtol * std::abs(node(last).x[k])));
        }
        if (!std::isfinite(error)) return failed;
        return error > 1 ? error : std::max(error, covariance_error(t, h, settings.covariance_rtol));
    }

    // One step against its halves, which see A and Q at other times too. Where these never change one step is exact.
    double covariance_error(double t, double h, double rtol) {
        for (int k = last + 1; k < static_cast<int>(places_.at.size()); ++k)
            if (!go(t, h, k)) return failed;
        if (steps_.constant(at({0, middle, last})) && steps_.constant(at(places_.first)) &&
            steps_.constant(at(places_.second))) {
            if (!steps_.step(h, at({0, middle, last}), fine_)) return failed;
            carried(fine_, carried_);
            return 0.0;
        }
        if (!made(h, places_.whole, fine_)) return failed;
        carried(fine_, other_);
        if (!made(0.5 * h, places_.first, first_) || !made(0.5 * h, places_.second, second_)) return failed;
        steps_.join(first_, second_, fine_);
        carried(fine_, carried_);
        return difference(15 * rtol);  // halves of order 4 are so much better than the whole
    }

    bool made(double h, const std::array<int, 3>& nodes, NoiseStep& out) {
        return stiff_ ? stiff_steps_.step(h, at(nodes), out) : steps_.step(h, at(nodes), out);
    }

    void carried(NoiseStep& step, std::vector<double>& out) {
        if (way_.keeps()) steps_.join(step, onto(node(last)), step);
        out.resize(steps_.square());
        steps_.carry(step, covariance.data(), out.data());
    }

    // Of two covariances, by the deviations that they tell of, or a hundredth of the largest so far.
    double difference(double rtol) const {
        double error = 0;
        const auto variance = [this](std::size_t k) { return std::max(carried_[k * n_ + k], 1e-4 * largest_[k]); };
        for (std::size_t r = 0; r < n_; ++r)
            for (std::size_t c = 0; c <= r; ++c) {
                const double size = std::sqrt(variance(r) * variance(c));
                const double off = std::abs(carried_[r * n_ + c] - other_[r * n_ + c]);
                if (size > 0) error = std::max(error, off / (rtol * size));
            }
        return std::isfinite(error) ? error : failed;
    }

    void accept() {
        covariance = carried_;
        steps_.join(whole, fine_, whole);
        std::swap(node(0), node(last));
        note_largest();
    }

    void note_largest() {
        for (std::size_t k = 0; k < n_; ++k) largest_[k] = std::max(largest_[k], covariance[k * n_ + k]);
    }

    static constexpr int middle = 1, last = 2;  // of the places
    static constexpr std::size_t most_nodes = 9;
    static constexpr double failed = 1e10, shortest = 1e-14;  // an error; a share of the interval

    Way& way_;
    Slopes& slopes_;
    const double* density_;
    NoiseSteps steps_;
    StiffNoiseSteps stiff_steps_;
    std::size_t n_;
    std::vector<Node> nodes_;
    NoisyNodes places_;
    bool stiff_ = false;
    std::vector<double> coarse_, carried_, other_, largest_, none_, work_;
    NoiseStep first_, second_, fine_, onto_;
};

}  // namespace daedalus::flows
