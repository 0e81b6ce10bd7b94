// How much memory the rows of a run may fill: half of what the machine has, or the container that the process runs in.
#pragma once

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <fstream>
#include <limits>

namespace daedalus {

// The limit of a container, where there is one ("max" is not a number, and older kernels write a huge one).
inline long long memory_of_container() {
    for (const char* name : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(name);
        if (long long bytes = 0; file >> bytes && bytes > 0) return bytes;
    }
    return std::numeric_limits<long long>::max();
}

inline long long memory_of_machine() {
#ifdef _WIN32
    MEMORYSTATUSEX found{};
    found.dwLength = sizeof(found);
    if (!GlobalMemoryStatusEx(&found)) return std::numeric_limits<long long>::max();
    return static_cast<long long>(found.ullTotalPhys);
#else
    const long long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages * page : std::numeric_limits<long long>::max();
#endif
}

inline long long memory_for_rows() {
    static const long long bytes = std::min(memory_of_machine(), memory_of_container()) / 2;
    return bytes;
}

}  // namespace daedalus
