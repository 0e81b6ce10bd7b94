// Contacts: dry friction and unilateral constraints, whose modes and impulses the model is asked for.
//
// Modes are discrete variables. Which of them hold together is a complementarity problem between all contacts of a model,
// and an impact at one may be felt by others: a function (t, row, u, p, given) -> (row, discrete variables) decides both.
// given: the span of the run, then 1 for each guard of an event that has just fired.
#pragma once

#include "events/consistent_restart.hpp"
#include "events/modes.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// What an instant has brought so far.
struct Happened {
    bool turned = false;    // modes of switches
    bool moved = false;     // states
    bool changed = false;   // discrete variables
    bool restarts = false;  // what equations or guards read
    bool terminal = false;
    bool settled = false;   // contacts, which end bounces that follow each other ever faster themselves
    long long round = 0;    // the one that is under way
};

// A guard of a contact among those that fired in this round; -1 where there is none.
inline long long fired_contact(const Guards& guards) noexcept {
    for (long long r = guards.roots.early; r < guards.roots.count; ++r)
        if (guards.each[guards.roots[r].guard].is_contact) return guards.roots[r].guard;
    return -1;
}

// Modes and velocities behind this moment; where there are none the run ends, and `actor` is named.
inline Status settle_contacts(Integration& s, long long actor, Happened& all) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    double *given = guards.calls.given, *settled = guards.calls.settled;
    all.settled = true;
    const long long events = guards.first_switch();
    given[0] = s.t1 - s.t0;
    for (long long k = 0; k < events; ++k) given[1 + k] = 0;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r)
        if (!is_switch(guards, guards.roots[r].guard)) given[1 + guards.roots[r].guard] = 1;
    set_time(s, s.t);
    Call& contacts = guards.calls.contacts;
    contacts.arg[1] = s.x, contacts.arg[4] = given, contacts.res[0] = settled;
    const bool failed = fails(s, contacts);
    if (s.abort_called) return Status::aborted;
    long long component = 0;
    if (failed || first_not_finite(settled, assigned.width, component)) {
        s.culprit = {actor, Culprit::What::event};
        return Status::inconsistent;
    }
    bool moved = false, changed = false;
    for (long long j = 0; j < s.n; ++j) moved |= settled[j] != s.x[j];
    for (long long k = 0; k < assigned.discretes; ++k) changed |= settled[s.n + k] != assigned.held[k];
    if (!moved && !changed) return Status::going;
    copy(settled, s.n, s.x);
    copy(settled + s.n, assigned.discretes, assigned.held);
    all.moved |= moved, all.changed |= changed, all.restarts = true;
    return s.implicit && !solve_restart(s, s.x, moved) ? restart_failure(s) : Status::going;
}

// The contacts at the start of a run: modes that fit the values it begins with, and conditions on their forces behind them.
inline Status first_contacts(Integration& s, Happened& all) noexcept {
    s.guards.roots.count = s.guards.roots.early = 0;
    if (const Status status = settle_contacts(s, -1, all); status != Status::going) return status;
    if (all.restarts && s.guards.switches.count > 0) {
        if (const Status status = settle_modes(s); status != Status::going) return status;
        all.changed = true;
    }
    if (all.moved) keep_later_values(s);
    if (all.changed || all.moved) record_held(s, !all.moved);
    return Status::going;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
