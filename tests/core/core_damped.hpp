// Checks of how far a correction of Newton's method is followed; part of core_test.cpp.
#pragma once

// atan x = 0 at w, with the factor there.
struct ArcTangent {
    double w, x = 0;
    int trials = 0;
    bool has_values = true;

    double factor() const { return 1 / (1 + w * w); }
    double correction() const { return -std::atan(w) / factor(); }
    void move_to(double part) noexcept { x = w + part * correction(); }
    double size_behind() noexcept {
        ++trials;
        return has_values ? std::fabs(std::atan(x) / factor()) : std::numeric_limits<double>::infinity();
    }
    bool is_small(double, double, double) const noexcept { return false; }
    bool is_stopped() const noexcept { return false; }
};

void followed_corrections() {
    // From 3 the whole correction leads to -9.5 and half of it to -3.2, where the next ones are 14.7 and 12.7 long, for 12.5.
    ArcTangent far{3};
    const Followed found = follow_correction(far, std::fabs(far.correction()), 1, most_halvings);
    CHECK(found.is_shorter && found.part == 0.25 && far.trials == 3);
    CHECK(near(far.x, 3 - 2.5 * std::atan(3.0), 1e-14) && near(found.next, 10 * std::fabs(std::atan(far.x)), 1e-13));
    ArcTangent close{0.5};
    CHECK(follow_correction(close, std::fabs(close.correction()), 1, most_halvings).part == 1 && close.trials == 1);
    // Where the equations have no value the unknowns stay where they were.
    ArcTangent edge{3};
    edge.has_values = false;
    CHECK(!follow_correction(edge, std::fabs(edge.correction()), 1, halvings_of_step).is_shorter);
    CHECK(edge.x == edge.w && edge.trials == halvings_of_step + 1);
}
