/* The FMI 2.0 and 3.0 interface of one model: model exchange, and co-simulation with steps of its own.

   Written against the text of the two specifications. The model is `model.c` beside this file: sizes, start values and
   the functions dd_rates (with constraints stabilised, for importers), dd_outputs, dd_guards, dd_resets and dd_step.
   Where x' and z follow from the equations only by iteration, they are NW unknowns behind the parameters, which
   dd_residual determines.
   Of NF dry frictions friction.h decides the modes. What constraints keep zero, NK numbers, holds from the start on:
   dd_begin has them, and states nearer to them. Of NG events with guards and NC clocks behind them, dd_resets has what each assigns: the states, and the NH discrete
   variables, which are the last parameters.

   Values by reference: 0 is time, then x, their derivatives, z, outputs, inputs, parameters, guards.

   Co-simulation: steps have one length, DD_FIXED_STEP, or the error of each is estimated: by its second weights, or by
   trying it whole and in two halves, whose difference estimates the error of the whole (Hairer, Norsett, Wanner, Solving
   Ordinary Differential Equations I, section II.4). An event inside a step is located by shortening the step. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dladdr */
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF(n) ((n) > 0 ? (n) : 1)
#ifdef DD_PREBUILT
#include "prebuilt.h" /* reads the model from a file */
#else
#include "model.h"
#define DD_LOAD(place) ((void)(place), 0)
#define DD_UNLOAD() ((void)0)
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif


enum { OK = 0, ERROR = 3 };

/* What the importer of a co-simulation wants, in front of the instance: it is no part of its state. */
typedef void Update(void *environment, double t, bool may_set, bool may_get, bool finished, bool may_return, bool *early,
                    double *until);
typedef void Log2(void *environment, const char *instance, int status, const char *category, const char *message, ...);
typedef void Log3(void *environment, int status, const char *category, const char *message);
typedef struct {
  void *environment;
  Log2 *log2;
  Log3 *log3;
  Update *update; /* told of every step inside; NULL: nothing */
  int events;     /* the importer handles events itself, in event mode */
  int early;      /* a communication step may end early */
} Host;
#define HOST(m) ((Host *)(m) - 1)

/* The way to tell a user why a call failed; no text has a % in it. */
static void tell(const Host *host, const char *text) {
  if (host->log2) host->log2(host->environment, "", ERROR, "logStatusError", text);
  if (host->log3) host->log3(host->environment, ERROR, "logStatusError", text);
}

/* One block of memory, without pointers into itself, so that a copy of its bytes is a copy of its state. */
typedef struct {
  double t, h, rtol;
  int terminated, co_simulation;
  /* States, inputs, parameters, unknowns, the guards when they were last looked at, the next tick of clocks. */
  double numbers[];
} Instance;
#define STATES(m) ((m)->numbers)
#define INPUTS(m) ((m)->numbers + NX)
#define PARAMETERS(m) ((m)->numbers + NX + NU)
#define UNKNOWNS(m) ((m)->numbers + NX + NU + NP)
#define BEFORE(m) (UNKNOWNS(m) + NW)
#define NEXT(m) (BEFORE(m) + NG)
#define BYTES (sizeof(Instance) + sizeof(double) * (size_t)(NX + NU + NP + NW + NG + NC + MEMORY))
/* What a method of several steps keeps: differences of the states, values of a step, order, count and length. */
#define MEMORY (DD_BDF ? 8 * NX + DD_STAGE_Z + 3 : 0)
/* Instants that differ by less are one, as in the package; so many rounds of events may follow each other in one. */
#define SAME_INSTANT (8 * 2.220446049250313e-16)
enum { MOST_ROUNDS = 50 };

static void reset(Instance *m) {
  int k;
  const int kind = m->co_simulation;
  memset(m, 0, BYTES);
  m->co_simulation = kind;
  for (k = 0; k < NX; ++k) STATES(m)[k] = dd_x_start[k];
  for (k = 0; k < NP; ++k) PARAMETERS(m)[k] = dd_p_values[k];
  for (k = 0; k < NW; ++k) UNKNOWNS(m)[k] = dd_w_start[k];
  m->rtol = DD_RTOL;
}

static Instance *instantiate(const char *token, const char *place, int co_simulation, Host host) {
  Instance *m;
  int known;
  if (DD_LOAD(place)) {
    tell(&host, "The model in the folder resources could not be read.");
    return NULL;
  }
  known = token && strcmp(token, DD_TOKEN) == 0;
  m = known ? malloc(sizeof(Host) + BYTES) : NULL;
  if (!m) {
    tell(&host, known ? "There is not enough memory." : "The token of modelDescription.xml is that of another model.");
    DD_UNLOAD();
    return NULL;
  }
  m = (Instance *)((Host *)m + 1);
  *HOST(m) = host;
  m->co_simulation = co_simulation;
  reset(m);
  return m;
}

static void let_go(Instance *m) {
  if (m) {
    free(HOST(m));
    DD_UNLOAD();
  }
}

#include "iteration.h"
#include "friction.h"

static int guards(const Instance *m, double t, const double *x, double *g) {
  return NG > 0 ? settle(m, t, x) || dd_guards(&t, x, INPUTS(m), PARAMETERS(m), g) : 0;
}

