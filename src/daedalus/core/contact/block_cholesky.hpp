// Symmetric positive definite equations in blocks of six, one block a body: sparse, in an order that fills in little.
//
// The next body eliminated is always one with the fewest neighbours (D. J. Rose, in Graph Theory and Computing, 1972);
// those neighbours then share entries, whether they touch or not.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace daedalus::contact {

class BlockCholesky {
public:
    static constexpr std::size_t side = 6;
    using Block = std::array<double, side * side>;  // row by row

    // The places of blocks for `count` bodies of which some pairs share entries.
    void arrange(std::size_t count, const std::vector<std::pair<int, int>>& pairs) {
        std::vector<std::vector<int>> near(count);
        for (const auto& [a, b] : pairs) near[index(a)].push_back(b), near[index(b)].push_back(a);
        for (auto& own : near) sort_once(own);
        place_.assign(count, waiting), columns_.assign(count, {}), starts_.assign(count + 1, 0);
        std::vector<int> order;
        for (std::size_t k = 0; k < count; ++k) {
            int next = -1;
            for (std::size_t j = 0; j < count; ++j)
                if (place_[j] == waiting && (next < 0 || near[j].size() < near[index(next)].size())) next = static_cast<int>(j);
            place_[index(next)] = static_cast<int>(k), order.push_back(next);
            const std::vector<int> own = near[index(next)];
            for (const int one : own) {
                auto& list = near[index(one)];
                list.insert(list.end(), own.begin(), own.end());
                sort_once(list);
                std::erase_if(list, [&](int j) { return j == one || j == next; });
            }
        }
        // What a body was near to when it was eliminated stands below it.
        for (std::size_t k = 0; k < count; ++k) {
            for (const int other : near[index(order[k])]) columns_[k].push_back(place_[index(other)]);
            std::sort(columns_[k].begin(), columns_[k].end());
            starts_[k + 1] = starts_[k] + columns_[k].size();
        }
        diagonal_.resize(count), below_.resize(starts_[count]);
    }

    void clear() {
        std::fill(diagonal_.begin(), diagonal_.end(), Block{});
        std::fill(below_.begin(), below_.end(), Block{});
    }

    // Entries over the rows of one body and the columns of another; of two bodies only one of both.
    void add(int row, int column, const Block& by) {
        const std::size_t i = index(place_[index(row)]), j = index(place_[index(column)]);
        Block& to = i == j ? diagonal_[i] : below(std::max(i, j), std::min(i, j));
        for (std::size_t a = 0; a < side; ++a)
            for (std::size_t b = 0; b < side; ++b) (i >= j ? to[side * a + b] : to[side * b + a]) += by[side * a + b];
    }

    // Factors in place; false where the matrix is not positive definite.
    bool factor() {
        for (std::size_t j = 0; j < diagonal_.size(); ++j) {
            if (!factor_of_one(diagonal_[j])) return false;
            const std::vector<int>& rows = columns_[j];
            for (std::size_t k = 0; k < rows.size(); ++k) divide(below_[starts_[j] + k], diagonal_[j]);
            for (std::size_t k = 0; k < rows.size(); ++k) {
                const Block& right = below_[starts_[j] + k];
                const std::size_t column = index(rows[k]);
                take_off(diagonal_[column], right, right);
                std::size_t at = starts_[column];
                const std::vector<int>& there = columns_[column];
                for (std::size_t m = k + 1; m < rows.size(); ++m) {
                    while (there[at - starts_[column]] != rows[m]) ++at;
                    take_off(below_[at], below_[starts_[j] + m], right);
                }
            }
        }
        return true;
    }

