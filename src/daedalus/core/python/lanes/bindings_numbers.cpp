// The numbers of step control, of values between steps, of guards, restarts and rest that Python takes over: the core alone
// decides them.
#include "events/limits.hpp"
#include "methods/bdf/bdf_settings.hpp"
#include "methods/explicit/defect.hpp"
#include "methods/implicit/between_nodes.hpp"
#include "methods/implicit/growing_modes.hpp"
#include "methods/implicit/look_between.hpp"
#include "methods/implicit/look_inside.hpp"
#include "methods/rosenbrock/rosenbrock.hpp"
#include "methods/step_control.hpp"
#include "python/python_function.hpp"
#include "run/stepper.hpp"

namespace nb = nanobind;

namespace daedalus {

void bind_numbers(nb::module_& module) {
    nb::dict numbers;
#define DAEDALUS_SHARE(name) numbers[#name] = static_cast<double>(name)
    // Lengths of steps.
    DAEDALUS_SHARE(safety);
    DAEDALUS_SHARE(smallest_error);
    DAEDALUS_SHARE(smallest_counted);
    DAEDALUS_SHARE(fewest_spacings);
    DAEDALUS_SHARE(cut_if_not_finite);
    DAEDALUS_SHARE(stretch);
    numbers["most_growth"] = Rosenbrock::most_growth;
    numbers["most_shrinkage"] = Rosenbrock::most_shrinkage;
    numbers["least_error"] = RosenbrockState::least_error;
    DAEDALUS_SHARE(most_inside);
    DAEDALUS_SHARE(shortest_looked_into);
    DAEDALUS_SHARE(above_rounding);
    DAEDALUS_SHARE(bdf_orders);
    // Values between steps.
    DAEDALUS_SHARE(most_between);
    DAEDALUS_SHARE(worth_mending);
    DAEDALUS_SHARE(worth_mending_alone);
    DAEDALUS_SHARE(worth_refusing);
    DAEDALUS_SHARE(most_in_vain);
    DAEDALUS_SHARE(most_checks);
    DAEDALUS_SHARE(beside_middle);
    DAEDALUS_SHARE(coarse_digits);
    DAEDALUS_SHARE(most_of_defect);
    DAEDALUS_SHARE(reach_of_defect);
    // Rows that are made consistent.
    DAEDALUS_SHARE(most_corrections);
    DAEDALUS_SHARE(most_halvings);
    DAEDALUS_SHARE(shortening);
    DAEDALUS_SHARE(consistent_enough);
    DAEDALUS_SHARE(rounding_enough);
    // Whether stability limits them.
    DAEDALUS_SHARE(stiff_enough);
    DAEDALUS_SHARE(easy_enough);
    DAEDALUS_SHARE(endless);
    DAEDALUS_SHARE(tight);
    DAEDALUS_SHARE(near_edge);
    DAEDALUS_SHARE(far_from_edge);
    DAEDALUS_SHARE(damped);
    // Instants.
    DAEDALUS_SHARE(most_rounds);
    // Guards along a step.
    DAEDALUS_SHARE(guard_samples);
    DAEDALUS_SHARE(foretold);
    DAEDALUS_SHARE(negligible);
    DAEDALUS_SHARE(touch_level);
    DAEDALUS_SHARE(wake_ratio);
    DAEDALUS_SHARE(shortest_look);
    DAEDALUS_SHARE(end_reach);
    DAEDALUS_SHARE(beside_part);
    DAEDALUS_SHARE(cut_corrections);
    // Modes that grow where a state is at rest.
    DAEDALUS_SHARE(rest_in_tolerances);
    DAEDALUS_SHARE(rest_in_digits);
    DAEDALUS_SHARE(grows_at_rest);
    DAEDALUS_SHARE(worth_telling);
#undef DAEDALUS_SHARE
    nb::list places, looks;
    for (const double place : foretelling) places.append(place);
    for (const double look : looks_at_defect) looks.append(look);
    module.attr("shared_numbers") = numbers;
    module.attr("foretelling") = nb::tuple(places);
    module.attr("looks_at_defect") = nb::tuple(looks);
}

}  // namespace daedalus
