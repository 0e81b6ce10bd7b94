// The exported symbols of the slots: daedalus_flow_00 to daedalus_flow_ff, each with its three derivatives.
#include "flow/flow_slots.hpp"

#include <cstdio>

#if defined(_WIN32)
#define DAEDALUS_EXPORT extern "C" __declspec(dllexport)
#else
#define DAEDALUS_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace daedalus::flows {

FlowSlot& flow_slot(int number) noexcept {
    static FlowSlot slots[flow_slot_count];
    return slots[number];
}

namespace {

constexpr const char* stale =
    "daedalus: this CasADi function holds a flow of another process, or one that is gone; make it again with dd.flow.\n";

// The last argument is the mark of a function's flow; derivatives come without one, beside the function they belong to.
int check_mark(int slot, int count, const char** arguments) noexcept {
    FlowSlot& place = flow_slot(slot);
    if (count < 2 || (place.flow.load(std::memory_order_acquire) && place.mark == arguments[count - 1])) return 0;
    std::fputs(stale, stderr);
    // A function that is refused gives back a reference that it has not taken yet.
    ++place.references;
    return 1;
}

int evaluate_slot(int slot, FlowPart part, const double** arg, double** res) noexcept {
    FlowOwner* flow = flow_slot(slot).flow.load(std::memory_order_acquire);
    if (flow) return evaluate_flow(*flow, part, arg, res);
    std::fputs(stale, stderr);
    return flow_failed;
}

const FlowShape& shape(int slot, FlowPart part) { return flow_slot(slot).shapes[static_cast<int>(part)]; }

const long long* pattern(const std::vector<std::vector<long long>>& patterns, long long i) {
    const auto k = static_cast<std::size_t>(i);
    return k < patterns.size() ? patterns[k].data() : nullptr;
}
const char* name(const std::vector<std::string>& names, long long i) {
    const auto k = static_cast<std::size_t>(i);
    return k < names.size() ? names[k].c_str() : nullptr;
}

}  // namespace

}  // namespace daedalus::flows

using daedalus::flows::FlowPart;

#define DAEDALUS_FLOW_PART(symbol, slot, part)                                                                       \
    DAEDALUS_EXPORT int symbol(const double** arg, double** res, long long*, double*, int) {                         \
        return daedalus::flows::evaluate_slot(slot, part, arg, res);                                                        \
    }                                                                                                                \
    DAEDALUS_EXPORT void symbol##_incref(void) { ++daedalus::flows::flow_slot(slot).references; }                           \
    DAEDALUS_EXPORT void symbol##_decref(void) { --daedalus::flows::flow_slot(slot).references; }                           \
    DAEDALUS_EXPORT int symbol##_config(int count, const char** arguments) {                                         \
        return daedalus::flows::check_mark(slot, count, arguments);                                                  \
    }                                                                                                                \
    DAEDALUS_EXPORT long long symbol##_n_in(void) {                                                                  \
        return static_cast<long long>(daedalus::flows::shape(slot, part).in.size());                                        \
    }                                                                                                                \
    DAEDALUS_EXPORT long long symbol##_n_out(void) {                                                                 \
        return static_cast<long long>(daedalus::flows::shape(slot, part).out.size());                                       \
    }                                                                                                                \
    DAEDALUS_EXPORT const char* symbol##_name_in(long long i) {                                                      \
        return daedalus::flows::name(daedalus::flows::shape(slot, part).names_in, i);                                              \
    }                                                                                                                \
    DAEDALUS_EXPORT const char* symbol##_name_out(long long i) {                                                     \
        return daedalus::flows::name(daedalus::flows::shape(slot, part).names_out, i);                                             \
    }                                                                                                                \
    DAEDALUS_EXPORT const long long* symbol##_sparsity_in(long long i) {                                             \
        return daedalus::flows::pattern(daedalus::flows::shape(slot, part).in, i);                                                 \
    }                                                                                                                \
    DAEDALUS_EXPORT const long long* symbol##_sparsity_out(long long i) {                                            \
        return daedalus::flows::pattern(daedalus::flows::shape(slot, part).out, i);                                                \
    }

#define DAEDALUS_FLOW_SLOT(digits)                                                       \
    DAEDALUS_FLOW_PART(daedalus_flow_##digits, 0x##digits, FlowPart::value)              \
    DAEDALUS_FLOW_PART(jac_daedalus_flow_##digits, 0x##digits, FlowPart::jacobian)       \
    DAEDALUS_FLOW_PART(adj1_daedalus_flow_##digits, 0x##digits, FlowPart::reverse)       \
    DAEDALUS_FLOW_PART(jac_adj1_daedalus_flow_##digits, 0x##digits, FlowPart::second)

#define DAEDALUS_FLOW_ROW(digit)                                                                           \
    DAEDALUS_FLOW_SLOT(digit##0) DAEDALUS_FLOW_SLOT(digit##1) DAEDALUS_FLOW_SLOT(digit##2)                 \
    DAEDALUS_FLOW_SLOT(digit##3) DAEDALUS_FLOW_SLOT(digit##4) DAEDALUS_FLOW_SLOT(digit##5)                 \
    DAEDALUS_FLOW_SLOT(digit##6) DAEDALUS_FLOW_SLOT(digit##7) DAEDALUS_FLOW_SLOT(digit##8)                 \
    DAEDALUS_FLOW_SLOT(digit##9) DAEDALUS_FLOW_SLOT(digit##a) DAEDALUS_FLOW_SLOT(digit##b)                 \
    DAEDALUS_FLOW_SLOT(digit##c) DAEDALUS_FLOW_SLOT(digit##d) DAEDALUS_FLOW_SLOT(digit##e)                 \
    DAEDALUS_FLOW_SLOT(digit##f)

DAEDALUS_FLOW_ROW(0) DAEDALUS_FLOW_ROW(1) DAEDALUS_FLOW_ROW(2) DAEDALUS_FLOW_ROW(3)
DAEDALUS_FLOW_ROW(4) DAEDALUS_FLOW_ROW(5) DAEDALUS_FLOW_ROW(6) DAEDALUS_FLOW_ROW(7)
DAEDALUS_FLOW_ROW(8) DAEDALUS_FLOW_ROW(9) DAEDALUS_FLOW_ROW(a) DAEDALUS_FLOW_ROW(b)
DAEDALUS_FLOW_ROW(c) DAEDALUS_FLOW_ROW(d) DAEDALUS_FLOW_ROW(e) DAEDALUS_FLOW_ROW(f)