    // `x`, six numbers a body, becomes the solution.
    void solve(std::vector<double>& x) const {
        const std::size_t count = diagonal_.size();
        std::vector<double> y(x.size());
        for (std::size_t k = 0; k < count; ++k) std::copy_n(&x[side * k], side, &y[side * index(place_[k])]);
        for (std::size_t j = 0; j < count; ++j) {
            double* const own = &y[side * j];
            for (std::size_t a = 0; a < side; ++a) {
                for (std::size_t b = 0; b < a; ++b) own[a] -= diagonal_[j][side * a + b] * own[b];
                own[a] /= diagonal_[j][side * a + a];
            }
            for (std::size_t k = 0; k < columns_[j].size(); ++k) {
                const Block& block = below_[starts_[j] + k];
                double* const to = &y[side * index(columns_[j][k])];
                for (std::size_t a = 0; a < side; ++a)
                    for (std::size_t b = 0; b < side; ++b) to[a] -= block[side * a + b] * own[b];
            }
        }
        for (std::size_t j = count; j-- > 0;) {
            double* const own = &y[side * j];
            for (std::size_t k = 0; k < columns_[j].size(); ++k) {
                const Block& block = below_[starts_[j] + k];
                const double* const from = &y[side * index(columns_[j][k])];
                for (std::size_t a = 0; a < side; ++a)
                    for (std::size_t b = 0; b < side; ++b) own[b] -= block[side * a + b] * from[a];
            }
            for (std::size_t a = side; a-- > 0;) {
                for (std::size_t b = a + 1; b < side; ++b) own[a] -= diagonal_[j][side * b + a] * own[b];
                own[a] /= diagonal_[j][side * a + a];
            }
        }
        for (std::size_t k = 0; k < count; ++k) std::copy_n(&y[side * index(place_[k])], side, &x[side * k]);
    }

private:
    static constexpr int waiting = -1;

    static std::size_t index(int k) { return static_cast<std::size_t>(k); }
    static void sort_once(std::vector<int>& list) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }

    Block& below(std::size_t row, std::size_t column) {
        const std::vector<int>& rows = columns_[column];
        const auto at = std::lower_bound(rows.begin(), rows.end(), static_cast<int>(row));
        return below_[starts_[column] + static_cast<std::size_t>(at - rows.begin())];
    }

    static bool factor_of_one(Block& own) {
        for (std::size_t j = 0; j < side; ++j) {
            double pivot = own[side * j + j];
            for (std::size_t k = 0; k < j; ++k) pivot -= own[side * j + k] * own[side * j + k];
            if (!(pivot > 0) || !std::isfinite(pivot)) return false;
            own[side * j + j] = std::sqrt(pivot);
            for (std::size_t i = j + 1; i < side; ++i) {
                for (std::size_t k = 0; k < j; ++k) own[side * i + j] -= own[side * i + k] * own[side * j + k];
                own[side * i + j] /= own[side * j + j];
            }
        }
        return true;
    }

    // own L⁻ᵀ
    static void divide(Block& own, const Block& factor) {
        for (std::size_t i = 0; i < side; ++i)
            for (std::size_t j = 0; j < side; ++j) {
                for (std::size_t k = 0; k < j; ++k) own[side * i + j] -= own[side * i + k] * factor[side * j + k];
                own[side * i + j] /= factor[side * j + j];
            }
    }

    // own - a bᵀ
    static void take_off(Block& own, const Block& a, const Block& b) {
        Block turned;
        for (std::size_t i = 0; i < side; ++i)
            for (std::size_t k = 0; k < side; ++k) turned[side * k + i] = b[side * i + k];
        for (std::size_t i = 0; i < side; ++i)
            for (std::size_t k = 0; k < side; ++k) {
                const double by = a[side * i + k];
                for (std::size_t j = 0; j < side; ++j) own[side * i + j] -= by * turned[side * k + j];
            }
    }

    std::vector<int> place_;                 // of each body in the order
    std::vector<std::vector<int>> columns_;  // the rows below each diagonal block
    std::vector<std::size_t> starts_;
    std::vector<Block> diagonal_, below_;
};

}  // namespace daedalus::contact
