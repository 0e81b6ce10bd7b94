// Bodies with shapes as Python sees them: contacts at a placement, and velocities behind their impulses.
#include "contact/world.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_arrays.hpp"
#include "python/python_function.hpp"

namespace nb = nanobind;

namespace daedalus {
namespace {

using contact::Law;
using contact::JointRow;
using contact::Matrix3;
using contact::ContactPoint;
using contact::Shape;
using contact::Twist;
using contact::Vector3;
using contact::World;
using contact::read3;
using contact::read9;
using Whole = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

// Columns of each argument for one entry.
constexpr long long LAW = 7, POSE = 7, TWIST = 6;

void check(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

struct ContactWorld {
    World world;

    ContactWorld(nb::handle inverse_mass, nb::handle inverse_inertia, Whole kinds, Whole owners, nb::handle sizes,
                 nb::handle places, nb::handle turns, nb::handle laws, Whole law_of) {
        const Doubles mass(inverse_mass), inertia(inverse_inertia), size(sizes), at(places), turn(turns), law(laws);
        const std::size_t bodies = static_cast<std::size_t>(mass.size() / 3), shapes = kinds.size();
        check(inertia.size() == static_cast<long long>(9 * bodies), "one inertia a body");
        check(owners.size() == shapes && size.size() == static_cast<long long>(3 * shapes) &&
                  at.size() == static_cast<long long>(3 * shapes) && turn.size() == static_cast<long long>(9 * shapes) &&
                  law_of.size() == shapes * shapes,
              "one entry a shape");
        for (std::size_t k = 0; k < bodies; ++k) {
            world.inverse_mass.push_back(read3(mass.data() + 3 * k));
            world.inverse_inertia.push_back(read9(inertia.data() + 9 * k));
        }
        for (std::size_t k = 0; k < shapes; ++k) {
            check(kinds.data()[k] >= 0 && kinds.data()[k] <= static_cast<int>(contact::ShapeKind::ellipsoid), "a kind of shape");
            check(owners.data()[k] < static_cast<std::int64_t>(bodies), "a body");
            world.shapes.push_back(Shape{static_cast<contact::ShapeKind>(kinds.data()[k]), static_cast<int>(owners.data()[k]),
                                         read3(size.data() + 3 * k), read3(at.data() + 3 * k), read9(turn.data() + 9 * k)});
        }
        for (long long k = 0; k + LAW <= law.size(); k += LAW) {
            const double* const l = law.data() + k;
            world.laws.push_back(Law{l[0], l[1], l[2], l[3], read3(l + 4)});
        }
        for (std::size_t k = 0; k < law_of.size(); ++k) {
            check(law_of.data()[k] < static_cast<std::int64_t>(world.laws.size()), "a law");
            world.law_of.push_back(static_cast<int>(law_of.data()[k]));
        }
    }

    std::size_t place(nb::handle poses, double limit, double share) {
        const Doubles given(poses);
        check(given.size() == POSE * static_cast<long long>(world.inverse_mass.size()), "one pose a body");
        const LockReleased free;
        world.place(given.data(), limit);
        for (ContactPoint& p : world.problem.points) p.impulse = share * p.impulse, p.twist_impulse = share * p.twist_impulse;
        return world.problem.points.size();
    }

    // Rows over (v in the world, ω in the body) of bodies: row k has the entries from begins[k] on.
    void joints(Whole begins, Whole bodies, nb::handle entries, nb::handle targets) {
        const Doubles entry(entries), target(targets);
        std::vector<JointRow>& links = world.problem.links;
        links.clear();
        for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
            JointRow link;
            link.target = target.data()[k];
            for (std::int64_t e = begins.data()[k]; e < begins.data()[k + 1]; ++e) {
                const int body = static_cast<int>(bodies.data()[e]);
                link.bodies.push_back(body);
                link.linear.push_back(read3(entry.data() + TWIST * e));
                link.angular.push_back(world.turns[static_cast<std::size_t>(body)] * read3(entry.data() + TWIST * e + 3));
            }
            links.push_back(std::move(link));
        }
    }

    // Rows behind those of joints whose impulses have limits: coefficients and velocities by a unit impulse, each over
    // (v in the world, ω in the body) of all bodies; target, low and high of each.
    void limits(nb::handle coefficients, nb::handle moves, nb::handle ranges) {
        const Doubles entry(coefficients), moved(moves), range(ranges);
        const long long width = TWIST * static_cast<long long>(world.turns.size()), rows = range.size() / 3;
        check(entry.size() == rows * width && moved.size() == rows * width, "one entry a row, body and component");
        for (long long k = 0; k < rows; ++k) {
            JointRow link;
            link.target = range.data()[3 * k], link.low = range.data()[3 * k + 1], link.high = range.data()[3 * k + 2];
            for (std::size_t body = 0; body < world.turns.size(); ++body) {
                const long long at = k * width + TWIST * static_cast<long long>(body);
                link.bodies.push_back(static_cast<int>(body));
                link.linear.push_back(read3(entry.data() + at));
                link.angular.push_back(world.turns[body] * read3(entry.data() + at + 3));
                link.moves.push_back({read3(moved.data() + at), world.turns[body] * read3(moved.data() + at + 3)});
            }
            world.problem.links.push_back(std::move(link));
        }
    }
    nb::object link_impulses() const {
        const std::vector<JointRow>& links = world.problem.links;
        nb::object out = empty_in_numpy({links.size()});
        double* const to = const_cast<double*>(Doubles(out).data());
        for (std::size_t k = 0; k < links.size(); ++k) to[k] = links[k].impulse;
        return out;
    }

    // Twists (v in the world, ω in the body) of all bodies by unit wrenches of that kind, where joints couple them.
    void couple(nb::handle matrix) {
        const Doubles given(matrix);
        const std::size_t width = TWIST * world.inverse_mass.size();
        check(given.size() == static_cast<long long>(width * width) && world.turns.size() == world.inverse_mass.size(),
              "a square matrix over bodies that were placed");
        std::vector<double>& to = world.problem.coupled;
        to.assign(given.data(), given.data() + width * width);
        for (std::size_t k = 0; k < width; k += 3) {
            const bool turns_k = k % TWIST != 0;
            for (std::size_t j = 0; j < width; j += 3) {
                Matrix3 block;
                for (int a = 0; a < 3; ++a)
                    for (int b = 0; b < 3; ++b) block(a, b) = to[(k + static_cast<std::size_t>(a)) * width + j + static_cast<std::size_t>(b)];
                if (turns_k) block = world.turns[k / TWIST] * block;
                if (j % TWIST != 0) block = block * transposed(world.turns[j / TWIST]);
                for (int a = 0; a < 3; ++a)
                    for (int b = 0; b < 3; ++b) to[(k + static_cast<std::size_t>(a)) * width + j + static_cast<std::size_t>(b)] = block(a, b);
            }
        }
    }

    void read_twists(nb::handle twists) {
        const Doubles given(twists);
        const std::size_t bodies = world.inverse_mass.size();
        check(given.size() == static_cast<long long>(TWIST * static_cast<long long>(bodies)), "one twist a body");
        check(world.turns.size() == bodies, "bodies that were placed");
        world.problem.twists.resize(bodies);
        for (std::size_t k = 0; k < bodies; ++k)
            world.problem.twists[k] = Twist{read3(given.data() + TWIST * static_cast<long long>(k)),
                                            world.turns[k] * read3(given.data() + TWIST * static_cast<long long>(k) + 3)};
    }

    nb::tuple solve(nb::handle twists, nb::handle bounds, bool frictional, double tolerance, int sweeps, int newton,
                    std::size_t largest, int at_a_time, nb::handle shifts) {
        read_twists(twists);
        const Doubles bound(bounds);
        // Velocities that come on top, in the world.
        const bool shifted = !shifts.is_none();
        std::vector<Vector3> shift(world.problem.points.size());
        if (shifted) {
            const Doubles given(shifts);
            check(given.size() == static_cast<long long>(3 * shift.size()), "one shift a contact");
            for (std::size_t k = 0; k < shift.size(); ++k) shift[k] = read3(given.data() + 3 * k);
        }
        std::vector<ContactPoint>& points = world.problem.points;
        check(bound.size() == static_cast<long long>(points.size()), "one bound a contact");
        // Contacts with a bound of -inf take no part.
        std::vector<ContactPoint> idle;
        std::vector<std::size_t> taking;
        std::vector<ContactPoint> part;
        for (std::size_t k = 0; k < points.size(); ++k) {
            ContactPoint p = points[k];
            p.bound = bound.data()[k];
            if (shifted) p.slip += shift[k];
            if (!frictional) p.friction = p.rolling = p.spinning = 0.0, p.slip = {};
            const double most = p.friction * p.impulse.x, length = std::hypot(p.impulse.y, p.impulse.z);
            if (length > most) {
                const double by = length > 0 ? most / length : 0.0;
                p.impulse.y *= by, p.impulse.z *= by;
            }
            if (std::isinf(p.bound)) continue;
            taking.push_back(k);
            part.push_back(p);
        }
        contact::ConeSolution told;
        {
            const LockReleased free;
            std::vector<ContactPoint> all = points;
            for (ContactPoint& p : all) p.impulse = p.twist_impulse = {};
            points.swap(part);
            told = world.problem.solve(tolerance, sweeps, newton, largest, at_a_time);
            for (std::size_t k = 0; k < taking.size(); ++k) {
                all[taking[k]].impulse = points[k].impulse;
                all[taking[k]].twist_impulse = points[k].twist_impulse;
            }
            points.swap(all);
        }
        const std::size_t bodies = world.inverse_mass.size();
        nb::object out = empty_in_numpy({bodies, std::size_t(TWIST)});
        double* const to = const_cast<double*>(Doubles(out).data());
        for (std::size_t k = 0; k < bodies; ++k) {
            const Twist& own = world.problem.twists[k];
            const Vector3 w = contact::turned_back(world.turns[k], own.w);
            for (int i = 0; i < 3; ++i) to[TWIST * static_cast<long long>(k) + i] = own.v[i], to[TWIST * static_cast<long long>(k) + 3 + i] = w[i];
        }
        return nb::make_tuple(out, told.residual, told.sweeps, told.newton, told.converged, world.problem.scale());
    }

    // Rows of (normal, tangential) velocities of the contacts at given twists.
    nb::object velocities(nb::handle twists) {
        read_twists(twists);
        return rows(3, [&](const ContactPoint& p, double* to) {
            const Vector3 u = world.problem.velocity(p);
            to[0] = u.x, to[1] = u.y, to[2] = u.z;
        });
    }

    nb::object velocities_in_world(nb::handle twists) {
        read_twists(twists);
        return rows(3, [&](const ContactPoint& p, double* to) {
            const Vector3 u = world.problem.velocity_in_world(p);
            to[0] = u.x, to[1] = u.y, to[2] = u.z;
        });
    }

    // The work of each contact's impulses on what touches there: that by the mean of the velocities before and behind them.
    nb::object work(nb::handle before, nb::handle after) {
        const std::vector<ContactPoint>& points = world.problem.points;
        std::vector<double> sums(points.size(), 0.0);
        for (const nb::handle& twists : {before, after}) {
            read_twists(twists);
            for (std::size_t k = 0; k < points.size(); ++k)
                sums[k] += 0.5 * (dot(points[k].impulse, world.problem.velocity(points[k])) +
                                  dot(points[k].twist_impulse, world.problem.spin(points[k])));
        }
        std::size_t next = 0;
        return rows(1, [&](const ContactPoint&, double* to) { *to = sums[next++]; });
    }

    nb::object rows(std::size_t width, auto&& write) const {
        const std::vector<ContactPoint>& points = world.problem.points;
        nb::object out = empty_in_numpy({points.size(), width});
        double* to = const_cast<double*>(Doubles(out).data());
        for (const ContactPoint& p : points) write(p, to), to += width;
        return out;
    }

    // gap, law, shapes, bodies | place, normal | impulse on the second in the world, its moment of spin and roll, normal impulse
    nb::object contacts() const {
        return rows(6, [](const ContactPoint& p, double* to) {
            to[0] = p.gap, to[1] = p.law, to[2] = p.first, to[3] = p.second, to[4] = p.a, to[5] = p.b;
        });
    }
    nb::object places() const {
        return rows(6, [](const ContactPoint& p, double* to) {
            for (int i = 0; i < 3; ++i) to[i] = p.place[i], to[3 + i] = p.n[i];
        });
    }
    nb::object impulses() const {
        return rows(7, [](const ContactPoint& p, double* to) {
            const Vector3 force = p.impulse.x * p.n + p.impulse.y * p.t1 + p.impulse.z * p.t2;
            const Vector3 turn = p.twist_impulse.x * p.n + p.twist_impulse.y * p.t1 + p.twist_impulse.z * p.t2;
            for (int i = 0; i < 3; ++i) to[i] = force[i], to[3 + i] = turn[i];
            to[6] = p.impulse.x;
        });
    }
    void forget() {
        for (ContactPoint& p : world.problem.points) p.impulse = p.twist_impulse = {};
    }
};

}  // namespace

void bind_contact(nb::module_& module) {
    nb::class_<ContactWorld>(module, "ContactWorld", "Bodies with shapes, their contacts and what these do.")
        .def(nb::init<nb::handle, nb::handle, Whole, Whole, nb::handle, nb::handle, nb::handle, nb::handle, Whole>(),
             nb::arg("inverse_mass"), nb::arg("inverse_inertia"), nb::arg("kinds"), nb::arg("owners"), nb::arg("sizes"),
             nb::arg("places"), nb::arg("turns"), nb::arg("laws"), nb::arg("law_of"))
        .def("place", &ContactWorld::place, nb::arg("poses"), nb::arg("limit"), nb::arg("share") = 1.0)
        .def("joints", &ContactWorld::joints, nb::arg("begins"), nb::arg("bodies"), nb::arg("entries"), nb::arg("targets"))
        .def("limits", &ContactWorld::limits, nb::arg("coefficients"), nb::arg("moves"), nb::arg("ranges"))
        .def("link_impulses", &ContactWorld::link_impulses)
        .def("couple", &ContactWorld::couple, nb::arg("matrix"))
        .def("solve", &ContactWorld::solve, nb::arg("twists"), nb::arg("bounds"), nb::arg("frictional") = true,
             nb::arg("tolerance") = 1e-10, nb::arg("sweeps") = 1000, nb::arg("newton") = 40, nb::arg("largest") = 400,
             nb::arg("at_a_time") = 20, nb::arg("shifts") = nb::none())
        .def("velocities_in_world", &ContactWorld::velocities_in_world, nb::arg("twists"))
        .def("work", &ContactWorld::work, nb::arg("before"), nb::arg("after"))
        .def("velocities", &ContactWorld::velocities, nb::arg("twists"))
        .def("contacts", &ContactWorld::contacts)
        .def("places", &ContactWorld::places)
        .def("impulses", &ContactWorld::impulses)
        .def("forget", &ContactWorld::forget)
        .def_prop_ro("tests", [](const ContactWorld& own) { return own.world.tests(); })
        .def_prop_ro("pairs", [](const ContactWorld& own) { return own.world.pairs(); });
}

}  // namespace daedalus
