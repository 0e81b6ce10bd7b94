// Pairs rows and columns of a sparse pattern: as many as possible, and those with the least sum of costs.
//
// Most pairs: J. E. Hopcroft, R. M. Karp, An n^(5/2) algorithm for maximum matchings in bipartite graphs, SIAM J.
// Comput. 2, 1973. Every phase looks for shortest augmenting paths by layers and takes as many of them as do not touch;
// a row that led nowhere is not entered again in its phase, so that a phase visits every edge at most twice and
// 2 sqrt(pairs) + 2 phases are enough.
//
// Least cost: shortest augmenting paths over reduced costs (J. Edmonds, R. M. Karp, J. ACM 19, 1972; R. Jonker,
// A. Volgenant, Computing 38, 1987). Prices u of rows and v <= 0 of columns keep
//
//   u_i + v_j <= cost_ij,   equal on every pair,   v_j = 0 where column j has no row.
//
// They begin with as many pairs as the cheapest edge of every row allows. Each row left over is then searched from, by
// Dijkstra's method, up to the nearest free column; prices rise by the distances, so that its path has no slack. Costs
// are whole numbers and everything is exact. With n rows and e edges there are at most n searches of e log n steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace daedalus {

// The edges of every row: columns[begin[i] .. begin[i + 1]), in the order in which they were given.
struct BipartiteGraph {
    long long rows = 0, columns = 0;
    std::vector<long long> begin, column;
    std::vector<long long> cost;  // empty where all edges count the same

    long long edges() const { return static_cast<long long>(column.size()); }

    static BipartiteGraph of(long long rows, long long columns, std::span<const std::int64_t> row,
                             std::span<const std::int64_t> column, std::span<const std::int64_t> cost = {}) {
        BipartiteGraph graph{rows, columns, std::vector<long long>(static_cast<std::size_t>(rows) + 1),
                             std::vector<long long>(column.size()), std::vector<long long>(cost.size())};
        for (const std::int64_t i : row) ++graph.begin[i + 1];
        for (long long i = 0; i < rows; ++i) graph.begin[i + 1] += graph.begin[i];
        std::vector<long long> next(graph.begin.begin(), graph.begin.end() - 1);
        for (std::size_t k = 0; k < row.size(); ++k) {
            const long long place = next[row[k]]++;
            graph.column[place] = column[k];
            if (!cost.empty()) graph.cost[place] = cost[k];
        }
        return graph;
    }
};

// As many pairs as possible of the edges that are admitted, from pairs that are there already.
class Matching {
public:
    static constexpr long long none = -1;

    explicit Matching(const BipartiteGraph& graph)
        : graph_(graph),
          column_of_(static_cast<std::size_t>(graph.rows), none),
          row_of_(static_cast<std::size_t>(graph.columns), none),
          layer_(column_of_.size(), none),
          next_(column_of_.size()) {
        queue_.reserve(column_of_.size());
        path_.reserve(column_of_.size());
    }

    const std::vector<long long>& column_of() const { return column_of_; }
    const std::vector<long long>& row_of() const { return row_of_; }
    long long pairs() const { return pairs_; }
    long long phases() const { return phases_; }
    long long visits() const { return visits_; }  // of edges

    // No pairs are added where none can be; all of them have admitted edges if they had before.
    template <class Admitted>
    void enlarge(const Admitted& admitted) {
        while (find_layers(admitted)) {
            ++phases_;
            for (long long row = 0; row < graph_.rows; ++row)
                if (layer_[row] == 0 && column_of_[row] == none) augment_from(row, admitted);
        }
    }