/* Which events have happened between two looks at the guards. */
static int crossed(const double *before, const double *now, int k) {
  const int way = dd_directions[k];
  const int falls = before[k] > 0 && now[k] <= 0, rises = before[k] < 0 && now[k] >= 0;
  return (way <= 0 && falls) || (way >= 0 && rises);
}

static int any_crossed(const double *before, const double *now) {
  int k;
  for (k = 0; k < NG; ++k)
    if (crossed(before, now, k)) return 1;
  return 0;
}

/* When a clock ticks for the k-th time: at a multiple of its period, whole numbers by one divisor, so that the time is
   the number next to the exact one; or at one of its given times. */
static double tick(int c, double k) {
  if (dd_period[c] > 0) return (dd_offset[c] + k * dd_period[c]) / dd_divisor[c];
  return dd_first[c] + k < dd_first[c + 1] ? dd_times[dd_first[c] + (int)k] : INFINITY;
}

static int is_due(const Instance *m, int c) { return tick(c, NEXT(m)[c]) <= m->t + SAME_INSTANT * fabs(m->t); }

static double next_tick(const Instance *m) {
  double found = INFINITY;
  int c;
  for (c = 0; c < NC; ++c) found = fmin(found, tick(c, NEXT(m)[c]));
  return found;
}

/* What has happened assigns its values, which are computed from those before, all together; a clock that reads others
   follows a round behind them, and what becomes true by all this is the next round. changed: a state has. */
static int act(Instance *m, bool *changed) {
  int fired[OF(NF)];
  double now[OF(NG)], after[OF((NG + NC) * (NX + NH))], old[OF(NX + NH)];
  int due[OF(NC)], rounds = 0, left = 0, any, round, k, i;
  *changed = false;
  if (NG + NC == 0) return 0;
  for (k = 0; k < NC; ++k) {
    due[k] = is_due(m, k);
    if (due[k] && dd_levels[k] >= rounds) rounds = dd_levels[k] + 1;
  }
  for (round = 0; round < MOST_ROUNDS; ++round) {
    if (guards(m, m->t, STATES(m), now)) return 1;
    any = any_crossed(BEFORE(m), now);
    for (k = 0; k < NC; ++k) any |= due[k] && dd_levels[k] == round;
    left = any || round + 1 < rounds;
    for (k = 0; k < NF; ++k) fired[k] = crossed(BEFORE(m), now, dd_friction_guards[k]);
    if (any) {
      double *discrete = PARAMETERS(m) + NP - NH;
      memcpy(old, STATES(m), sizeof(double) * (size_t)NX), memcpy(old + NX, discrete, sizeof(double) * (size_t)NH);
      if (settle(m, m->t, STATES(m)) || dd_resets(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), after)) return 1;
      for (k = 0; k < NG + NC; ++k) {
        const double *own = after + k * (NX + NH);
        if (k < NG ? !crossed(BEFORE(m), now, k) : !(due[k - NG] && dd_levels[k - NG] == round)) continue;
        if (dd_terminal[k]) m->terminated = 1;
        for (i = 0; i < NX; ++i)
          if (own[i] != old[i]) STATES(m)[i] = own[i], *changed = true;
        for (i = 0; i < NH; ++i)
          if (own[NX + i] != old[NX + i]) discrete[i] = own[NX + i];
      }
      if (decide(m, fired)) return 1;
      for (i = 0; i < NX; ++i) {
        if (!isfinite(STATES(m)[i])) return 1;
        *changed |= STATES(m)[i] != old[i];
      }
    }
    memcpy(BEFORE(m), now, sizeof(double) * (size_t)NG);
    if (!left) break;
  }
  for (k = 0; k < NC; ++k)
    if (due[k]) NEXT(m)[k] += 1;
  return left;
}

/* Errors of steps add up along a run: second weights are held to this share of the tolerance. */
#define SHARE_OF_A_STEP 0.1

static double weighed(const Instance *m, const double *difference, const double *now) {
  double sum = 0;
  int k;
  for (k = 0; k < NX; ++k) {
    const double size = fmax(fabs(now[k]), fabs(STATES(m)[k]));
    const double d = difference[k] / (1e-3 * m->rtol * dd_nominal[k] + m->rtol * size);
    sum += d * d;
  }
  return sqrt(sum / OF(NX));
}

#include "bdf.h"

/* The states behind a step of length h, whose error is not asked for; 1 where it failed. */
static int moved_by(const Instance *m, double h, double *x) {
  double error;
  if (DD_BDF) return bdf_tried(m, h, x, &error);
  memcpy(x, STATES(m), sizeof(double) * (size_t)NX);
  if (DD_EMBEDDED || DD_FIXED_STEP > 0) return dd_step(m->t, h, x, INPUTS(m), PARAMETERS(m), NULL);
  return dd_step(m->t, 0.5 * h, x, INPUTS(m), PARAMETERS(m), NULL) ||
         dd_step(m->t + 0.5 * h, 0.5 * h, x, INPUTS(m), PARAMETERS(m), NULL);
}

