// What the exported symbols of the slots do (flow_symbols.cpp).
#include "flow/flow_slots.hpp"

#include <cstdio>

#include "flow/flow_symbols.hpp"

namespace daedalus::flows {

FlowSlot& flow_slot(int number) noexcept {
    static FlowSlot slots[flow_slot_count];
    return slots[number];
}

namespace {

constexpr const char* stale =
    "daedalus: this CasADi function holds a flow of another process, or one that is gone; make it again with dd.flow.\n";

const FlowShape& shape(int slot, int part) { return flow_slot(slot).shapes[part]; }

const long long* pattern(const std::vector<std::vector<long long>>& patterns, long long i) {
    const auto k = static_cast<std::size_t>(i);
    return k < patterns.size() ? patterns[k].data() : nullptr;
}
const char* name(const std::vector<std::string>& names, long long i) {
    const auto k = static_cast<std::size_t>(i);
    return k < names.size() ? names[k].c_str() : nullptr;
}

}  // namespace

int slot_evaluate(int slot, int part, const double** arg, double** res) noexcept {
    FlowOwner* flow = flow_slot(slot).flow.load(std::memory_order_acquire);
    if (flow) return evaluate_flow(*flow, static_cast<FlowPart>(part), arg, res);
    std::fputs(stale, stderr);
    return flow_failed;
}

// The last argument is the mark of a function's flow; derivatives come without one, beside the function they belong to.
int slot_config(int slot, int count, const char** arguments) noexcept {
    FlowSlot& place = flow_slot(slot);
    if (count < 2 || (place.flow.load(std::memory_order_acquire) && place.mark == arguments[count - 1])) return 0;
    std::fputs(stale, stderr);
    // A function that is refused gives back a reference that it has not taken yet.
    ++place.references;
    return 1;
}

void slot_count(int slot, int change) noexcept { flow_slot(slot).references += change; }

long long slot_n_in(int slot, int part) noexcept { return static_cast<long long>(shape(slot, part).in.size()); }
long long slot_n_out(int slot, int part) noexcept { return static_cast<long long>(shape(slot, part).out.size()); }

const char* slot_name_in(int slot, int part, long long i) noexcept { return name(shape(slot, part).names_in, i); }
const char* slot_name_out(int slot, int part, long long i) noexcept { return name(shape(slot, part).names_out, i); }

const long long* slot_sparsity_in(int slot, int part, long long i) noexcept { return pattern(shape(slot, part).in, i); }
const long long* slot_sparsity_out(int slot, int part, long long i) noexcept { return pattern(shape(slot, part).out, i); }

}  // namespace daedalus::flows
