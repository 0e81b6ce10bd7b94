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

// A search that enters a dead end again and again takes 2^n steps here: n rows of two columns, the last one contested.
void dead_ends() {
    const long long n = 2000;
    std::vector<std::int64_t> row, column;
    for (long long i = 0; i < n; ++i)
        for (long long j = std::max(0LL, i - 2); j <= i; ++j) row.push_back(i), column.push_back(j);
    for (long long j = n - 3; j < n; ++j) row.push_back(n), column.push_back(j);
    const BipartiteGraph graph = BipartiteGraph::of(n + 1, n, row, column);
    const Matching found = most_pairs(graph);
    CHECK(found.pairs() == n);
    CHECK(found.phases() <= 92);
    CHECK(found.visits() <= (2 * found.phases() + 1) * graph.edges());
}

void matchings() {
    drawn_matchings();
    dead_ends();
}
