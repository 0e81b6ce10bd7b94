// Where a run writes what it finds: rows of (t, x) and events, into memory that the driver provides and grows. What finds
// no room is not written, and the driver is told: that would be a defect of the count of rows that a step may need.
#pragma once

#include "machine/platform.hpp"

namespace daedalus {

struct Rows {
    double* t = nullptr;
    double* x = nullptr;  // (capacity, n), or times alone
    long long count = 0, capacity = 0;
    bool lost = false;
};

struct EventRows {
    long long* guard = nullptr;
    double* t = nullptr;
    double* before = nullptr;  // (capacity, n, then discrete variables)
    double* after = nullptr;
    long long* round = nullptr;  // of its instant, counted from 0; that of a clock is its place among the levels due
    unsigned char* led = nullptr;  // 1 where the motion led its guard to zero; else it jumped, or time brought it about
    long long count = 0, capacity = 0;
    bool lost = false;
};

// Dense output as it arises: implicit methods cannot redo their steps cheaply. Each piece has its own degree, and of methods
// whose last columns x' are the derivatives of the first ones only the others are written.
struct PieceRows {
    double* starts = nullptr;
    double* ends = nullptr;
    double* coefficients = nullptr;  // of each piece (its degree + 1, n - derived); of one without length (1, n)
    long long* places = nullptr;     // (capacity + 1): where each piece begins, and the last one ends
    int degree = 0;                  // the largest
    long long derived = 0;           // columns
    long long count = 0, capacity = 0, room = 0;  // the last in numbers
    bool lost = false;

    long long used() const { return count == 0 ? 0 : places[count]; }
    bool takes(long long n) const { return count < capacity && used() + (degree + 1) * n <= room; }
};

// Discrete variables and modes of switches, each time with the row of `steps` and the time from which on they hold.
struct HeldRows {
    long long* row = nullptr;
    double* t = nullptr;
    double* values = nullptr;  // (capacity, discrete variables, then switches)
    unsigned char* located = nullptr;  // (capacity, switches): 1 where the motion led a switch to its turn
    long long count = 0, capacity = 0;
    bool lost = false;
};

// What each step took: attempts that were refused before it, Newton's iterations, both counted from the start of the run,
// and its order, 0 where the method has one order only.
struct StepCounts {
    int* numbers = nullptr;  // (capacity, 3)
    long long count = 0, capacity = 0;
    bool lost = false;
};

struct Recorder {
    Rows steps;    // the start, every step, and the state after a cutting event at the same time once more
    Rows samples;  // values at save_at
    long long* between = nullptr;  // which rows of `samples` lie inside a step
    long long between_count = 0;
    EventRows events;
    PieceRows pieces;  // kept where a capacity is given
    HeldRows held;     // the same
    StepCounts counts;  // of every step that is kept
    const double* save_at = nullptr;
    long long save_count = 0, save_next = 0;
    bool every_step = true;      // else only rows at events
    bool event_rows = true;
    bool rows_at_jumps = false;  // two rows wherever anything jumps, not at resets alone

    bool lost_any() const { return steps.lost || samples.lost || events.lost || pieces.lost || held.lost || counts.lost; }
};

inline namespace DAEDALUS_ISA {

inline void copy(const double* from, long long n, double* to) {
    for (long long i = 0; i < n; ++i) to[i] = from[i];
}

// Whether there is room for one more.
template <class Kept>
inline bool takes_one(Kept& kept) {
    if (kept.count < kept.capacity) [[likely]]
        return true;
    kept.lost = true;
    return false;
}

inline void push_row(Rows& rows, double t, const double* x, long long n) {
    if (!takes_one(rows)) return;
    rows.t[rows.count] = t;
    if (rows.x) copy(x, n, rows.x + rows.count * n);
    ++rows.count;
}

inline void push_event(EventRows& events, long long guard, double t, const double* before,
                       const double* after, long long n, long long round, bool led) {
    if (!takes_one(events)) return;
    events.guard[events.count] = guard;
    events.t[events.count] = t;
    copy(before, n, events.before + events.count * n);
    copy(after, n, events.after + events.count * n);
    events.round[events.count] = round;
    events.led[events.count] = led;
    ++events.count;
}

// False where it is not written.
inline bool push_held(HeldRows& held, long long row, double t, const double* values, long long count) {
    if (held.capacity == 0 || !takes_one(held)) return false;
    held.row[held.count] = row;
    held.t[held.count] = t;
    copy(values, count, held.values + held.count * count);
    ++held.count;
    return true;
}

inline void push_counts(StepCounts& counts, long long rejected, long long newton, int order) {
    if (!takes_one(counts)) return;
    int* out = counts.numbers + 3 * counts.count++;
    out[0] = static_cast<int>(rejected), out[1] = static_cast<int>(newton), out[2] = order;
}

// Where the coefficients of one more piece are to be written, `kept` numbers of each power; nullptr: there is no room.
inline double* begin_piece(PieceRows& pieces, double begin, double end, int degree, long long n, long long kept) {
    if (!pieces.takes(n) || degree > pieces.degree) {
        pieces.lost = true;
        return nullptr;
    }
    const long long place = pieces.used();
    pieces.starts[pieces.count] = begin, pieces.ends[pieces.count] = end;
    pieces.places[pieces.count++] = place;
    pieces.places[pieces.count] = place + (degree + 1) * kept;
    return pieces.coefficients + place;
}

inline void push_piece(PieceRows& pieces, double begin, double end, const double* coefficients,
                       int degree, long long lanes, long long n) {
    const long long kept = begin == end ? n : n - pieces.derived;
    double* out = begin_piece(pieces, begin, end, degree, n, kept);
    for (int j = 0; out && j <= degree; ++j, out += kept) copy(coefficients + j * lanes, kept, out);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