    // Pairs the last row of a path with a free column, its old column with the row before it, and so on to the start.
    void take(long long start, long long row, long long column, const std::vector<long long>& before) {
        while (true) {
            const long long old = column_of_[row];
            column_of_[row] = column;
            row_of_[column] = row;
            if (row == start) break;
            row = before[row];
            column = old;
        }
        ++pairs_;
    }

private:
    // The number of pairs on the shortest alternating path to every row; false where no path reaches a free column.
    template <class Admitted>
    bool find_layers(const Admitted& admitted) {
        queue_.clear();
        for (long long row = 0; row < graph_.rows; ++row) {
            layer_[row] = column_of_[row] == none ? 0 : none;
            if (layer_[row] == 0) queue_.push_back(row);
        }
        long long last = std::numeric_limits<long long>::max();
        for (std::size_t k = 0; k < queue_.size() && layer_[queue_[k]] <= last; ++k) {
            const long long row = queue_[k];
            next_[row] = graph_.begin[row];
            for (long long edge = graph_.begin[row]; edge < graph_.begin[row + 1]; ++edge) {
                ++visits_;
                if (!admitted(row, edge)) continue;
                const long long other = row_of_[graph_.column[edge]];
                if (other == none) {
                    last = layer_[row];
                    break;
                }
                if (layer_[other] == none && layer_[row] < last) {
                    layer_[other] = layer_[row] + 1;
                    queue_.push_back(other);
                }
            }
        }
        // Rows beyond the last layer lead to no shortest path.
        for (std::size_t k = queue_.size(); k > 0 && layer_[queue_[k - 1]] > last; --k) layer_[queue_[k - 1]] = none;
        return last < std::numeric_limits<long long>::max();
    }

    // Follows the layers to a free column, depth first; rows on the path and dead ends leave the layers.
    template <class Admitted>
    void augment_from(long long start, const Admitted& admitted) {
        path_.assign(1, start);
        while (!path_.empty()) {
            const long long row = path_.back();
            if (next_[row] == graph_.begin[row + 1]) {
                layer_[row] = none;
                path_.pop_back();
                if (!path_.empty()) ++next_[path_.back()];
                continue;
            }
            ++visits_;
            const long long edge = next_[row], other = row_of_[graph_.column[edge]];
            if (!admitted(row, edge)) {
                ++next_[row];
            } else if (other == none) {
                return take_path();
            } else if (layer_[other] == layer_[row] + 1) {
                path_.push_back(other);
            } else {
                ++next_[row];
            }
        }
    }

    // Every row of the path takes the column of its edge.
    void take_path() {
        for (const long long row : path_) {
            const long long column = graph_.column[next_[row]];
            column_of_[row] = column;
            row_of_[column] = row;
            layer_[row] = none;
        }
        ++pairs_;
    }

    const BipartiteGraph& graph_;
    std::vector<long long> column_of_, row_of_, layer_, next_;
    std::vector<long long> queue_, path_;
    long long pairs_ = 0, phases_ = 0, visits_ = 0;
};

inline Matching most_pairs(const BipartiteGraph& graph) {
    Matching found(graph);
    found.enlarge([](long long, long long) { return true; });
    return found;
}

// Pairs for all rows with the least sum of costs; there must be some.
class CheapestPairs {
public:
    explicit CheapestPairs(const BipartiteGraph& graph)
        : graph_(graph),
          matching_(graph),
          row_price_(static_cast<std::size_t>(graph.rows)),
          column_price_(static_cast<std::size_t>(graph.columns)),
          distance_(row_price_.size(), far),
          from_(row_price_.size()) {
        // The heap holds a row once for every edge that brought it nearer; it seldom grows beyond this.
        heap_.reserve(row_price_.size());
        nearest_.reserve(row_price_.size());
        reached_.reserve(row_price_.size());
        for (long long row = 0; row < graph.rows; ++row) {
            long long least = far;
            for (long long edge = graph.begin[row]; edge < graph.begin[row + 1]; ++edge)
                least = std::min(least, graph.cost[edge]);
            row_price_[row] = least < far ? least : 0;
        }
    }

    // False where some row is left without a column.
    bool run() {
        const auto tight = [this](long long row, long long edge) { return slack(row, edge) == 0; };
        matching_.enlarge(tight);
        for (long long row = 0; row < graph_.rows; ++row) {
            if (matching_.column_of()[row] != Matching::none) continue;
            ++searches_;
            if (!raise_prices(row)) return false;
            matching_.take(row, last_row_, last_column_, from_);
        }
        return true;
    }

