// Newton steps of a program whose variables form a chain: s_0, y_0, s_1, y_1, … , s_K, and a few that all links see.
//
// Every row and every mixed second derivative speaks of one link (s_k, y_k, s_{k+1}) and of the common variables g. From
// the last link on (y_k, s_{k+1}) are eliminated for (s_k, g), at last s_0 and g themselves; then all steps and
// multipliers follow. Variables that do not move, or by a known step, are none of the eliminated ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "machine/instruction_set.hpp"
#include "program/link_kernels.hpp"
#include "program/program.hpp"

namespace daedalus::programs {

// What a Newton step is taken with: everything at one point, in the order of the program.
struct NewtonPoint {
    const double* rows = nullptr;      // by how much each misses what it is held at
    const double* first = nullptr;     // nonzeros of the Jacobian, then the gradient
    const double* hessian = nullptr;
    const char* row_holds = nullptr;   // whether a row is a condition
    const char* is_known = nullptr;    // whether the step of a variable is known
    const double* known_step = nullptr;
};

class Chain {
public:
    // position: 2 k of s_k, 2 k + 1 of y_k, -1 of common variables.
    Chain(const Program& program, std::vector<int> position) : program_(program), position_(std::move(position)) {
        const int last = position_.empty() ? 0 : *std::max_element(position_.begin(), position_.end());
        links_.resize(std::size_t(last + 1) / 2 + 1);
        place_.resize(program.variables), known_.resize(program.variables);
        settle_rows();
        for (std::size_t v = 0; v < program.variables; ++v) links_[link_of(position_[v])].variables.push_back(int(v));
        for (std::size_t e = 0; e < program.hessian_entries; ++e) {
            const int one = position_[std::size_t(program.hessian_rows[e])];
            const int two = position_[std::size_t(program.hessian_columns[e])];
            const std::size_t own = link_of(std::max(one, two));
            check(own, std::min(one, two)), links_[own].curved.push_back(int(e));
        }
    }

    // The step of every variable and the new multipliers of the rows; false where the form has no minimum.
    bool step(const NewtonPoint& at, double* step, double* multipliers) {
        count_open(at);
        std::fill_n(multipliers, program_.rows, 0.0);
        for (std::size_t k = root(); k-- > 0;) {
            assemble(k, at, k + 1 < root() ? &links_[k + 1] : nullptr);
            if (!kernels_.eliminate(links_[k].numbers)) return false;
        }
        assemble(root(), at, root() ? &links_[0] : nullptr);
        if (!kernels_.eliminate(links_[root()].numbers) || !consistent(links_[root()].numbers)) return false;
        go_back(step, multipliers, at);
        return true;
    }

private:
    struct Link {
        std::vector<int> variables, rows, held, curved;  // held: rows that are conditions now
        std::vector<double> memory, by, v;
        std::vector<int> numbers_of_rows;
        LinkNumbers numbers;
    };
    // What is left of the conditions when nothing moves any more may contradict itself by so much.
    static constexpr double contradiction = 1e-6;

    std::size_t root() const { return links_.size() - 1; }
    std::size_t link_of(int position) const {
        return position <= 0 ? root() : std::size_t(position % 2 ? position / 2 : position / 2 - 1);
    }

    void check(std::size_t link, int lowest) const {
        if (link != root() && lowest >= 0 && std::size_t(lowest) < 2 * link)
            throw std::invalid_argument("a row of a program spans several links");
    }

    void settle_rows() {
        std::vector<int> low(program_.rows, -1), high(program_.rows, -1);
        entries_.resize(program_.jacobian_entries), row_begin_.assign(program_.rows + 1, 0);
        for (std::size_t e = 0; e < program_.jacobian_entries; ++e) {
            const auto row = std::size_t(program_.jacobian_rows[e]);
            const int own = position_[std::size_t(program_.jacobian_columns[e])];
            ++row_begin_[row + 1];
            if (own < 0) continue;
            low[row] = low[row] < 0 ? own : std::min(low[row], own), high[row] = std::max(high[row], own);
        }
        for (std::size_t r = 0; r < program_.rows; ++r) {
            row_begin_[r + 1] += row_begin_[r];
            check(link_of(high[r]), low[r]), links_[link_of(high[r])].rows.push_back(int(r));
        }
        std::vector<int> next(row_begin_.begin(), row_begin_.end() - 1);
        for (std::size_t e = 0; e < program_.jacobian_entries; ++e)
            entries_[std::size_t(next[std::size_t(program_.jacobian_rows[e])]++)] = int(e);
    }

