// The exported symbols of the slots: daedalus_flow_00 to daedalus_flow_ff, each with its three derivatives.
//
// Ten thousand functions of one jump each: this file knows no more than the calls behind them, and is not optimised.
#include "flow/flow_symbols.hpp"

#if defined(_WIN32)
#define DAEDALUS_EXPORT extern "C" __declspec(dllexport)
#else
#define DAEDALUS_EXPORT extern "C" __attribute__((visibility("default")))
#endif

using namespace daedalus::flows;

#define DAEDALUS_FLOW_PART(symbol, slot, part)                                                                    \
    DAEDALUS_EXPORT int symbol(const double** arg, double** res, long long*, double*, int) {                      \
        return slot_evaluate(slot, part, arg, res);                                                               \
    }                                                                                                             \
    DAEDALUS_EXPORT void symbol##_incref(void) { slot_count(slot, 1); }                                           \
    DAEDALUS_EXPORT void symbol##_decref(void) { slot_count(slot, -1); }                                          \
    DAEDALUS_EXPORT int symbol##_config(int count, const char** arguments) {                                      \
        return slot_config(slot, count, arguments);                                                               \
    }                                                                                                             \
    DAEDALUS_EXPORT long long symbol##_n_in(void) { return slot_n_in(slot, part); }                               \
    DAEDALUS_EXPORT long long symbol##_n_out(void) { return slot_n_out(slot, part); }                             \
    DAEDALUS_EXPORT const char* symbol##_name_in(long long i) { return slot_name_in(slot, part, i); }             \
    DAEDALUS_EXPORT const char* symbol##_name_out(long long i) { return slot_name_out(slot, part, i); }           \
    DAEDALUS_EXPORT const long long* symbol##_sparsity_in(long long i) { return slot_sparsity_in(slot, part, i); } \
    DAEDALUS_EXPORT const long long* symbol##_sparsity_out(long long i) { return slot_sparsity_out(slot, part, i); }

#define DAEDALUS_FLOW_SLOT(digits)                                     \
    DAEDALUS_FLOW_PART(daedalus_flow_##digits, 0x##digits, 0)          \
    DAEDALUS_FLOW_PART(jac_daedalus_flow_##digits, 0x##digits, 1)      \
    DAEDALUS_FLOW_PART(adj1_daedalus_flow_##digits, 0x##digits, 2)     \
    DAEDALUS_FLOW_PART(jac_adj1_daedalus_flow_##digits, 0x##digits, 3)

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