    const Matching& matching() const { return matching_; }
    const std::vector<long long>& row_price() const { return row_price_; }
    const std::vector<long long>& column_price() const { return column_price_; }
    long long searches() const { return searches_; }
    long long visits() const { return visits_ + matching_.visits(); }

private:
    static constexpr long long far = std::numeric_limits<long long>::max();

    long long slack(long long row, long long edge) const {
        return graph_.cost[edge] - row_price_[row] - column_price_[graph_.column[edge]];
    }

    // Shortest distances from a row without a column, up to that of the nearest free column; the slack along its path
    // becomes zero.
    bool raise_prices(long long start) {
        heap_.clear(), nearest_.clear(), reached_.clear();
        reach(start, 0);
        nearest_.push_back(start);
        long long here = 0, end = far;
        while (here < end) {
            while (!nearest_.empty()) {
                const long long row = nearest_.back();
                nearest_.pop_back();
                end = leave(row, here, end);
            }
            here = next_rows(end);
        }
        for (const long long row : reached_) {
            const long long rise = end < far ? std::max(end - distance_[row], 0LL) : 0;
            row_price_[row] += rise;
            const long long column = matching_.column_of()[row];
            if (column != Matching::none) column_price_[column] -= rise;
            distance_[row] = far;
        }
        return end < far;
    }

    void reach(long long row, long long distance) {
        if (distance_[row] == far) reached_.push_back(row);
        distance_[row] = distance;
    }

    // Over the edges of a row to others; the distance of the nearest free column known.
    long long leave(long long row, long long here, long long end) {
        for (long long edge = graph_.begin[row]; edge < graph_.begin[row + 1]; ++edge) {
            ++visits_;
            const long long there = here + slack(row, edge), column = graph_.column[edge];
            if (there >= end) continue;
            const long long other = matching_.row_of()[column];
            if (other == Matching::none) {
                end = there, last_row_ = row, last_column_ = column;
            } else if (there < distance_[other]) {
                reach(other, there);
                from_[other] = row;
                if (there == here) {
                    nearest_.push_back(other);
                } else {
                    heap_.emplace_back(there, other);
                    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
                }
            }
        }
        return end;
    }

    // Takes all rows at the next distance off the heap; without any, or beyond the end, the end.
    long long next_rows(long long end) {
        long long here = end;
        while (!heap_.empty() && (nearest_.empty() || heap_.front().first == here)) {
            const auto [distance, row] = heap_.front();
            if (distance >= end) return end;
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
            if (distance != distance_[row]) continue;
            here = distance;
            nearest_.push_back(row);
        }
        return here;
    }

    const BipartiteGraph& graph_;
    Matching matching_;
    std::vector<long long> row_price_, column_price_, distance_;
    std::vector<long long> from_;  // the row from which the column of a row was reached
    std::vector<std::pair<long long, long long>> heap_;
    std::vector<long long> nearest_, reached_;
    long long last_row_ = Matching::none, last_column_ = Matching::none;
    long long searches_ = 0, visits_ = 0;
};

// Adds a column for every row that no other can take; `alone` is what it costs.
inline BipartiteGraph with_own_columns(const BipartiteGraph& graph, long long alone) {
    BipartiteGraph wide{graph.rows, graph.columns + graph.rows, {0}, {}, {}};
    wide.begin.reserve(graph.begin.size());
    wide.column.reserve(graph.column.size() + static_cast<std::size_t>(graph.rows));
    wide.cost.reserve(wide.column.capacity());
    for (long long row = 0; row < graph.rows; ++row) {
        for (long long edge = graph.begin[row]; edge < graph.begin[row + 1]; ++edge) {
            wide.column.push_back(graph.column[edge]);
            wide.cost.push_back(graph.cost[edge]);
        }
        wide.column.push_back(graph.columns + row);
        wide.cost.push_back(alone);
        wide.begin.push_back(wide.edges());
    }
    return wide;
}

}  // namespace daedalus