    // Numbers the variables that are eliminated, group by group.
    void count_open(const NewtonPoint& at) {
        inner_.assign(links_.size(), 0), separators_.assign(links_.size(), 0), common_ = 0;
        for (std::size_t v = 0; v < program_.variables; ++v) {
            const int own = position_[v];
            known_[v] = at.is_known[v];
            if (known_[v]) continue;
            place_[v] = own < 0 ? common_++ : (own % 2 ? inner_ : separators_)[std::size_t(own / 2)]++;
        }
    }

    // The column of a variable in a link; of a known one that of the constant.
    long long column(std::size_t link, std::size_t v) const {
        const LinkNumbers& own = links_[link].numbers;
        if (known_[v]) return own.width() - 1;
        const int position = position_[v];
        if (position < 0) return own.width() - 1 - common_ + place_[v];
        if (link == root()) return place_[v];
        const int within = position - 2 * int(link);
        return within == 0 ? own.z + place_[v] : within == 1 ? place_[v] : inner_[link] + place_[v];
    }

    void assemble(std::size_t k, const NewtonPoint& at, const Link* behind) {
        Link& link = links_[k];
        LinkNumbers& own = link.numbers;
        own.z = k == root() ? separators_[0] + common_ : inner_[k] + separators_[k + 1];
        own.c = k == root() ? 0 : separators_[k] + common_;
        link.held.clear();
        for (const int row : link.rows)
            if (at.row_holds[row]) link.held.push_back(row);
        own.own_rows = (long long)link.held.size();
        own.rows = own.own_rows + (behind ? behind->numbers.left_rows : 0);
        make_room(link);
        const auto factor = [&](std::size_t v) { return known_[v] ? at.known_step[v] : 1.0; };
        for (std::size_t i = 0; i < link.held.size(); ++i) {
            const auto row = std::size_t(link.held[i]);
            double* to = own.conditions + (long long)i * own.stride;
            to[own.width() - 1] = at.rows[row];
            for (int e = row_begin_[row]; e < row_begin_[row + 1]; ++e) {
                const auto entry = std::size_t(entries_[std::size_t(e)]);
                const auto v = std::size_t(program_.jacobian_columns[entry]);
                to[column(k, v)] += at.first[entry] * factor(v);
            }
        }
        const auto add = [&](long long i, long long j, double value) { own.form[i * own.stride + j] += value; };
        for (const int entry : link.curved) {
            const auto one = std::size_t(program_.hessian_rows[std::size_t(entry)]);
            const auto two = std::size_t(program_.hessian_columns[std::size_t(entry)]);
            const long long i = column(k, one), j = column(k, two);
            const double value = at.hessian[entry] * factor(one) * factor(two);
            add(i, j, value);
            if (one != two) add(j, i, value);
        }
        const double* gradient = at.first + program_.jacobian_entries;
        for (const int v : link.variables)
            if (!known_[std::size_t(v)]) {
                const long long i = column(k, std::size_t(v)), constant = own.width() - 1;
                add(i, constant, gradient[v]), add(constant, i, gradient[v]);
            }
        if (behind) take_over(k, *behind);
    }

