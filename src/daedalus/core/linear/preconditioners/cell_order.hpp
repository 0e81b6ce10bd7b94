// Unknowns cell by cell: those of one cell of a field follow each other, and couplings between cells are whole blocks.
//
// Rows without an entry on the diagonal (constraints, the pressure of a flow) have a pivot only through those that they are
// coupled to: they come last in their cell, and cells without any such entry behind all others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// What is added to a pattern, as zeros: nothing, the diagonal, or what makes couplings of cells whole blocks.
enum class Completed { nothing, diagonal, blocks };

// The rows of a matrix in the order of their cells. Row i of the new order is row old[i] of the matrix; entry p of its
// pattern comes from entry source[p], -1: a zero that completes it.
struct CellOrder {
    std::vector<std::int32_t> old, begin, column, source;

    // Whether some row of a pattern has no entry on the diagonal.
    static bool lacks_diagonal(std::int32_t n, const std::int32_t* rows, const std::int32_t* columns) noexcept {
        for (std::int32_t i = 0; i < n; ++i)
            if (!has_diagonal(i, rows, columns)) return true;
        return false;
    }

    // Cells by their numbers, one for each unknown; none: every unknown is a cell of its own.
    [[nodiscard]] bool make(std::int32_t n, const std::int32_t* rows, const std::int32_t* columns, const std::vector<std::int32_t>& cells,
              Completed completed) {
        const bool whole_blocks = completed == Completed::blocks;
        const auto cell_of = [&](std::int32_t i) { return cells.empty() ? i : cells[static_cast<std::size_t>(i)]; };
        sort(n, rows, columns, cell_of, completed);
        Block<std::int32_t> place, first, block, seen, at;
        if (!place.make(n) || !first.make(n + 1) || !block.make(n) || !seen.make(n) || !at.make(n)) return false;
        std::int32_t blocks = 0;
        for (std::int32_t k = 0; k < n; ++k) {
            place[old[k]] = k;
            if (k == 0 || cell_of(old[k]) != cell_of(old[k - 1])) first[blocks++] = k;
            block[k] = blocks - 1;
        }
        first[blocks] = n;
        begin.assign(1, 0), column.clear(), source.clear();
        for (std::int32_t k = 0; k < n; ++k) seen[k] = at[k] = -1;
        std::vector<std::int32_t> met;
        for (std::int32_t b = 0; b < blocks; ++b) {
            met.clear();
            if (whole_blocks) seen[b] = b, met.push_back(b);
            for (std::int32_t k = first[b]; whole_blocks && k < first[b + 1]; ++k)
                for (std::int32_t p = rows[old[k]]; p < rows[old[k] + 1]; ++p) {
                    const std::int32_t other = block[place[columns[p]]];
                    if (seen[other] != b) seen[other] = b, met.push_back(other);
                }
            std::sort(met.begin(), met.end());
            for (std::int32_t k = first[b]; k < first[b + 1]; ++k) {
                const auto from = static_cast<std::ptrdiff_t>(column.size());
                for (std::int32_t p = rows[old[k]]; p < rows[old[k] + 1]; ++p) {
                    at[place[columns[p]]] = p;
                    if (!whole_blocks) column.push_back(place[columns[p]]);
                }
                if (completed == Completed::diagonal && at[k] < 0) column.push_back(k);
                for (const std::int32_t other : met)
                    for (std::int32_t c = first[other]; c < first[other + 1]; ++c) column.push_back(c);
                std::sort(column.begin() + from, column.end());
                for (auto c = column.begin() + from; c != column.end(); ++c) source.push_back(at[*c]);
                for (std::int32_t p = rows[old[k]]; p < rows[old[k] + 1]; ++p) at[place[columns[p]]] = -1;
                begin.push_back(static_cast<std::int32_t>(column.size()));
            }
        }
        return true;
    }

private:
    static bool has_diagonal(std::int32_t i, const std::int32_t* rows, const std::int32_t* columns) noexcept {
        return std::find(columns + rows[i], columns + rows[i + 1], i) != columns + rows[i + 1];
    }

    template <class CellOf>
    void sort(std::int32_t n, const std::int32_t* rows, const std::int32_t* columns, CellOf&& cell_of, Completed completed) {
        old.resize(static_cast<std::size_t>(n));
        for (std::int32_t i = 0; i < n; ++i) old[static_cast<std::size_t>(i)] = i;
        std::stable_sort(old.begin(), old.end(), [&](std::int32_t a, std::int32_t b) { return cell_of(a) < cell_of(b); });
        if (completed == Completed::nothing) return;
        const auto lacks = [&](std::int32_t i) { return !has_diagonal(i, rows, columns); };
        std::vector<std::int32_t> behind, front;
        for (auto from = old.begin(), to = from; from != old.end(); from = to) {
            const std::int32_t cell = cell_of(*from);
            to = std::find_if(from, old.end(), [&](std::int32_t i) { return cell_of(i) != cell; });
            std::stable_partition(from, to, [&](std::int32_t i) { return !lacks(i); });
            std::vector<std::int32_t>& part = lacks(*from) ? behind : front;
            part.insert(part.end(), from, to);
        }
        std::copy(behind.begin(), behind.end(), std::copy(front.begin(), front.end(), old.begin()));
    }

public:
    // How far from the diagonal entries lie.
    std::int32_t bandwidth() const noexcept {
        std::int32_t widest = 0;
        for (std::size_t k = 0; k + 1 < begin.size(); ++k)
            for (std::int32_t p = begin[k]; p < begin[k + 1]; ++p)
                widest = std::max(widest, std::abs(column[static_cast<std::size_t>(p)] - static_cast<std::int32_t>(k)));
        return widest;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
