/* Dry frictions: which of them stick and which way the others slide, decided at instants. A part of runtime.c.

   A friction at rest sticks, with a force within its limit, or slides the way it is accelerated. Modes are turned one
   after the other, the first that contradicts itself first, which ends for P-matrices (K. G. Murty, Opsearch 11, 1974).
   What sticks is brought to rest by impulses of the frictions. */

/* Speeds below these, beside the largest state, are zero: of a friction that slid, and of one that stuck. */
#define AT_REST 4e-12
#define STUCK 1e-7
/* A share of the forces that is not told from zero. */
#define NO_FORCE 1e-9

typedef struct { double *speed, *force, *change, *limit; } Rubbing;

static double *mode_of(Instance *m, int k) { return PARAMETERS(m) + NP - NH + dd_friction_modes[k]; }

static int rubbing(Instance *m, const Rubbing *r) {
  return settle(m, m->t, STATES(m)) ||
         dd_frictions(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), r->speed, r->force, r->change, r->limit);
}

static double largest_of(const double *values, int count) {
  double found = 0;
  int k;
  for (k = 0; k < count; ++k) found = fmax(found, fabs(values[k]));
  return found;
}

/* Whether a friction at rest contradicts its mode; then the mode that it turns to. */
static int contradicts(const Rubbing *r, int k, double mode, double *turned) {
  if (mode == 0) {
    *turned = r->force[k] > 0 ? -1 : 1;
    return fabs(r->force[k]) > r->limit[k] + NO_FORCE * largest_of(r->force, NF);
  }
  *turned = 0;
  return mode * r->change[k] < 0;
}

/* Brings the speeds of all frictions that stick to zero. */
static int stop_stuck(Instance *m, const Rubbing *r) {
  double states[OF(NX * NF)], speeds[OF(NF * NF)], right[OF(NF)], sizes[OF(NF)];
  int order[OF(NF)], i, k, any = 0;
  for (k = 0; k < NF; ++k) right[k] = *mode_of(m, k) == 0 ? -r->speed[k] : 0, any |= right[k] != 0;
  if (!any) return 0;
  if (dd_impulses(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), states, speeds)) return 1;
  for (k = 0; k < NF; ++k) {
    if (*mode_of(m, k) == 0) continue;
    for (i = 0; i < NF; ++i) speeds[i + NF * k] = speeds[k + NF * i] = i == k;
  }
  if (factor(speeds, order, sizes, NF)) return 1;
  solve_by_factors(speeds, order, right, NF);
  for (k = 0; k < NF; ++k)
    for (i = 0; i < NX; ++i) STATES(m)[i] += states[i + NX * k] * right[k];
  return 0;
}

/* The modes behind an instant; fired: the frictions whose guards brought it about, NULL for none. */
static int decide(Instance *m, const int *fired) {
  double numbers[OF(4 * NF)], scale = fmax(1.0, largest_of(STATES(m), NX)), turned = 0;
  int rests[OF(NF)], k, turns;
  const Rubbing r = {numbers, numbers + NF, numbers + 2 * NF, numbers + 3 * NF};
  if (NF == 0) return 0;
  if (rubbing(m, &r)) return 1;
  for (k = 0; k < NF; ++k) {
    double *mode = mode_of(m, k);
    const int fires = fired && fired[k];
    rests[k] = fires || fabs(r.speed[k]) <= (*mode == 0 ? STUCK : AT_REST) * scale;
    if (!rests[k]) *mode = r.speed[k] > 0 ? 1 : -1;
    else *mode = fires && *mode == 0 ? (r.force[k] > 0 ? -1 : 1) : 0;
  }
  for (turns = 0; turns < MOST_ROUNDS * NF; ++turns) {
    if (rubbing(m, &r)) return 1;
    for (k = 0; k < NF; ++k)
      if (rests[k] && contradicts(&r, k, *mode_of(m, k), &turned)) break;
    if (k == NF) return stop_stuck(m, &r);
    *mode_of(m, k) = turned;
  }
  return 1;
}
