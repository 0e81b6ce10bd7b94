// The flows, compiled once for each instruction set (DAEDALUS_ISA); the best is chosen at import.
#include "flow/flow_tensors.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

FlowKernels flow_kernels() noexcept {
    return {flow_value, flow_first, flow_reverse, flow_second, flow_pull_back, flow_tensors};
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