/* The same with the error in tolerances: NAN where a fixed step is taken as it is. */
static int tried(const Instance *m, double h, double *x, double *error) {
  double other[OF(NX)];
  int k;
  *error = NAN;
  if (DD_FIXED_STEP > 0) return moved_by(m, h, x);
  if (DD_BDF) {
    if (bdf_tried(m, h, x, error)) return 1;
  } else if (DD_EMBEDDED) {
    memcpy(x, STATES(m), sizeof(double) * (size_t)NX);
    if (dd_step(m->t, h, x, INPUTS(m), PARAMETERS(m), other)) return 1;
    *error = weighed(m, other, x) / SHARE_OF_A_STEP;
  } else {
    memcpy(other, STATES(m), sizeof(double) * (size_t)NX);
    if (dd_step(m->t, h, other, INPUTS(m), PARAMETERS(m), NULL) || moved_by(m, h, x)) return 1;
    for (k = 0; k < NX; ++k) other[k] -= x[k];
    *error = weighed(m, other, x) / (pow(2.0, DD_ORDER) - 1.0);
  }
  if (!isfinite(*error)) *error = INFINITY;
  return 0;
}

/* How much longer the next step may be. */
static double growth(double error, double least, double most) {
  const double power = DD_EMBEDDED ? DD_EMBEDDED + 1 : DD_ORDER + 1;
  return fmin(most, fmax(least, 0.9 * pow(fmax(error, 1e-10), -1.0 / power)));
}

/* Tells the importer of a step inside a communication step; sooner where it asks to end there or soon. */
static double told(const Instance *m, double end) {
  const Host *host = HOST(m);
  bool early = false;
  double until = m->t;
  if (!host->update) return end;
  host->update(host->environment, m->t, false, true, true, host->early != 0, &early, &until);
  return early && host->early ? fmin(end, fmax(m->t, until)) : end;
}

/* From m->t to the end; stops early at a terminal event, where the importer asks for it, and at events that it handles:
   then `pending` is set. */
static int advance(Instance *m, double end, bool *pending) {
  const int leaves = HOST(m)->events && HOST(m)->early;
  long tries = 0;
  bool changed;
  if (!(m->h > 0)) m->h = fmin(end - m->t, DD_FIRST_STEP);
  while (m->t < end && !m->terminated) {
    const double stop = fmin(end, next_tick(m));
    double next[OF(NX)], now[OF(NG)], h = DD_FIXED_STEP > 0 ? DD_FIXED_STEP : m->h, error, rest = stop - m->t;
    int last = 0;
    if (++tries > 1000000) return 1;
    if (rest <= SAME_INSTANT * fabs(m->t)) {
      m->t = fmax(m->t, stop);
      if (stop < end || next_tick(m) <= end) {
        if (leaves) return m->h = fmin(m->h, DD_FIRST_STEP), *pending = true, 0;
        if (act(m, &changed)) return 1;
        forget(m);
        if (changed || DD_BDF) m->h = fmin(m->h, DD_FIRST_STEP);
      }
      continue;
    }
    if (h >= rest * (1 - 1e-12)) h = rest, last = 1;
    else if (h > 0.5 * rest && !(DD_FIXED_STEP > 0)) h = 0.5 * rest;
    if (m->t + h <= m->t) return 1;
    /* Unknowns that cannot be followed to the end of a step ask for a shorter one. */
    if (tried(m, h, next, &error) || (error <= 1.0 && settle(m, m->t + h, next))) {
      if (DD_FIXED_STEP > 0) return 1;
      m->h = 0.25 * h;
      continue;
    }
    if (error > 1.0) {
      m->h = h * growth(error, 0.2, 1.0);
      continue;
    }
    if (guards(m, m->t + h, next, now)) return 1;
    if (any_crossed(BEFORE(m), now)) {
      /* The event lies in this step: the shortest one with a crossing, by bisection. */
      double low = 0, high = h, moved[OF(NX)];
      int k;
      for (k = 0; k < 80 && m->t + low < m->t + high && high - low > 1e-15 * (fabs(m->t) + h); ++k) {
        const double middle = 0.5 * (low + high);
        if (moved_by(m, middle, moved) || guards(m, m->t + middle, moved, now)) return 1;
        if (any_crossed(BEFORE(m), now)) high = middle, memcpy(next, moved, sizeof next);
        else low = middle;
      }
      memcpy(STATES(m), next, sizeof(double) * (size_t)NX);
      m->t += high;
      m->h = fmin(h, DD_FIRST_STEP);
      forget(m);
      if (leaves) return *pending = true, 0;
      if (act(m, &changed)) return 1;
      end = told(m, end);
      continue;
    }
    if (DD_BDF) {
      if (bdf_accepted(m, h, next)) return 1;
    } else if (!last || m->h <= rest) m->h = h * growth(error, 0.3, 4.0);
    memcpy(STATES(m), next, sizeof(double) * (size_t)NX), memcpy(BEFORE(m), now, sizeof(double) * (size_t)NG);
    m->t = last ? stop : m->t + h;
    end = told(m, end);
  }
  /* A tick at the end happens there. */
  if (m->terminated || next_tick(m) > m->t + SAME_INSTANT * fabs(m->t)) return 0;
  if (HOST(m)->events) return *pending = true, 0;
  return act(m, &changed);
}