    // The form of (s, g, 1) that a link left, and its conditions on them.
    void take_over(std::size_t k, const Link& behind) {
        LinkNumbers& own = links_[k].numbers;
        const LinkNumbers& from = behind.numbers;
        const long long states = from.c - common_, first = k == root() ? 0 : inner_[k];
        map_.resize(std::size_t(from.c) + 1);
        for (long long i = 0; i <= from.c; ++i)
            map_[std::size_t(i)] = i < states ? first + i : own.width() - 1 - (from.c - i);
        for (long long i = 0; i <= from.c; ++i) {
            const double* row = from.reduced + (from.open() + i) * from.stride + from.open();
            double* to = own.form + map_[std::size_t(i)] * own.stride;
            for (long long j = 0; j <= from.c; ++j) to[map_[std::size_t(j)]] += row[j];
        }
        for (long long r = 0; r < from.left_rows; ++r) {
            const double* row = from.conditions + from.left[r] * from.stride + from.z;
            double* to = own.conditions + (own.own_rows + r) * own.stride;
            for (long long j = 0; j <= from.c; ++j) to[map_[std::size_t(j)]] += row[j];
        }
    }

    static void make_room(Link& link) {
        LinkNumbers& own = link.numbers;
        own.stride = (own.width() + 3) / 4 * 4;
        const auto z = std::size_t(own.z), rows = std::size_t(own.rows), width = std::size_t(own.width());
        const auto stride = std::size_t(own.stride);
        const std::size_t cleared = (width + rows) * stride;
        link.memory.resize(std::max(link.memory.size(), cleared + (rows + 2 * z + width) * stride + rows + z));
        std::fill_n(link.memory.begin(), cleared, 0.0);
        double* free = link.memory.data();
        const auto take = [&](std::size_t count) { return std::exchange(free, free + count); };
        own.form = take(width * stride), own.conditions = take(rows * stride), own.ratios = take(rows * stride);
        own.basics = take(z * stride), own.reduced = take(width * stride), own.slopes = take(z * stride);
        own.sizes = take(rows + z);
        link.numbers_of_rows.resize(2 * rows + z + width);
        int* numbers = link.numbers_of_rows.data();
        own.pivot_row = numbers, own.left = numbers + rows, own.pivot_column = numbers + 2 * rows;
        own.others = numbers + 2 * rows + z;
        link.by.assign(rows, 0.0), link.v.assign(width, 0.0);
    }

    static bool consistent(const LinkNumbers& own) {
        for (long long r = 0; r < own.left_rows; ++r)
            if (std::abs(own.conditions[own.left[r] * own.stride + own.width() - 1]) > contradiction * own.sizes[own.left[r]])
                return false;
        return true;
    }

    void go_back(double* step, double* multipliers, const NewtonPoint& at) {
        const auto find = [&](std::size_t k, const Link* before) {
            Link& link = links_[k];
            const LinkNumbers& own = link.numbers;
            link.v[std::size_t(own.width()) - 1] = 1.0;
            if (before) {
                // What the link before found of (s, g) and of the multipliers that were handed on.
                for (long long i = 0; i < own.c; ++i) {
                    const LinkNumbers& from = before->numbers;
                    const long long states = own.c - common_, first = before == &links_[root()] ? 0 : inner_[k - 1];
                    link.v[std::size_t(own.z + i)] =
                        before->v[std::size_t(i < states ? first + i : from.width() - 1 - (own.c - i))];
                }
                for (long long r = 0; r < own.left_rows; ++r)
                    link.by[std::size_t(own.left[r])] = before->by[std::size_t(before->numbers.own_rows + r)];
            }
            work_.resize(std::max(work_.size(), std::size_t(own.stride)));
            kernels_.substitute(own, link.v.data(), link.by.data(), work_.data());
            for (const int v : link.variables)
                step[v] = known_[std::size_t(v)] ? at.known_step[v] : link.v[std::size_t(column(k, std::size_t(v)))];
            for (std::size_t i = 0; i < link.held.size(); ++i) multipliers[link.held[i]] = link.by[i];
        };
        find(root(), nullptr);
        for (std::size_t k = 0; k < root(); ++k) find(k, k ? &links_[k - 1] : &links_[root()]);
    }

    const Program& program_;
    std::vector<int> position_, entries_, row_begin_, place_;
    std::vector<char> known_;
    std::vector<int> inner_, separators_;  // how many of each group are eliminated
    int common_ = 0;
    std::vector<Link> links_;  // the last one is that of s_0 and g
    std::vector<long long> map_;
    std::vector<double> work_;
    LinkKernels kernels_ = DAEDALUS_BEST(link_kernels());
};

}  // namespace daedalus::programs
