// Where the C functions of solvers are, by the names of their libraries.
#pragma once

#include "program/fatrop.hpp"
#include "program/hpipm.hpp"
#include "python/python_function.hpp"

namespace daedalus {

using namespace programs;

template <class Pointer>
void point_at(Pointer& pointer, nb::dict addresses, const char* name) {
    pointer = reinterpret_cast<Pointer>(nb::cast<std::uintptr_t>(addresses[name]));
}

inline IpoptLibrary ipopt_at(nb::dict addresses) {
    IpoptLibrary library;
    point_at(library.create, addresses, "CreateIpoptProblem");
    point_at(library.release, addresses, "FreeIpoptProblem");
    point_at(library.set_text, addresses, "AddIpoptStrOption");
    point_at(library.set_number, addresses, "AddIpoptNumOption");
    point_at(library.set_integer, addresses, "AddIpoptIntOption");
    point_at(library.set_iteration, addresses, "SetIntermediateCallback");
    point_at(library.solve, addresses, "IpoptSolve");
    point_at(library.current, addresses, "GetIpoptCurrentIterate");
    return library;
}

inline FatropLibrary fatrop_at(nb::dict addresses) {
    FatropLibrary library;
    point_at(library.create, addresses, "fatrop_ocp_c_create");
    point_at(library.solve, addresses, "fatrop_ocp_c_solve");
    point_at(library.set_double, addresses, "fatrop_ocp_c_set_option_double");
    point_at(library.set_int, addresses, "fatrop_ocp_c_set_option_int");
    point_at(library.primal, addresses, "fatrop_ocp_c_get_primal");
    point_at(library.dual, addresses, "fatrop_ocp_c_get_dual");
    point_at(library.dims, addresses, "fatrop_ocp_c_get_dims");
    point_at(library.stats, addresses, "fatrop_ocp_c_get_stats");
    point_at(library.destroy, addresses, "fatrop_ocp_c_destroy");
    point_at(library.pack, addresses, "blasfeo_pack_dmat");
    return library;
}

inline HpipmLibrary hpipm_at(nb::dict addresses) {
    HpipmLibrary library;
    point_at(library.dim_struct, addresses, "d_ocp_qp_dim_strsize");
    point_at(library.dim_memory, addresses, "d_ocp_qp_dim_memsize");
    point_at(library.dim_create, addresses, "d_ocp_qp_dim_create");
    point_at(library.dim_set_all, addresses, "d_ocp_qp_dim_set_all");
    point_at(library.qp_struct, addresses, "d_ocp_qp_strsize");
    point_at(library.qp_memory, addresses, "d_ocp_qp_memsize");
    point_at(library.qp_create, addresses, "d_ocp_qp_create");
    point_at(library.solution_struct, addresses, "d_ocp_qp_sol_strsize");
    point_at(library.solution_memory, addresses, "d_ocp_qp_sol_memsize");
    point_at(library.solution_create, addresses, "d_ocp_qp_sol_create");
    point_at(library.arguments_struct, addresses, "d_ocp_qp_ipm_arg_strsize");
    point_at(library.arguments_memory, addresses, "d_ocp_qp_ipm_arg_memsize");
    point_at(library.arguments_create, addresses, "d_ocp_qp_ipm_arg_create");
    point_at(library.workspace_struct, addresses, "d_ocp_qp_ipm_ws_strsize");
    point_at(library.workspace_memory, addresses, "d_ocp_qp_ipm_ws_memsize");
    point_at(library.workspace_create, addresses, "d_ocp_qp_ipm_ws_create");
    point_at(library.set_default, addresses, "d_ocp_qp_ipm_arg_set_default");
    point_at(library.set_most_iterations, addresses, "d_ocp_qp_ipm_arg_set_iter_max");
    point_at(library.set_argument, addresses, "d_ocp_qp_ipm_arg_set");
    point_at(library.solve, addresses, "d_ocp_qp_ipm_solve");
    point_at(library.get_status, addresses, "d_ocp_qp_ipm_get_status");
    point_at(library.get_iterations, addresses, "d_ocp_qp_ipm_get_iter");
    point_at(library.get_off_steps, addresses, "d_ocp_qp_ipm_get_max_res_eq");
    point_at(library.get_off_bounds, addresses, "d_ocp_qp_ipm_get_max_res_ineq");
    point_at(library.get_u, addresses, "d_ocp_qp_sol_get_u");
    point_at(library.get_x, addresses, "d_ocp_qp_sol_get_x");
    point_at(library.set_bounded_x, addresses, "d_ocp_qp_set_idxbx");
    point_at(library.set_bounded_u, addresses, "d_ocp_qp_set_idxbu");
    const std::pair<HpipmLibrary::Set*, const char*> setters[] = {
        {&library.set_A, "A"}, {&library.set_B, "B"}, {&library.set_b, "b"}, {&library.set_Q, "Q"},
        {&library.set_S, "S"}, {&library.set_R, "R"}, {&library.set_q, "q"}, {&library.set_r, "r"},
        {&library.set_C, "C"}, {&library.set_D, "D"}, {&library.set_low, "lg"}, {&library.set_high, "ug"},
        {&library.set_lower_x, "lbx"}, {&library.set_upper_x, "ubx"}, {&library.set_lower_u, "lbu"},
        {&library.set_upper_u, "ubu"}, {&library.mask_low, "lg_mask"}, {&library.mask_high, "ug_mask"},
        {&library.mask_lower_x, "lbx_mask"}, {&library.mask_upper_x, "ubx_mask"},
        {&library.mask_lower_u, "lbu_mask"}, {&library.mask_upper_u, "ubu_mask"}};
    for (const auto& [pointer, name] : setters) point_at(*pointer, addresses, (std::string("d_ocp_qp_set_") + name).c_str());
    return library;
}

}  // namespace daedalus