/* The same, with words where it failed. */
static int moved_on(Instance *m, double end, bool *pending) {
  char text[120];
  if (!advance(m, end, pending)) return 0;
  snprintf(text, sizeof text, "The step from t = %g failed: the equations have no values there, or the solution ends.", m->t);
  tell(HOST(m), text);
  return 1;
}

/* After a step without an event: on which side of zero the guards are now. */
static int completed(Instance *m) {
  double now[OF(NG)];
  if (NG == 0) return 0;
  if (guards(m, m->t, STATES(m), now)) return 1;
  if (!any_crossed(BEFORE(m), now)) memcpy(BEFORE(m), now, sizeof(double) * (size_t)NG);
  return 0;
}

/* States off what the constraints keep by less than this share, and than ten tolerances, are taken as they are. */
#define NEAR_START 1e-8
enum { MOST_MOVES = 30 };

/* States that the model leaves open move onto the constraints; 1 where those that are given contradict them. */
static int fit_start(Instance *m) {
  double next[OF(NX)], kept[OF(NK)], before = INFINITY, worst, allowed;
  int k, move;
  if (NK == 0) return 0;
  for (move = 0; move < MOST_MOVES; ++move) {
    if (settle(m, m->t, STATES(m)) || dd_begin(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), next, kept)) return 1;
    for (k = 0, worst = 0; k < NK; ++k) worst = fabs(kept[k]) <= worst ? worst : fabs(kept[k]);
    for (k = 0, allowed = 1; k < NX; ++k) allowed = fmax(allowed, fabs(STATES(m)[k]));
    allowed *= fmax(NEAR_START, 10 * m->rtol);
    /* Corrections go on until they bring nothing more. */
    if (worst <= allowed && (move == 0 || worst == 0 || worst >= 0.5 * before)) return 0;
    if (!isfinite(worst)) return 1;
    before = worst;
    memcpy(STATES(m), next, sizeof next);
  }
  return 1;
}

/* The beginning of a run: the guards, where conditions that count at the start are not yet true, and the first ticks. */
static int look(Instance *m) {
  bool changed;
  int k;
  for (k = 0; k < NC; ++k) {
    const double slack = SAME_INSTANT * fabs(m->t);
    double first = dd_period[k] > 0 ? ceil(((m->t - slack) * dd_divisor[k] - dd_offset[k]) / dd_period[k]) : 0;
    first = fmax(first, 0);
    while (first > 0 && tick(k, first - 1) >= m->t - slack) first -= 1;
    while (tick(k, first) < m->t - slack) first += 1;
    NEXT(m)[k] = first;
  }
  if (fit_start(m)) {
    tell(HOST(m), "The start values contradict the constraints of the model: no values of the states that it leaves open "
                  "satisfy its equations with those that are given.");
    return 1;
  }
  if (decide(m, NULL) || guards(m, m->t, STATES(m), BEFORE(m))) {
    tell(HOST(m), "The equations have no values at the start.");
    return 1;
  }
  for (k = 0; k < NG; ++k)
    if (dd_at_start[k]) BEFORE(m)[k] = dd_directions[k] < 0 ? 1.0 : -1.0;
  /* In model exchange, and where it handles events, the importer asks for what happens at the start. */
  return m->co_simulation && !HOST(m)->events ? act(m, &changed) : 0;
}

/* Why values could not be computed. */
static int unsolved(const Instance *m) {
  char text[160];
  snprintf(text, sizeof text, "Nothing satisfies the equations at t = %g near the values before: the solution ends, or a step "
                              "of the importer goes too far.", m->t);
  tell(HOST(m), text);
  return ERROR;
}

static int get(const Instance *m, const uint32_t *reference, size_t count, double *values) {
  double dx[OF(NX)], z[OF(NZ)], y[OF(NY)];
  int ready = 0;
  size_t k;
  for (k = 0; k < count; ++k) {
    long r = (long)reference[k];
    if (r == 0) { values[k] = m->t; continue; }
    r -= 1;
    if (r < NX) { values[k] = STATES(m)[r]; continue; }
    r -= NX;
    if (r < NX + NZ + NY && !ready) {
      if (settle(m, m->t, STATES(m)) || dd_rates(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), dx, z)) return unsolved(m);
      if (NY > 0 && dd_outputs(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), y)) return ERROR;
      ready = 1;
    }
    if (r < NX) { values[k] = dx[r]; continue; }
    r -= NX;
    if (r < NZ) { values[k] = z[r]; continue; }
    r -= NZ;
    if (r < NY) { values[k] = y[r]; continue; }
    r -= NY;
    if (r < NU) { values[k] = INPUTS(m)[r]; continue; }
    r -= NU;
    if (r < NP) { values[k] = PARAMETERS(m)[r]; continue; }
    r -= NP;
    if (r < NG) {
      double g[OF(NG)];
      if (guards(m, m->t, STATES(m), g)) return ERROR;
      values[k] = g[r];
      continue;
    }
    return ERROR;
  }
  return OK;
}

