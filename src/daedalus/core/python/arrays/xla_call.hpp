// What XLA hands to a function that it calls, as its foreign function interface lays it out in memory.
//
// The layout is that of version 0.1 of the interface (xla/ffi/api/c_api.h of OpenXLA; jaxlib ships that header). XLA
// asks for the version first, and each structure begins with its size, so that another layout is refused, not misread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace daedalus::xla {

constexpr int major_version = 0, minor_version = 1;
constexpr int float64 = 12, int64 = 5;                    // types of numbers
constexpr int asks_for_version = 1, executes = 3;         // an extension, and a stage
constexpr int invalid_argument = 3, failed = 13;          // codes of errors

struct Extension {
    std::size_t size;
    int type;
    Extension* next;
};

struct Version {
    std::size_t size;
    Extension* extensions;
    int major, minor;
};

struct Metadata {
    std::size_t size;
    Version version;
    std::uint32_t traits;
};

struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

struct Buffer {
    std::size_t size;
    Extension* extensions;
    int type;
    void* data;
    std::int64_t rank;
    std::int64_t* lengths;
};

struct Scalar {
    int type;
    void* value;
};

// Arguments, results and attributes.
struct Values {
    std::size_t size;
    Extension* extensions;
    std::int64_t count;
    int* types;
    void** values;
};

struct Attributes {
    std::size_t size;
    Extension* extensions;
    std::int64_t count;
    int* types;
    void** names;
    void** values;
};

struct Error;

struct ErrorRequest {
    std::size_t size;
    Extension* extensions;
    const char* message;
    int code;
};

// The first entries of XLA's table of functions.
struct Api {
    std::size_t size;
    Extension* extensions;
    Version version;
    const void* internal;
    Error* (*create_error)(ErrorRequest*);
};

struct CallFrame {
    std::size_t size;
    Extension* extensions;
    const Api* api;
    void* context;
    int stage;
    Values arguments, results;
    Attributes attributes;
};

// Whether the frame only asks for the version, which is then filled in.
inline bool tells_version(const CallFrame& frame) {
    if (!frame.extensions || frame.extensions->type != asks_for_version) return false;
    Version& version = reinterpret_cast<MetadataExtension*>(frame.extensions)->metadata->version;
    version.major = major_version, version.minor = minor_version;
    return true;
}

inline Error* error(const CallFrame& frame, int code, const char* message) {
    ErrorRequest request{sizeof(ErrorRequest), nullptr, message, code};
    return frame.api->create_error(&request);
}

inline const Buffer& buffer(const Values& values, int k) { return *static_cast<const Buffer*>(values.values[k]); }

// Numbers before the last `inner` axes: how many cases there are.
inline std::int64_t cases_of(const Buffer& buffer, int inner) {
    std::int64_t count = 1;
    for (std::int64_t axis = 0; axis < buffer.rank - inner; ++axis) count *= buffer.lengths[axis];
    return count;
}

inline std::int64_t numbers_of(const Buffer& buffer) { return cases_of(buffer, 0); }

}  // namespace daedalus::xla
