// Passes over the rows of an evaluation, in which every row reads earlier ones: who wrote a place last, how many rows lie
// below each other, and which trees of rows look alike. One pass each, however deep the rows lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace daedalus {

using RowNumbers = std::span<const std::int32_t>;

// first, second: the rows that a row reads, -1 for none; of rows that read nothing (inputs, numbers) they mean something
// else, and reads is 0.
struct EvaluationOrder {
    RowNumbers first, second;
    std::span<const std::uint8_t> reads;

    std::size_t size() const { return first.size(); }
    bool is_in_order() const {
        for (std::size_t k = 0; k < size(); ++k)
            if (reads[k] && (first[k] < 0 || std::size_t(first[k]) >= k || second[k] < -1 ||
                             (second[k] >= 0 && std::size_t(second[k]) >= k)))
                return false;
        return true;
    }
};

// The row that wrote a place of memory last before row k reads it, -1 for places that are not read or never written.
// writes: the place that a row writes, -1 for none; reads: the place that it reads, -1 for none.
inline std::vector<std::int32_t> last_writers(RowNumbers writes, RowNumbers reads) {
    std::int32_t most = -1;
    for (const std::int32_t place : writes) most = std::max(most, place);
    for (const std::int32_t place : reads) most = std::max(most, place);
    std::vector<std::int32_t> writer(std::size_t(most + 1), -1), found(writes.size(), -1);
    for (std::size_t k = 0; k < writes.size(); ++k) {
        if (reads[k] >= 0) found[k] = writer[std::size_t(reads[k])];
        if (writes[k] >= 0) writer[std::size_t(writes[k])] = std::int32_t(k);
    }
    return found;
}

// 0 for a row that reads nothing, else one more than the deepest row that it reads.
inline std::vector<std::int32_t> row_depths(const EvaluationOrder& rows) {
    std::vector<std::int32_t> depth(rows.size(), 0);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (!rows.reads[k]) continue;
        const std::int32_t other = rows.second[k] < 0 ? 0 : depth[std::size_t(rows.second[k])];
        depth[k] = 1 + std::max(depth[std::size_t(rows.first[k])], other);
    }
    return depth;
}

// RowNumbers that depend on some.
inline std::vector<std::uint8_t> dependent_rows(const EvaluationOrder& rows, std::vector<std::uint8_t> found) {
    for (std::size_t k = 0; k < rows.size(); ++k)
        if (rows.reads[k])
            found[k] = found[std::size_t(rows.first[k])] || (rows.second[k] >= 0 && found[std::size_t(rows.second[k])]);
    return found;
}

// RowNumbers that some depend on, these among them.
inline std::vector<std::uint8_t> needed_rows(const EvaluationOrder& rows, std::vector<std::uint8_t> found) {
    for (std::size_t k = rows.size(); k-- > 0;) {
        if (!found[k] || !rows.reads[k]) continue;
        found[std::size_t(rows.first[k])] = 1;
        if (rows.second[k] >= 0) found[std::size_t(rows.second[k])] = 1;
    }
    return found;
}

// The first row of the piece that every chosen row belongs to, -1 for others: chosen rows hang together where one reads
// the other.
inline std::vector<std::int32_t> connected_rows(const EvaluationOrder& rows, std::span<const std::uint8_t> chosen) {
    std::vector<std::int32_t> parent(rows.size(), -1);
    const auto root = [&](std::int32_t k) {
        while (parent[std::size_t(k)] != k) k = parent[std::size_t(k)] = parent[std::size_t(parent[std::size_t(k)])];
        return k;
    };
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (!chosen[k]) continue;
        parent[k] = std::int32_t(k);
        for (const std::int32_t source : {rows.first[k], rows.second[k]}) {
            if (!rows.reads[k] || source < 0 || !chosen[std::size_t(source)]) continue;
            const std::int32_t a = root(std::int32_t(k)), b = root(source);
            parent[std::size_t(std::max(a, b))] = std::min(a, b);
        }
    }
    for (std::size_t k = 0; k < rows.size(); ++k)
        if (chosen[k]) parent[k] = root(std::int32_t(k));
    return parent;
}

struct TreeShapes {
    std::vector<std::uint64_t> shape;
    std::vector<std::int32_t> level;
};

// A number for the tree below every row, which ends at rows that read nothing and at roots, and how many roots lie below
// each other in it. Numbers of different trees are nearly never equal.
// operation: what a row does; leaf: the number of a tree of one row that reads nothing; kept: that of a root as a leaf.
inline TreeShapes tree_shapes(const EvaluationOrder& rows, RowNumbers operation, std::span<const std::int64_t> leaf,
                              std::span<const std::uint8_t> is_root, std::uint64_t kept) {
    const auto mixed = [](std::uint64_t a, std::uint64_t b) {
        const std::uint64_t turned = (a * 0x9E3779B97F4A7C15u) ^ ((b + 0x7F4A7C15u) + (a >> 29));
        return turned * 0xBF58476D1CE4E5B9u;
    };
    TreeShapes found{std::vector<std::uint64_t>(rows.size()), std::vector<std::int32_t>(rows.size(), 0)};
    const auto seen = [&](std::int32_t k) { return is_root[std::size_t(k)] ? kept : found.shape[std::size_t(k)]; };
    const auto above = [&](std::int32_t k) { return found.level[std::size_t(k)] + (is_root[std::size_t(k)] ? 1 : 0); };
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (!rows.reads[k]) {
            found.shape[k] = std::uint64_t(leaf[k]);
            continue;
        }
        const std::int32_t a = rows.first[k], b = rows.second[k];
        found.shape[k] = mixed(mixed(std::uint64_t(operation[k]), seen(a)), b < 0 ? 3u : seen(b));
        found.level[k] = b < 0 ? above(a) : std::max(above(a), above(b));
    }
    return found;
}

}  // namespace daedalus
