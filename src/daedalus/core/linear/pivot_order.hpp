// Chooses the pivots of a sparse matrix so that elimination stays sparse and stays accurate.
//
// Among the entries a_ij of the matrix left over, that with the least Markowitz cost (r_i - 1)(c_j - 1) is taken if it
// is not small in its row, |a_ij| >= 0.1 max_k |a_ik|, so that nothing grows by more than 11 a step. In long
// chains that may be much in the end: a stricter rule takes none but the largest entry of its row and of its column
// (L. V. Foster, The growth factor and efficiency of Gaussian elimination with rook pivoting, 1997). Only the few shortest
// lines are looked at (Zlatev 1980; Duff, Erisman, Reid, Direct Methods for Sparse Matrices, 2nd ed., ch. 7 and 10). A
// column without a candidate leaves the search until it changes (Suhl and Suhl 1990).
#pragma once

#include <cstdint>
#include <limits>

#include "linear/compact_pattern.hpp"
#include "linear/count_buckets.hpp"
#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Nothing beside the indices.
struct NoValue {};

// Lists of indices, one a line, in one piece of memory; a list that outgrows its room moves to the end.
template <class Value>
class GrowingLines {
public:
    struct Entry {
        std::int32_t index;
        [[no_unique_address]] Value value;
    };

    [[nodiscard]] bool make(long long lines, long long entries) noexcept {
        used_ = 0;
        return begin_.make(lines) && count_.make(lines) && room_.make(lines) && entries_.make(2 * entries + lines);
    }
    // Lines are opened one after the other before the first entry is added.
    void open(std::int32_t line, std::int32_t room) noexcept {
        begin_[line] = used_, count_[line] = 0, room_[line] = room;
        used_ += room;
    }
    [[nodiscard]] bool add(std::int32_t line, Entry entry) noexcept {
        if (count_[line] == room_[line] && !move_to_end(line)) return false;
        entries_[begin_[line] + count_[line]++] = entry;
        return true;
    }
    // The last entry takes the place of the one removed.
    void remove_at(std::int32_t line, std::int32_t place) noexcept {
        Entry* list = of(line);
        list[place] = list[--count_[line]];
    }
    // The place of an index in a line that has it.
    std::int32_t find(std::int32_t line, std::int32_t index) const noexcept {
        const Entry* list = entries_.data() + begin_[line];
        std::int32_t place = 0;
        while (list[place].index != index) ++place;
        return place;
    }
    Entry* of(std::int32_t line) noexcept { return entries_.data() + begin_[line]; }
    std::int32_t count(std::int32_t line) const noexcept { return count_[line]; }

private:
    bool move_to_end(std::int32_t line) noexcept {
        const std::int32_t room = 2 * room_[line] + 2;
        if (!entries_.reserve(used_ + room)) return false;
        for (std::int32_t i = 0; i < count_[line]; ++i) entries_[used_ + i] = entries_[begin_[line] + i];
        begin_[line] = used_, room_[line] = room;
        used_ += room;
        return true;
    }

    long long used_ = 0;
    Block<long long> begin_;
    Block<std::int32_t> count_, room_;
    Block<Entry> entries_;
};

// The pivots in their order, and what elimination in this order fills: step k eliminates from the rows
// lower_rows[lower_begin[k] ..) with a pivot row that has the further columns upper_columns[upper_begin[k] ..).
struct Elimination {
    Block<std::int32_t> pivot_row, pivot_column, lower_rows, upper_columns;
    Block<long long> lower_begin, upper_begin;
};

enum class Choice { made, singular, no_memory };

// What a pivot must be large beside.
enum class PivotRule { by_row, by_row_and_column };

template <class Number>
class PivotOrder {
public:
    // The pivots for a matrix of these values (already scaled), in the order of the pattern.
    static Choice choose(const CompactPattern& matrix, const Number* values, PivotRule rule,
                         Elimination& result) noexcept {
        PivotOrder order(result, rule);
        if (!order.load(matrix, values)) return Choice::no_memory;
        return order.run();
    }

private:
    static constexpr double threshold_of_rows = 0.1, strict_threshold = 1;
    static constexpr int lines_looked_at = 4;

    struct Pivot {
        std::int32_t row = -1, column = -1;
        long long cost = std::numeric_limits<long long>::max();
    };

    PivotOrder(Elimination& result, PivotRule rule)
        : result_(result),
          strict_(rule == PivotRule::by_row_and_column),
          threshold_(strict_ ? strict_threshold : threshold_of_rows) {}

