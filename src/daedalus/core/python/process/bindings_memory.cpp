// The seam for memory that was freed and stands idle in the process.
#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

namespace daedalus {

namespace {

// The GNU library keeps what small pieces took; others hand it back by themselves.
void give_back_memory() {
#if defined(__GLIBC__)
    const LockReleased released;
    malloc_trim(0);
#endif
}

}  // namespace

void bind_memory(nb::module_& module) { module.def("give_back_memory", give_back_memory); }

}  // namespace daedalus
