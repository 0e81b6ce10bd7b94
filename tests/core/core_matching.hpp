// Checks of pairs of rows and columns without Python: most pairs, least cost, prices; part of core_test.cpp.
#pragma once

// Entries that are there at random, with costs from -3 to 6.
BipartiteGraph drawn_graph(long long rows, long long columns, unsigned density, unsigned seed) {
    std::vector<std::int64_t> row, column, cost;
    for (long long i = 0; i < rows; ++i)
        for (long long j = 0; j < columns; ++j) {
            seed = seed * 1664525u + 1013904223u;
            if ((seed >> 16) % 100 >= density) continue;
            row.push_back(i), column.push_back(j), cost.push_back(static_cast<long long>((seed >> 8) % 10) - 3);
        }
    return BipartiteGraph::of(rows, columns, row, column, cost);
}

// Most pairs and their least cost, by trying everything: (pairs, cost).
std::pair<long long, long long> best_by_trial(const BipartiteGraph& graph, long long row, unsigned taken) {
    if (row == graph.rows) return {0, 0};
    auto best = best_by_trial(graph, row + 1, taken);
    for (long long edge = graph.begin[row]; edge < graph.begin[row + 1]; ++edge) {
        const unsigned bit = 1u << graph.column[edge];
        if (taken & bit) continue;
        auto [pairs, cost] = best_by_trial(graph, row + 1, taken | bit);
        ++pairs, cost += graph.cost[edge];
        if (pairs > best.first || (pairs == best.first && cost < best.second)) best = {pairs, cost};
    }
    return best;
}

void check_prices(const BipartiteGraph& graph, const CheapestPairs& found) {
    for (long long row = 0; row < graph.rows; ++row)
        for (long long edge = graph.begin[row]; edge < graph.begin[row + 1]; ++edge) {
            const long long slack =
                graph.cost[edge] - found.row_price()[row] - found.column_price()[graph.column[edge]];
            CHECK(slack >= 0);
            if (found.matching().column_of()[row] == graph.column[edge]) CHECK(slack == 0);
        }
    for (long long column = 0; column < graph.columns; ++column) {
        CHECK(found.column_price()[column] <= 0);
        if (found.matching().row_of()[column] == Matching::none) CHECK(found.column_price()[column] == 0);
    }
}

void drawn_matchings() {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        const BipartiteGraph graph = drawn_graph(seed % 7, seed % 6 + seed % 2, 20 + seed % 60, seed);
        const auto [pairs, cost] = best_by_trial(graph, 0, 0);
        CHECK(most_pairs(graph).pairs() == pairs);
        const long long alone = 1000;
        const BipartiteGraph wide = with_own_columns(graph, alone);
        CheapestPairs found(wide);
        CHECK(found.run());
        check_prices(wide, found);
        long long sum = 0;
        for (const long long price : found.row_price()) sum += price;
        for (const long long price : found.column_price()) sum += price;
        CHECK(sum == cost + alone * (graph.rows - pairs));
        CheapestPairs narrow(graph);
        CHECK(narrow.run() == (pairs == graph.rows));
    }
}

// Two free rows: one has a single path to a free column, `depth` pairs away; from the other, two ways lead on from each
// of as many layers, and none to an end. A search that enters dead ends again takes 2^depth steps.
void dead_ends() {
    const long long depth = 1000, doubled = 2 * depth;
    std::vector<std::int64_t> row, column;
    const auto enter = [&](long long i, long long j) { row.push_back(i), column.push_back(j); };
    for (long long k = 0; k < doubled; ++k) {
        enter(k, k);
        for (long long j = k - k % 2 + 2; j < std::min(k - k % 2 + 4, doubled); ++j) enter(k, j);
    }
    for (long long k = doubled; k < doubled + depth; ++k) enter(k, k), enter(k, k + 1);
    enter(doubled + depth, 0), enter(doubled + depth, 1);
    enter(doubled + depth + 1, doubled);
    const BipartiteGraph graph = BipartiteGraph::of(doubled + depth + 2, doubled + depth + 1, row, column);
    const Matching found = most_pairs(graph);
    CHECK(found.pairs() == graph.columns);
    CHECK(found.phases() == 2);
    CHECK(found.visits() <= (2 * found.phases() + 1) * graph.edges());
}

void matchings() {
    drawn_matchings();
    dead_ends();
}