    bool load(const CompactPattern& matrix, const Number* values) noexcept {
        n_ = matrix.n;
        const long long nonzeros = matrix.nonzeros;
        const bool made = rows_.make(n_, nonzeros) && columns_.make(n_, nonzeros) && row_buckets_.make(n_) &&
                          column_buckets_.make(n_) && largest_.make(n_) && column_largest_.make(n_) && place_.make(n_) && seen_.make(n_) &&
                          result_.pivot_row.make(n_) && result_.pivot_column.make(n_) &&
                          result_.lower_begin.make(n_ + 1) && result_.upper_begin.make(n_ + 1) &&
                          result_.lower_rows.reserve(2 * nonzeros) && result_.upper_columns.reserve(2 * nonzeros);
        if (!made) return false;
        for (long long p = 0; p < nonzeros; ++p) ++seen_[matrix.rows[p]];
        for (std::int32_t i = 0; i < n_; ++i) rows_.open(i, seen_[i]);
        for (std::int32_t c = 0; c < n_; ++c) {
            columns_.open(c, matrix.begin[c + 1] - matrix.begin[c]);
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p) {
                const std::int32_t row = matrix.rows[p];
                if (!rows_.add(row, {c, values[p]}) || !columns_.add(c, {row, {}})) return false;
                largest_[row] = larger(magnitude(values[p]), largest_[row]);
            }
        }
        for (std::int32_t i = 0; i < n_; ++i) {
            row_buckets_.add(i, rows_.count(i));
            column_buckets_.add(i, columns_.count(i));
            seen_[i] = -1, place_[i] = -1, column_largest_[i] = unknown;
        }
        return true;
    }

    Choice run() noexcept {
        for (std::int32_t k = 0; k < n_; ++k) {
            const Pivot pivot = search();
            if (pivot.row < 0) return Choice::singular;
            result_.pivot_row[k] = pivot.row, result_.pivot_column[k] = pivot.column;
            result_.lower_begin[k] = lower_count_, result_.upper_begin[k] = upper_count_;
            if (!eliminate(pivot)) return Choice::no_memory;
        }
        result_.lower_begin[n_] = lower_count_, result_.upper_begin[n_] = upper_count_;
        return Choice::made;
    }

    Pivot search() noexcept {
        Pivot best;
        int looked_at = 0;
        for (long long count = 1; count <= n_; ++count) {
            const long long least = (count - 1) * (count - 1);
            std::int32_t next;
            for (std::int32_t c = column_buckets_.first(count); c >= 0; c = next) {
                if (best.cost <= least || (looked_at >= lines_looked_at && best.row >= 0)) return best;
                next = column_buckets_.next(c);
                if (!look_at_column(c, best)) column_buckets_.remove(c);
                ++looked_at;
            }
            for (std::int32_t i = row_buckets_.first(count); i >= 0; i = row_buckets_.next(i)) {
                if (best.cost <= least || (looked_at >= lines_looked_at && best.row >= 0)) return best;
                look_at_row(i, best);
                ++looked_at;
            }
        }
        return best;
    }

    // False: no entry of the column can be a pivot. An entry alone in its column eliminates nothing and may be small.
    bool look_at_column(std::int32_t column, Pivot& best) noexcept {
        const std::int32_t count = columns_.count(column);
        bool possible = false;
        for (std::int32_t e = 0; e < count; ++e) {
            const std::int32_t row = columns_.of(column)[e].index;
            const long long cost = static_cast<long long>(rows_.count(row) - 1) * (count - 1);
            if (cost >= best.cost) {
                possible = true;
                continue;
            }
            const double size = magnitude(rows_.of(row)[rows_.find(row, column)].value);
            if (!(size > 0) || (count > 1 && size < threshold_ * largest_[row])) continue;
            if (strict_ && !is_large_in_column(row, column, size)) continue;
            best = {row, column, cost};
            possible = true;
        }
        return possible;
    }

    void look_at_row(std::int32_t row, Pivot& best) noexcept {
        const std::int32_t count = rows_.count(row);
        const auto* entries = rows_.of(row);
        for (std::int32_t e = 0; e < count; ++e) {
            const double size = magnitude(entries[e].value);
            if (!(size > 0) || size < threshold_ * largest_[row]) continue;
            if (strict_ && !is_large_in_column(row, entries[e].index, size)) continue;
            const long long cost = static_cast<long long>(columns_.count(entries[e].index) - 1) * (count - 1);
            if (cost < best.cost) best = {row, entries[e].index, cost};
        }
    }

    // Alone in its row or its column an entry lets nothing grow.
    bool is_large_in_column(std::int32_t row, std::int32_t column, double size) noexcept {
        const std::int32_t count = columns_.count(column);
        if (count == 1 || rows_.count(row) == 1) return true;
        double& largest = column_largest_[column];
        if (largest == unknown)
            for (std::int32_t e = 0; e < count; ++e) {
                const std::int32_t other = columns_.of(column)[e].index;
                largest = larger(magnitude(rows_.of(other)[rows_.find(other, column)].value), largest);
            }
        return size >= threshold_ * largest;
    }

    bool eliminate(const Pivot& pivot) noexcept {
        if (!detach(pivot)) return false;
        const std::int32_t others = columns_.count(pivot.column);
        if (!result_.lower_rows.reserve(lower_count_ + others)) return false;
        for (std::int32_t e = 0; e < others; ++e) {
            const std::int32_t row = columns_.of(pivot.column)[e].index;
            result_.lower_rows[lower_count_++] = row;
            if (!subtract(pivot.row, row, pivot.column)) return false;
        }
        for (std::int32_t e = 0; e < rows_.count(pivot.row); ++e) {
            const std::int32_t column = rows_.of(pivot.row)[e].index;
            place_[column] = -1, column_largest_[column] = unknown;
            column_buckets_.add(column, columns_.count(column));
        }
        return true;
    }

    // Takes the pivot's row and column out of the matrix left over, and writes the row down.
    bool detach(const Pivot& pivot) noexcept {
        row_buckets_.remove(pivot.row);
        const std::int32_t at = rows_.find(pivot.row, pivot.column);
        inverse_ = reciprocal(rows_.of(pivot.row)[at].value);
        rows_.remove_at(pivot.row, at);
        const std::int32_t count = rows_.count(pivot.row);
        if (!result_.upper_columns.reserve(upper_count_ + count)) return false;
        column_buckets_.remove(pivot.column);
        columns_.remove_at(pivot.column, columns_.find(pivot.column, pivot.row));
        for (std::int32_t e = 0; e < count; ++e) {
            const std::int32_t column = rows_.of(pivot.row)[e].index;
            result_.upper_columns[upper_count_++] = column;
            place_[column] = e;
            column_buckets_.remove(column);
            columns_.remove_at(column, columns_.find(column, pivot.row));
        }
        return true;
    }

    // row <- row - (a / pivot) pivot row; entries that become zero stay in the pattern.
    bool subtract(std::int32_t pivot_row, std::int32_t row, std::int32_t pivot_column) noexcept {
        row_buckets_.remove(row);
        const std::int32_t at = rows_.find(row, pivot_column);
        const Number multiplier = product(rows_.of(row)[at].value, inverse_);
        rows_.remove_at(row, at);
        double largest = 0;
        const std::int32_t count = rows_.count(row);
        auto* entries = rows_.of(row);
        const auto* upper = rows_.of(pivot_row);
        for (std::int32_t e = 0; e < count; ++e) {
            const std::int32_t place = place_[entries[e].index];
            if (place >= 0) {
                entries[e].value = difference(entries[e].value, product(multiplier, upper[place].value));
                seen_[entries[e].index] = row;
            }
            largest = larger(magnitude(entries[e].value), largest);
        }
        for (std::int32_t e = 0; e < rows_.count(pivot_row); ++e) {
            const std::int32_t column = rows_.of(pivot_row)[e].index;
            if (seen_[column] == row) {
                seen_[column] = -1;
                continue;
            }
            const Number filled = difference(Number(0), product(multiplier, rows_.of(pivot_row)[e].value));
            largest = larger(magnitude(filled), largest);
            if (!rows_.add(row, {column, filled}) || !columns_.add(column, {row, {}})) return false;
        }
        largest_[row] = largest;
        row_buckets_.add(row, rows_.count(row));
        return true;
    }

    static constexpr double unknown = -1;

    Elimination& result_;
    const bool strict_;
    const double threshold_;
    std::int32_t n_ = 0;
    long long lower_count_ = 0, upper_count_ = 0;
    Number inverse_ = 0;
    GrowingLines<Number> rows_;
    GrowingLines<NoValue> columns_;
    CountBuckets row_buckets_, column_buckets_;
    Block<double> largest_, column_largest_;  // of each row, and of each column
    Block<std::int32_t> place_, seen_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
