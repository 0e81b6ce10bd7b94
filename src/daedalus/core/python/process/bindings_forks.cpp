// Forks amid threads: CasADi's wrapper, which lets go of Python's lock in every call, is led through the gate of forks.
//
// CasADi holds locks of its own while it works (that of the marks in its expressions during every search for symbols),
// and offers no word to ask for them. But whenever a thread is inside it without Python's lock, its wrapper has called
// PyEval_SaveThread before and calls PyEval_RestoreThread behind: these two entries of the wrapper's table of imported
// functions are made to point here.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "machine/fork_gate.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

#if defined(__linux__) && defined(__LP64__)
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string_view>
#endif

namespace daedalus {

namespace {

#if defined(__linux__) && defined(__LP64__)

PyThreadState* save_thread() {
    PyThreadState* state = PyEval_SaveThread();
    ForkGate::enter();
    return state;
}

void restore_thread(PyThreadState* state) {
    ForkGate::leave();
    PyEval_RestoreThread(state);
}

struct Search {
    const std::string& path;
    int led = 0;
};

// Addresses in the dynamic section: absolute where the loader has moved them, as glibc does; offsets elsewhere.
template <class Place>
Place* address(const dl_phdr_info& library, ElfW(Addr) value) {
    return reinterpret_cast<Place*>(value < library.dlpi_addr ? library.dlpi_addr + value : value);
}

bool replace(void** entry, void* function) {
    if (*entry == function) return true;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(entry) / page * page;
    // Some libraries seal the table when they are loaded; unsealed it stays.
    if (mprotect(reinterpret_cast<void*>(start), page, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(entry, function, __ATOMIC_SEQ_CST);
    return true;
}

int lead_entries(const dl_phdr_info& library) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (int k = 0; k < library.dlpi_phnum; ++k)
        if (library.dlpi_phdr[k].p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[k].p_vaddr);
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    const ElfW(Rela)* tables[2] = {};
    std::size_t sizes[2] = {};
    for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
        const ElfW(Addr) value = dynamic->d_un.d_ptr;
        switch (dynamic->d_tag) {
            case DT_SYMTAB: symbols = address<const ElfW(Sym)>(library, value); break;
            case DT_STRTAB: names = address<const char>(library, value); break;
            case DT_JMPREL: tables[0] = address<const ElfW(Rela)>(library, value); break;
            case DT_RELA: tables[1] = address<const ElfW(Rela)>(library, value); break;
            case DT_PLTRELSZ: sizes[0] = value / sizeof(ElfW(Rela)); break;
            case DT_RELASZ: sizes[1] = value / sizeof(ElfW(Rela)); break;
            default: break;
        }
    }
    if (!symbols || !names) return 0;
    int led = 0;
    for (int which = 0; which < 2; ++which)
        for (std::size_t k = 0; tables[which] && k < sizes[which]; ++k) {
            const ElfW(Rela)& entry = tables[which][k];
            if (!ELF64_R_SYM(entry.r_info) || entry.r_addend) continue;
            const std::string_view name = names + symbols[ELF64_R_SYM(entry.r_info)].st_name;
            void* const function = name == "PyEval_SaveThread"      ? reinterpret_cast<void*>(save_thread)
                                   : name == "PyEval_RestoreThread" ? reinterpret_cast<void*>(restore_thread)
                                                                    : nullptr;
            if (function) led += replace(reinterpret_cast<void**>(library.dlpi_addr + entry.r_offset), function);
        }
    return led;
}

int look_at(dl_phdr_info* library, std::size_t, void* given) {
    auto& search = *static_cast<Search*>(given);
    if (search.path != library->dlpi_name) return 0;
    search.led = lead_entries(*library);
    return 1;
}

// How many entries lead through the gate: none where the library is not loaded or keeps Python's lock anyway.
int lead_through_gate(const std::string& path) {
    Search search{path};
    dl_iterate_phdr(look_at, &search);
    return search.led;
}

#else

// Windows has no forks, and on a Mac Python makes children without them.
int lead_through_gate(const std::string&) { return 0; }

#endif

// CasADi's interpreter is called from runs, which hold no lock of Python: the same functions behind the gate.
InterpreterCode evaluate_outside = nullptr;
int (*checkout_outside)(int) = nullptr;
void (*release_outside)(int, int) = nullptr;

int evaluate(int id, const double** arg, double** res, long long* iw, double* w, int memory) {
    const BehindForkGate behind;
    return evaluate_outside(id, arg, res, iw, w, memory);
}

int checkout(int id) {
    const BehindForkGate behind;
    return checkout_outside(id);
}

void release(int id, int memory) {
    const BehindForkGate behind;
    release_outside(id, memory);
}

using Addresses = std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>;

Addresses behind_gate(std::uintptr_t evaluate_address, std::uintptr_t checkout_address, std::uintptr_t release_address) {
    evaluate_outside = reinterpret_cast<InterpreterCode>(evaluate_address);
    checkout_outside = reinterpret_cast<int (*)(int)>(checkout_address);
    release_outside = reinterpret_cast<void (*)(int, int)>(release_address);
    return {reinterpret_cast<std::uintptr_t>(&evaluate), reinterpret_cast<std::uintptr_t>(&checkout),
            reinterpret_cast<std::uintptr_t>(&release)};
}

bool close_gate(double seconds) {
    const LockReleased released;
    return ForkGate::close(seconds);
}

}  // namespace

void bind_forks(nb::module_& module) {
    using namespace nb::literals;
    module.def("lead_through_fork_gate", lead_through_gate, "path"_a);
    module.def("interpreter_behind_fork_gate", behind_gate, "evaluate_address"_a, "checkout_address"_a, "release_address"_a);
    module.def("close_fork_gate", close_gate, "seconds"_a);
    module.def("pass_over_at_fork_gate", [] { ForkGate::pass_over(); });
    module.def("open_fork_gate", [](bool in_child) {
        if (in_child) ForkGate::forget_others();
        ForkGate::open();
    }, "in_child"_a);
}

}  // namespace daedalus
