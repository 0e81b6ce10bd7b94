// Flows that CasADi finds by name: a pool of numbered slots, each a set of exported symbols of this library.
//
// CasADi's external(name, library) looks up name, name_n_in, …, and jac_name, adj1_name, jac_adj1_name for derivatives.
// A slot counts the CasADi functions that refer to it; when none is left its flow may be replaced. A function carries the
// mark of its flow, also in a file: CasADi shows it to name_config, which refuses that of any other flow.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "flow/flow_evaluate.hpp"

namespace daedalus::flows {

inline constexpr int flow_slot_count = 256;

// How CasADi sees one function: patterns in its compressed form (rows, columns, column starts, row numbers).
struct FlowShape {
    std::vector<std::vector<long long>> in, out;
    std::vector<std::string> names_in, names_out;
};

struct FlowSlot {
    std::atomic<FlowOwner*> flow{nullptr};
    std::atomic<int> references{0};
    FlowShape shapes[flow_part_count];
    std::string mark;  // of the present flow, unlike that of any other one in any process
    void* keeper = nullptr;  // what keeps the flow alive; owned by the bindings
};

FlowSlot& flow_slot(int number) noexcept;

}  // namespace daedalus::flows
