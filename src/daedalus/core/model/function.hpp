// A model function behind CasADi's generated-code signature, and one thread's door to it.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "machine/platform.hpp"

namespace daedalus {

using MachineCode = int (*)(const double** arg, double** res, long long* iw, double* w, int mem);
using InterpreterCode = int (*)(int id, const double** arg, double** res, long long* iw, double* w, int mem);
using Callback = int (*)(void* context, void* keeper, const double** arg, double** res);

// What a callback returns when the run must end at once; every other non-zero value is a failed evaluation.
inline constexpr int aborted = -77;

// A symbolic engine that evaluates function number id; memory is checked out for every thread where it offers that.
struct Interpreter {
    InterpreterCode evaluate = nullptr;
    int id = 0;
    int (*checkout)(int id) = nullptr;
    void (*release)(int id, int memory) = nullptr;
};

// Sizes are counts of nonzeros. The machine code may be exchanged while other threads are inside a run.
struct Function {
    std::string name;
    std::vector<long long> size_in, size_out;
    long long sz_arg = 0, sz_res = 0, sz_iw = 0, sz_w = 0;
    std::atomic<MachineCode> machine_code{nullptr};
    std::atomic<const Interpreter*> interpreter{nullptr};
    std::atomic<Callback> callback{nullptr};
    void* context = nullptr;
};

// The pointers one call needs; arg[i] and res[i] are set by the caller, the rest is scratch memory.
struct Call {
    const Function* function = nullptr;
    const double** arg = nullptr;
    double** res = nullptr;
    long long* iw = nullptr;
    double* w = nullptr;
    int memory = 0;
    void* keeper = nullptr;                  // handed to callbacks: where an exception is kept
    int (*without_code)(const Call&) = nullptr;  // the road while there is no machine code
};

inline namespace DAEDALUS_ISA {

DAEDALUS_INLINE int evaluate(const Call& call) noexcept {
    if (const MachineCode code = call.function->machine_code.load(std::memory_order_acquire)) [[likely]]
        return code(call.arg, call.res, call.iw, call.w, call.memory);
    return call.without_code(call);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