static int set(Instance *m, const uint32_t *reference, size_t count, const double *values) {
  size_t k;
  for (k = 0; k < count; ++k) {
    long r = (long)reference[k] - 1;
    if (r < 0) return ERROR;
    double *to = NULL;
    if (r < NX) to = STATES(m) + r;
    r -= NX + NX + NZ + NY;
    if (!to && r < 0) return ERROR;
    if (!to && r < NU) to = INPUTS(m) + r;
    r -= NU;
    if (!to && r < NP) to = PARAMETERS(m) + r;
    if (to) {
      if (*to != values[k]) forget(m);
      *to = values[k];
      continue;
    }
    return ERROR;
  }
  return OK;
}

static int rates(const Instance *m, double *dx) {
  double z[OF(NZ)];
  return settle(m, m->t, STATES(m)) || dd_rates(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), dx, z) ? unsolved(m) : OK;
}

/* The exact derivative of unknowns (rates, z, outputs) along a change of knowns (states, inputs, parameters). */
static int directional(const Instance *m, const uint32_t *unknowns, size_t nz, const uint32_t *knowns, size_t nv,
                       const double *seed, double *result) {
  double sx[OF(NX)], su[OF(NU)], sp[OF(NP + NW)], dx[OF(NX)], z[OF(NZ)], y[OF(NY)];
  size_t k;
  memset(sx, 0, sizeof sx), memset(su, 0, sizeof su), memset(sp, 0, sizeof sp);
  for (k = 0; k < nv; ++k) {
    long r = (long)knowns[k] - 1;
    if (r < 0) return ERROR;
    if (r < NX) { sx[r] = seed[k]; continue; }
    r -= NX + NX + NZ + NY;
    if (r < 0) return ERROR;
    if (r < NU) { su[r] = seed[k]; continue; }
    r -= NU;
    if (r >= NP) return ERROR;
    sp[r] = seed[k];
  }
  if (settle_along(m, sx, su, sp)) return ERROR;
  if (dd_forward(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), sx, su, sp, dx, z, y)) return ERROR;
  for (k = 0; k < nz; ++k) {
    long r = (long)unknowns[k] - 1;
    if (r < 0) return ERROR;
    if (r < NX) { result[k] = sx[r]; continue; }
    r -= NX;
    if (r < NX) { result[k] = dx[r]; continue; }
    r -= NX;
    if (r < NZ) { result[k] = z[r]; continue; }
    r -= NZ;
    if (r >= NY) return ERROR;
    result[k] = y[r];
  }
  return OK;
}

/* The exact derivative back: how a weighted sum of unknowns changes with each of the knowns. */
static int adjoint(const Instance *m, const uint32_t *unknowns, size_t nz, const uint32_t *knowns, size_t nv,
                   const double *seed, double *result) {
  double sx[OF(NX)], dx[OF(NX)], z[OF(NZ)], y[OF(NY)], x_bar[OF(NX)], u_bar[OF(NU)], p_bar[OF(NP + NW)];
  size_t k;
  int i;
  for (i = 0; i < OF(NX); ++i) sx[i] = dx[i] = 0;
  for (i = 0; i < OF(NZ); ++i) z[i] = 0;
  for (i = 0; i < OF(NY); ++i) y[i] = 0;
  for (k = 0; k < nz; ++k) {
    long r = (long)unknowns[k] - 1;
    if (r < 0) return ERROR;
    if (r < NX) { sx[r] += seed[k]; continue; }
    r -= NX;
    if (r < NX) { dx[r] += seed[k]; continue; }
    r -= NX;
    if (r < NZ) { z[r] += seed[k]; continue; }
    r -= NZ;
    if (r >= NY) return ERROR;
    y[r] += seed[k];
  }
  if (settle(m, m->t, STATES(m))) return ERROR;
  if (dd_adjoint(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), dx, z, y, x_bar, u_bar, p_bar)) return ERROR;
  if (settle_back(m, x_bar, u_bar, p_bar)) return ERROR;
  for (k = 0; k < nv; ++k) {
    long r = (long)knowns[k] - 1;
    if (r < 0) return ERROR;
    if (r < NX) { result[k] = x_bar[r] + sx[r]; continue; }
    r -= NX + NX + NZ + NY;
    if (r < 0) return ERROR;
    if (r < NU) { result[k] = u_bar[r]; continue; }
    r -= NU;
    if (r >= NP) return ERROR;
    result[k] = p_bar[r];
  }
  return OK;
}

/* ---- FMI 2.0 ---- */

typedef struct { int again, terminate, nominals, values, defined; double time; } Info2;
typedef struct { Log2 *log; void *allocate, *let_go, *finished, *environment; } Calls2;

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
EXPORT int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const names[]) { (void)c, (void)on, (void)n, (void)names; return OK; }
EXPORT void *fmi2Instantiate(const char *name, int type, const char *token, const char *place, const void *calls, int visible, int logging) {
  const Calls2 *own = calls;
  const Host host = {own ? own->environment : NULL, own ? own->log : NULL, NULL, NULL, 0, 0};
  (void)name, (void)visible, (void)logging;
  return instantiate(token, place, type == 1, host);
}
EXPORT void fmi2FreeInstance(void *c) { let_go(c); }
EXPORT int fmi2SetupExperiment(void *c, int has, double tolerance, double start, int stops, double stop) {
  Instance *m = c;
  (void)stops, (void)stop;
  m->t = start;
  if (has && tolerance > 0) m->rtol = tolerance;
  return OK;
}
EXPORT int fmi2EnterInitializationMode(void *c) { (void)c; return OK; }
EXPORT int fmi2ExitInitializationMode(void *c) { return look(c) ? ERROR : OK; }
EXPORT int fmi2Terminate(void *c) { (void)c; return OK; }
EXPORT int fmi2Reset(void *c) { reset(c); return OK; }
EXPORT int fmi2GetReal(void *c, const uint32_t *r, size_t n, double *v) { return get(c, r, n, v); }
EXPORT int fmi2SetReal(void *c, const uint32_t *r, size_t n, const double *v) { return set(c, r, n, v); }
EXPORT int fmi2GetInteger(void *c, const uint32_t *r, size_t n, int *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2SetInteger(void *c, const uint32_t *r, size_t n, const int *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2GetBoolean(void *c, const uint32_t *r, size_t n, int *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2SetBoolean(void *c, const uint32_t *r, size_t n, const int *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2GetString(void *c, const uint32_t *r, size_t n, const char **v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2SetString(void *c, const uint32_t *r, size_t n, const char *const *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2EnterEventMode(void *c) { (void)c; return OK; }
EXPORT int fmi2NewDiscreteStates(void *c, Info2 *info) {
  Instance *m = c;
  bool changed;
  if (act(m, &changed)) return ERROR;
  memset(info, 0, sizeof *info);
  info->values = changed, info->terminate = m->terminated;
  info->time = next_tick(m), info->defined = isfinite(info->time) != 0;
  return OK;
}
EXPORT int fmi2EnterContinuousTimeMode(void *c) { (void)c; return OK; }
EXPORT int fmi2CompletedIntegratorStep(void *c, int kept, int *event, int *terminate) {
  (void)kept;
  *event = 0, *terminate = 0;
  return completed(c) ? ERROR : OK;
}
EXPORT int fmi2SetTime(void *c, double t) { ((Instance *)c)->t = t; return OK; }
EXPORT int fmi2SetContinuousStates(void *c, const double *x, size_t n) { memcpy(STATES((Instance *)c), x, n * sizeof *x); return n == (size_t)NX ? OK : ERROR; }
EXPORT int fmi2GetDerivatives(void *c, double *dx, size_t n) { return n == (size_t)NX ? rates(c, dx) : ERROR; }
EXPORT int fmi2GetEventIndicators(void *c, double *g, size_t n) { Instance *m = c; return n == (size_t)NG && !guards(m, m->t, STATES(m), g) ? OK : ERROR; }
EXPORT int fmi2GetContinuousStates(void *c, double *x, size_t n) { memcpy(x, STATES((Instance *)c), n * sizeof *x); return OK; }
EXPORT int fmi2GetNominalsOfContinuousStates(void *c, double *x, size_t n) { (void)c; memcpy(x, dd_nominal, n * sizeof *x); return OK; }
EXPORT int fmi2DoStep(void *c, double t, double h, int kept) {
  Instance *m = c;
  bool pending = false;
  (void)kept;
  m->t = t;
  return moved_on(m, t + h, &pending) ? ERROR : m->terminated ? 2 : OK;
}
EXPORT int fmi2CancelStep(void *c) { (void)c; return ERROR; }
EXPORT int fmi2GetStatus(void *c, int k, int *v) { (void)c, (void)k, (void)v; return 2; }
EXPORT int fmi2GetRealStatus(void *c, int k, double *v) { if (k == 2) { *v = ((Instance *)c)->t; return OK; } return 2; }
EXPORT int fmi2GetIntegerStatus(void *c, int k, int *v) { (void)c, (void)k, (void)v; return 2; }
EXPORT int fmi2GetBooleanStatus(void *c, int k, int *v) { if (k == 3) { *v = ((Instance *)c)->terminated; return OK; } return 2; }
EXPORT int fmi2GetStringStatus(void *c, int k, const char **v) { (void)c, (void)k, (void)v; return 2; }
EXPORT int fmi2SetRealInputDerivatives(void *c, const uint32_t *r, size_t n, const int *o, const double *v) { (void)c, (void)r, (void)o, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2GetRealOutputDerivatives(void *c, const uint32_t *r, size_t n, const int *o, double *v) { (void)c, (void)r, (void)o, (void)v; return n ? ERROR : OK; }
EXPORT int fmi2GetDirectionalDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *d, double *r) {
  return directional(c, z, nz, v, nv, d, r);
}

/* A state is everything that an instance holds, so that it comes back bit for bit. */
static int save(const Instance *m, void **state) {
  if (!*state) *state = malloc(BYTES);
  if (!*state) return ERROR;
  memcpy(*state, m, BYTES);
  return OK;
}
EXPORT int fmi2GetFMUstate(void *c, void **state) { return save(c, state); }
EXPORT int fmi2SetFMUstate(void *c, void *state) { memcpy(c, state, BYTES); return OK; }
EXPORT int fmi2FreeFMUstate(void *c, void **state) { (void)c; free(*state), *state = NULL; return OK; }
EXPORT int fmi2SerializedFMUstateSize(void *c, void *state, size_t *n) { (void)c, (void)state; *n = BYTES; return OK; }
EXPORT int fmi2SerializeFMUstate(void *c, void *state, char *bytes, size_t n) { (void)c; if (n < BYTES) return ERROR; memcpy(bytes, state, BYTES); return OK; }
EXPORT int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t n, void **state) { (void)c; return n == BYTES ? save((const Instance *)bytes, state) : ERROR; }

/* ---- FMI 3.0 ---- */

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
EXPORT int fmi3SetDebugLogging(void *c, bool on, size_t n, const char *const names[]) { (void)c, (void)on, (void)n, (void)names; return OK; }
EXPORT void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *place, bool visible, bool logging, void *environment, void *log) {
  const Host host = {environment, NULL, (Log3 *)log, NULL, 0, 0};
  (void)name, (void)visible, (void)logging;
  return instantiate(token, place, 0, host);
}
EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *place, bool visible, bool logging, bool events, bool early, const uint32_t *wanted, size_t count, void *environment, void *log, void *update) {
  const Host host = {environment, NULL, (Log3 *)log, (Update *)update, events, early};
  (void)name, (void)visible, (void)logging, (void)wanted, (void)count;
  return instantiate(token, place, 1, host);
}
EXPORT void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *place, bool visible, bool logging, void *environment, void *log, void *clock, void *lock, void *unlock) {
  (void)name, (void)token, (void)place, (void)visible, (void)logging, (void)environment, (void)log, (void)clock, (void)lock, (void)unlock;
  return NULL;
}
EXPORT void fmi3FreeInstance(void *c) { let_go(c); }
EXPORT int fmi3EnterInitializationMode(void *c, bool has, double tolerance, double start, bool stops, double stop) { return fmi2SetupExperiment(c, has, tolerance, start, stops, stop); }
EXPORT int fmi3ExitInitializationMode(void *c) { return look(c) ? ERROR : OK; }
EXPORT int fmi3EnterEventMode(void *c) { (void)c; return OK; }
EXPORT int fmi3Terminate(void *c) { (void)c; return OK; }
EXPORT int fmi3Reset(void *c) { reset(c); return OK; }
EXPORT int fmi3EnterConfigurationMode(void *c) { (void)c; return ERROR; }
EXPORT int fmi3ExitConfigurationMode(void *c) { (void)c; return ERROR; }
EXPORT int fmi3GetFloat64(void *c, const uint32_t *r, size_t n, double *v, size_t nv) { return n == nv ? get(c, r, n, v) : ERROR; }
EXPORT int fmi3SetFloat64(void *c, const uint32_t *r, size_t n, const double *v, size_t nv) { return n == nv ? set(c, r, n, v) : ERROR; }
#define NONE(type, word) \
  EXPORT int fmi3Get##word(void *c, const uint32_t *r, size_t n, type *v, size_t nv) { (void)c, (void)r, (void)v, (void)nv; return n ? ERROR : OK; } \
  EXPORT int fmi3Set##word(void *c, const uint32_t *r, size_t n, const type *v, size_t nv) { (void)c, (void)r, (void)v, (void)nv; return n ? ERROR : OK; }
NONE(float, Float32)
NONE(int8_t, Int8)
NONE(uint8_t, UInt8)
NONE(int16_t, Int16)
NONE(uint16_t, UInt16)
NONE(int32_t, Int32)
NONE(uint32_t, UInt32)
NONE(int64_t, Int64)
NONE(uint64_t, UInt64)
NONE(bool, Boolean)
NONE(char *, String)
EXPORT int fmi3UpdateDiscreteStates(void *c, bool *again, bool *terminate, bool *nominals, bool *values, bool *defined, double *time) {
  Instance *m = c;
  *again = *nominals = false;
  if (act(m, values)) return ERROR;
  *terminate = m->terminated;
  *time = next_tick(m), *defined = isfinite(*time);
  return OK;
}
EXPORT int fmi3EnterContinuousTimeMode(void *c) { (void)c; return OK; }
EXPORT int fmi3CompletedIntegratorStep(void *c, bool kept, bool *event, bool *terminate) { (void)kept; *event = *terminate = false; return completed(c) ? ERROR : OK; }
EXPORT int fmi3SetTime(void *c, double t) { ((Instance *)c)->t = t; return OK; }
EXPORT int fmi3SetContinuousStates(void *c, const double *x, size_t n) { return fmi2SetContinuousStates(c, x, n); }
EXPORT int fmi3GetContinuousStateDerivatives(void *c, double *dx, size_t n) { return n == (size_t)NX ? rates(c, dx) : ERROR; }
EXPORT int fmi3GetEventIndicators(void *c, double *g, size_t n) { return fmi2GetEventIndicators(c, g, n); }
EXPORT int fmi3GetContinuousStates(void *c, double *x, size_t n) { return fmi2GetContinuousStates(c, x, n); }
EXPORT int fmi3GetNominalsOfContinuousStates(void *c, double *x, size_t n) { return fmi2GetNominalsOfContinuousStates(c, x, n); }
EXPORT int fmi3GetNumberOfEventIndicators(void *c, size_t *n) { (void)c; *n = NG; return OK; }
EXPORT int fmi3GetNumberOfContinuousStates(void *c, size_t *n) { (void)c; *n = NX; return OK; }
EXPORT int fmi3EnterStepMode(void *c) { (void)c; return OK; }
EXPORT int fmi3DoStep(void *c, double t, double h, bool kept, bool *event, bool *terminate, bool *early, double *reached) {
  Instance *m = c;
  (void)kept;
  *event = *early = *terminate = false;
  m->t = t;
  if (moved_on(m, t + h, event)) { *reached = m->t; return ERROR; }
  *terminate = m->terminated != 0, *reached = m->t;
  /* An end of the simulation is told by `terminate` to an importer that takes no early return. */
  *early = HOST(m)->early && m->t < t + h - SAME_INSTANT * fabs(t + h);
  return OK;
}
EXPORT int fmi3GetFMUState(void *c, void **state) { return save(c, state); }
EXPORT int fmi3SetFMUState(void *c, void *state) { memcpy(c, state, BYTES); return OK; }
EXPORT int fmi3FreeFMUState(void *c, void **state) { (void)c; free(*state), *state = NULL; return OK; }
EXPORT int fmi3SerializedFMUStateSize(void *c, void *state, size_t *n) { return fmi2SerializedFMUstateSize(c, state, n); }
EXPORT int fmi3SerializeFMUState(void *c, void *state, uint8_t *bytes, size_t n) { return fmi2SerializeFMUstate(c, state, (char *)bytes, n); }
EXPORT int fmi3DeserializeFMUState(void *c, const uint8_t *bytes, size_t n, void **state) { return fmi2DeSerializeFMUstate(c, (const char *)bytes, n, state); }
EXPORT int fmi3GetDirectionalDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *d, size_t given, double *r, size_t nr) {
  return given == nv && nr == nz ? directional(c, z, nz, v, nv, d, r) : ERROR;
}
EXPORT int fmi3GetAdjointDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *d, size_t given, double *r, size_t nr) {
  return given == nz && nr == nv ? adjoint(c, z, nz, v, nv, d, r) : ERROR;
}
EXPORT int fmi3EvaluateDiscreteStates(void *c) { (void)c; return OK; }
EXPORT int fmi3GetBinary(void *c, const uint32_t *r, size_t n, size_t *s, const uint8_t **v, size_t nv) { (void)c, (void)r, (void)s, (void)v, (void)nv; return n ? ERROR : OK; }
EXPORT int fmi3SetBinary(void *c, const uint32_t *r, size_t n, const size_t *s, const uint8_t *const *v, size_t nv) { (void)c, (void)r, (void)s, (void)v, (void)nv; return n ? ERROR : OK; }
EXPORT int fmi3GetClock(void *c, const uint32_t *r, size_t n, bool *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi3SetClock(void *c, const uint32_t *r, size_t n, const bool *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi3GetNumberOfVariableDependencies(void *c, uint32_t r, size_t *n) { (void)c, (void)r, (void)n; return ERROR; }
EXPORT int fmi3GetVariableDependencies(void *c, uint32_t r, size_t *e, uint32_t *i, size_t *f, int *k, size_t n) { (void)c, (void)r, (void)e, (void)i, (void)f, (void)k, (void)n; return ERROR; }
EXPORT int fmi3GetOutputDerivatives(void *c, const uint32_t *r, size_t n, const int32_t *o, double *v, size_t nv) { (void)c, (void)r, (void)o, (void)v, (void)nv; return n ? ERROR : OK; }
EXPORT int fmi3GetIntervalDecimal(void *c, const uint32_t *r, size_t n, double *v, int *q) { (void)c, (void)r, (void)v, (void)q; return n ? ERROR : OK; }
EXPORT int fmi3GetIntervalFraction(void *c, const uint32_t *r, size_t n, uint64_t *a, uint64_t *b, int *q) { (void)c, (void)r, (void)a, (void)b, (void)q; return n ? ERROR : OK; }
EXPORT int fmi3GetShiftDecimal(void *c, const uint32_t *r, size_t n, double *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi3GetShiftFraction(void *c, const uint32_t *r, size_t n, uint64_t *a, uint64_t *b) { (void)c, (void)r, (void)a, (void)b; return n ? ERROR : OK; }
EXPORT int fmi3SetIntervalDecimal(void *c, const uint32_t *r, size_t n, const double *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi3SetIntervalFraction(void *c, const uint32_t *r, size_t n, const uint64_t *a, const uint64_t *b) { (void)c, (void)r, (void)a, (void)b; return n ? ERROR : OK; }
EXPORT int fmi3SetShiftDecimal(void *c, const uint32_t *r, size_t n, const double *v) { (void)c, (void)r, (void)v; return n ? ERROR : OK; }
EXPORT int fmi3SetShiftFraction(void *c, const uint32_t *r, size_t n, const uint64_t *a, const uint64_t *b) { (void)c, (void)r, (void)a, (void)b; return n ? ERROR : OK; }
EXPORT int fmi3ActivateModelPartition(void *c, uint32_t r, double t) { (void)c, (void)r, (void)t; return ERROR; }
