"""A controller with a receding horizon in C99, operation by operation that of the core: program, shift, step length.

Between calls the plan is shifted and the problem linearised along it; a call takes the measured states in and solves
one quadratic program (`stage_program_in_c`), whose step is shortened until cost and conditions together get better.
See `core/program/receding.hpp` for the sources.
"""

from __future__ import annotations

from daedalus._core import receding_numbers
from daedalus.exchange.c_code.stage_program_in_c import CODE, FIELDS

_PROGRAM = """
/* -- the problem: small functions, each at many places, and a linear part -- */

/* A function at `count` places; tables hold one row a place, as in the package. */
typedef struct {
  int count, arguments, results, first_entries, second_entries, states, inputs, curved;
  const int *sources, *rows, *first_places, *second_places, *slopes, *curved_row, *curved_column;
  const double *weights, *first_factors, *second_factors;
  int (*value)(const double *v, double *r);
  int (*first)(const double *v, double *d);
  int (*second)(const double *v, const double *mu, double *d);
  int (*curvature)(const double *x, const double *u, const double *p, const double *tau, double *C, double *F);
} Block;
@BLOCKS@

static void gather(const Work *w, const Block *b, int place, double *v) {
  int k;
  for (k = 0; k < b->arguments; ++k) v[k] = w->source[b->sources[place * b->arguments + k]];
}

static void move_to(Work *w, const double *point) {
  int i;
  for (i = 0; i < NV; ++i) w->source[i] = scale[i] * point[i];
  for (i = 0; i < NP; ++i) w->source[NV + i] = w->numbers[i];
}

/* The rows and then the objective. */
static int values(Work *w, const double *point) {
  double v[LONGEST], r[LONGEST];
  int b, place, k;
  move_to(w, point);
  for (k = 0; k <= NR; ++k) w->rows[k] = 0.0;
  for (k = 0; k < NL; ++k) w->rows[linear_row[k]] += linear_coefficient[k] * point[linear_column[k]];
  for (b = 0; b < BLOCK_COUNT; ++b)
    for (place = 0; place < blocks[b].count; ++place) {
      const int at = place * blocks[b].results;
      gather(w, blocks + b, place, v);
      if (blocks[b].value(v, r)) return 1;
      for (k = 0; k < blocks[b].results; ++k) w->rows[blocks[b].rows[at + k]] += blocks[b].weights[at + k] * r[k];
    }
  for (k = 0; k <= NR; ++k)
    if (!isfinite(w->rows[k])) return 1;
  return 0;
}

/* Gauss and Newton's curvature of a cost along an interval: C at three points, carried there by the slopes S. */
static int add_curvature(const Block *b, const double *v, const double *end, const double *jacobian, double *out) {
  static const double tau[3] = {0.0, 1.0, 0.5}, weight[3] = {1.0 / 6.0, 1.0 / 6.0, 4.0 / 6.0};
  const int n = b->states, size = n + b->inputs;
  double S[SLOPES], last[SLOPES], bend[2][SLOPES], F[SLOPES], C[CURVED], x[SLOPES], weighted[SQUARE];
  int round, i, j, k, e;
  for (i = 0; i < n * size; ++i) last[i] = 0.0;
  for (e = 0; e < b->first_entries; ++e)
    if (b->slopes[e] >= 0) last[b->slopes[e]] = jacobian[e];
  for (round = 0; round < 3; ++round) {
    for (i = 0; i < n; ++i) {
      x[i] = (1.0 - tau[round]) * v[i] + tau[round] * end[i];
      for (k = 0; k < size; ++k) {
        double *s = S + i * size + k;
        const double turned = round == 2 ? bend[0][i * size + k] - bend[1][i * size + k] : 0.0;
        if (round == 0) *s = i == k;
        if (round == 1) *s = last[i * size + k];
        if (round == 2) *s = 0.5 * last[i * size + k] + 0.125 * turned + 0.5 * (i == k);
      }
    }
    if (b->curvature(x, v + n, v + size, tau + round, C, F)) return 1;
    for (i = 0; i < size * size; ++i) weighted[i] = 0.0;
    for (e = 0; e < b->curved; ++e) {
      const int row = b->curved_row[e], column = b->curved_column[e];
      const double entry = weight[round] * C[e];
      if (column >= n) weighted[row * size + column] += entry;
      else
        for (k = 0; k < size; ++k) weighted[row * size + k] += entry * S[column * size + k];
    }
    for (i = 0; i < size; ++i)
      for (j = 0; j < size; ++j) {
        const double slope = i >= n ? (i == j) : S[i * size + j];
        for (k = 0; k <= j && slope != 0.0; ++k) out[j * (j + 1) / 2 + k] += slope * weighted[i * size + k];
      }
    for (i = 0; i < n && round < 2; ++i)
      for (k = 0; k < size; ++k) {
        double sum = k >= n ? F[k * n + i] : 0.0;
        for (j = 0; j < n; ++j) sum += F[j * n + i] * S[j * size + k];
        bend[round][i * size + k] = sum;
      }
  }
  return 0;
}

/* Derivatives at a point, spread over the matrices of the stages. */
static int derivatives(Work *w, const double *point) {
  double v[LONGEST], d[LONGEST], e[LONGEST], mu[LONGEST];
  int b, place, k;
  move_to(w, point);
  for (k = 0; k < NJ + NV; ++k) w->first[k] = 0.0;
  for (k = 0; k < NH; ++k) w->second[k] = 0.0;
  for (k = 0; k < NL; ++k) w->first[linear_place[k]] += linear_coefficient[k];
  for (b = 0; b < BLOCK_COUNT; ++b) {
    const Block *own = blocks + b;
    for (place = 0; place < own->count; ++place) {
      const int first = place * own->first_entries, second = place * own->second_entries, rows = place * own->results;
      gather(w, own, place, v);
      if (own->first(v, d)) return 1;
      for (k = 0; k < own->first_entries; ++k) {
        const int to = own->first_places[first + k];
        if (to >= 0) w->first[to] += own->first_factors[first + k] * d[k];
      }
      if (!own->second_entries) continue;
      for (k = 0; k < own->second_entries; ++k) e[k] = 0.0;
      if (own->curvature) {
        if (own->value(v, mu) || add_curvature(own, v, mu, d, e)) return 1;
      } else {
        for (k = 0; k < own->results; ++k) mu[k] = own->rows[rows + k] == NR ? own->weights[rows + k] : 0.0;
        if (own->second(v, mu, e)) return 1;
      }
      for (k = 0; k < own->second_entries; ++k) {
        const int to = own->second_places[second + k];
        if (to >= 0) w->second[to] += own->second_factors[second + k] * e[k];
      }
    }
  }
  for (k = 0; k < NJ + NV; ++k)
    if (!isfinite(w->first[k])) return 1;
  for (k = 0; k < NH; ++k)
    if (!isfinite(w->second[k])) return 1;
  return 0;
}
"""

_CONVEX = """
/* -- the convex part of a curvature: A = V L V' becomes V max(L, 0) V', by Jacobi's rotations -- */

static int is_convex(const double *a, int n, double *m) {
  double most = 0.0, shift;
  int i, j, k;
  for (i = 0; i < n * n; ++i) most = fmax(most, fabs(a[i]));
  shift = 1e-12 * most * n;
  for (i = 0; i < n * n; ++i) m[i] = a[i];
  for (j = 0; j < n; ++j) {
    double pivot = m[j * n + j] + shift, root;
    for (k = 0; k < j; ++k) pivot -= m[j * n + k] * m[j * n + k];
    if (pivot < 0.0) return 0;
    root = sqrt(fmax(pivot, 1e-300));
    for (i = j + 1; i < n; ++i) {
      double rest = m[i * n + j];
      for (k = 0; k < j; ++k) rest -= m[i * n + k] * m[j * n + k];
      if (pivot <= shift && fabs(rest) > 1e-6 * most) return 0;
      m[i * n + j] = pivot <= shift ? 0.0 : rest / root;
    }
    m[j * n + j] = root;
  }
  return 1;
}

static void turn(double *one, double *two, double c, double s) {
  const double before = *one;
  *one = c * before - s * *two;
  *two = s * before + c * *two;
}

static void make_convex(double *a, int n) {
  double m[SQUARE], V[SQUARE];
  int sweep, p, q, k, i, j, rotated = 1;
  if (is_convex(a, n, m)) return;
  for (i = 0; i < n * n; ++i) m[i] = a[i], V[i] = 0.0, a[i] = 0.0;
  for (i = 0; i < n; ++i) V[i * n + i] = 1.0;
  for (sweep = 0; sweep < 30 && rotated; ++sweep) {
    rotated = 0;
    for (p = 0; p < n; ++p)
      for (q = p + 1; q < n; ++q) {
        const double beside = m[p * n + q], one = m[p * n + p], two = m[q * n + q];
        double theta, t, c, s;
        if (fabs(beside) <= 1e-15 * (fabs(one) + fabs(two)) + 1e-300) continue;
        rotated = 1;
        theta = 0.5 * (two - one) / beside;
        t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
        c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (k = 0; k < n; ++k) turn(m + k * n + p, m + k * n + q, c, s);
        for (k = 0; k < n; ++k) turn(m + p * n + k, m + q * n + k, c, s);
        for (k = 0; k < n; ++k) turn(V + k * n + p, V + k * n + q, c, s);
      }
  }
  for (k = 0; k < n; ++k)
    for (i = 0; i < n && m[k * n + k] > 0.0; ++i)
      for (j = 0; j < n; ++j) a[i * n + j] += m[k * n + k] * V[i * n + k] * V[j * n + k];
}
"""

_RECEDING = """
/* -- the plan moving on -- */

static const double FARTHEST_TAIL = @FARTHEST_TAIL@, SUFFICIENT = @SUFFICIENT@, DECREASE = @DECREASE@;
static const double LEAST_WEIGHT = @LEAST_WEIGHT@, SETTLED_STEP = @SETTLED_STEP@, SETTLED = @SETTLED@;
static const double LEAST_CURVATURE = @LEAST_CURVATURE@;
enum { MOST_CUTS = @MOST_CUTS@, MOST_ROUNDS = @ROUNDS@ };

static void set_numbers(@_controller *c, double t) {
  Work *w = &c->work;
  int i;
  for (i = 0; i < NP; ++i) w->numbers[i] = number_values[i];
  for (i = 0; i < SHARE_COUNT; ++i) w->numbers[share_places[i]] += (t - BEGIN) / DURATION;
  for (i = 0; i < MODEL_NP; ++i)
    if (parameter_places[i] >= 0) w->numbers[parameter_places[i]] = c->p[i];
  for (i = 0; i < GIVEN_COUNT; ++i) w->numbers[given_places[i]] = c->given[i];
}

/* The plan moved on by a share of an interval; behind its end the last inputs stay. */
static void shift(Work *w, double share) {
  int i;
  for (; share > 0.0; share -= 1.0) {
    const double part = fmin(share, 1.0);
    for (i = 0; i < NV; ++i) w->moved[i] = w->point[following[i]];
    if (!values(w, w->moved))
      for (i = 0; i < TAIL; ++i)
        if (fabs(w->rows[tail_rows[i]]) < FARTHEST_TAIL) w->moved[tail_nodes[i]] -= w->rows[tail_rows[i]];
    for (i = 0; i < NV; ++i) w->point[i] += part * (w->moved[i] - w->point[i]);
  }
}

/* The quadratic program along the plan. */
static int prepare(Work *w) {
  int k, i, e;
  if (values(w, w->point) || derivatives(w, w->point)) return 1;
  for (i = 0; i < SIZE_H; ++i) w->H[i] = 0.0;
  for (i = 0; i < SIZE_J; ++i) w->J[i] = 0.0;
  for (i = 0; i < SIZE_G; ++i) w->G[i] = 0.0;
  for (e = 0; e < NJ; ++e) {
    if (step_target[e] >= 0) w->J[step_target[e]] -= w->first[e];
    if (row_target[e] >= 0) w->G[row_target[e]] += w->first[e];
  }
  for (e = 0; e < NH; ++e) {
    w->H[curve_target[2 * e]] += w->second[e];
    if (curve_target[2 * e] != curve_target[2 * e + 1]) w->H[curve_target[2 * e + 1]] += w->second[e];
  }
  for (k = 0; k < K; ++k) {
    double largest = 1e-12;
    make_convex(w->H + at_H[k], wide[k]);
    for (i = 0; i < nu[k] + nx[k]; ++i) largest = fmax(largest, w->H[at_H[k] + i * (wide[k] + 1)]);
    w->least[k] = LEAST_CURVATURE * largest;
    for (i = 0; i < conditions[k]; ++i) {
      const int c = at_c[k] + i, row = condition_row[c], v = -1 - row;
      const double value = row >= 0 ? w->rows[row] : w->point[v];
      const double low = row >= 0 ? row_lower[row] : lower[v], high = row >= 0 ? row_upper[row] : upper[v];
      w->bound[0][c] = low - value, w->bound[1][c] = high - value;
      w->kind[c] = low == high ? EQUATION : (low > -1e20 ? 1 : 0) + (high < 1e20 ? 2 : 0);
    }
  }
  for (i = 0; i < NQ; ++i) w->g[i] = w->first[NJ + variable[i]];
  for (i = 0; i < NB; ++i) w->b[i] = row_lower[step_rows[i]] - w->rows[step_rows[i]];
  return 0;
}

/* What the measured states change in the first stage. */
static void take_in(Work *w, const double *x) {
  const int q = nu[0] + nx[0], next = K > 1 ? nx[1] : 0;
  int m, i;
  for (m = 0; m < NM; ++m) {
    const int column = q + m, v = measured[m];
    const double offset = w->offset[m] = (m < NX ? x[m] : 0.0) / scale[v] - w->point[v];
    for (i = 0; i < next; ++i) w->b[at_b[0] + i] += w->J[at_J[0] + i * wide[0] + column] * offset;
    for (i = 0; i < q; ++i) w->g[at_v[0] + i] += w->H[at_H[0] + i * wide[0] + column] * offset;
    for (i = 0; i < own_rows[0]; ++i) {
      const double moved = w->G[at_G[0] + i * wide[0] + column] * offset;
      w->bound[0][at_c[0] + i] -= moved, w->bound[1][at_c[0] + i] -= moved;
    }
  }
}

static double merit(Work *w, double length, double *objective, double *missed) {
  int i;
  for (i = 0; i < NV; ++i) w->moved[i] = w->point[i];
  for (i = 0; i < NQ; ++i) w->moved[variable[i]] += length * w->v[i];
  for (i = 0; i < NM; ++i) w->moved[measured[i]] = w->point[measured[i]] + w->offset[i];
  *objective = *missed = INFINITY;
  if (values(w, w->moved)) return INFINITY;
  *objective = w->rows[NR], *missed = 0.0;
  for (i = 0; i < NR; ++i) *missed += fmax(0.0, fmax(row_lower[i] - w->rows[i], w->rows[i] - row_upper[i]));
  return *objective + w->weight * *missed;
}

/* What the quadratic program says of the objective along its step. */
static double predicted(const Work *w) {
  double sum = 0.0;
  int k, i, j;
  for (k = 0; k < K; ++k)
    for (i = 0; i < nu[k] + nx[k]; ++i) {
      const double *v = w->v + at_v[k];
      double bent = i < nu[k] ? 0.5 * w->least[k] * v[i] : 0.0;
      for (j = 0; j < nu[k] + nx[k]; ++j) bent += 0.5 * w->H[at_H[k] + i * wide[k] + j] * v[j];
      sum += v[i] * (w->g[at_v[k] + i] + bent);
    }
  return sum;
}

/* The plan moved by the longest share of the step that makes it better; 0 where none does. */
static double move(Work *w, double largest) {
  double objective, missed, own, rest, change, before, rounding, gain, length = 1.0;
  int cut, i;
  merit(w, 0.0, &objective, &missed);
  change = predicted(w);
  w->weight *= 0.5;
  if (missed > 0.0) w->weight = fmax(w->weight, fmax(change, 0.0) / ((1.0 - DECREASE) * missed));
  w->weight = fmax(w->weight, LEAST_WEIGHT * fabs(change) / fmax(missed, 1.0));
  if (!isfinite(w->weight)) w->weight = 0.0;
  before = objective + w->weight * missed;
  rounding = 1e-9 * (fabs(objective) + w->weight * missed) + 1e-12;
  gain = fmax(0.0, w->weight * missed - change);
  for (cut = 0; cut <= MOST_CUTS; ++cut, length *= 0.5) {
    const double after = merit(w, length, &own, &rest);
    const int better = isfinite(before) ? after <= before - SUFFICIENT * length * gain + rounding : isfinite(after);
    if (!better && !(largest < SETTLED_STEP && cut == 0)) continue;
    for (i = 0; i < NV; ++i) w->point[i] = w->moved[i];
    return length;
  }
  return 0.0;
}

/* One quadratic program from measured states; the share of its step that was taken. */
static double feed_back(Work *w, const double *x) {
  double largest = 0.0;
  int i;
  take_in(w, x);
  if (solve_program(w) == FAILED) return 0.0;
  for (i = 0; i < NQ; ++i) largest = fmax(largest, fabs(w->v[i]));
  for (i = 0; i < NM; ++i) largest = fmax(largest, fabs(w->offset[i]));
  w->largest = largest;
  return move(w, largest);
}

static void applied_inputs(const Work *w, double *u) {
  int i;
  for (i = 0; i < NU; ++i)
    u[i] = fmin(fmax(w->point[applied[i]] * scale[applied[i]], input_lower[i]), input_upper[i]);
}

void @_controller_begin(@_controller *c, double t) {
  int i;
  c->t = t, c->calls = 0, c->rounds = 0, c->age = 0.0, c->work.prepared = 0, c->work.weight = 0.0;
  for (i = 0; i < NV; ++i) c->work.point[i] = plan[i];
  for (i = 0; i < MODEL_NP; ++i) c->p[i] = model_parameters[i];
  for (i = 0; i < GIVEN_COUNT; ++i) c->given[i] = given_values[i];
}

int @_controller_prepare(@_controller *c, double t) {
  const double passed = c->calls == 0 ? 0.0 : t > c->t ? t - c->t : EVERY;
  set_numbers(c, t);
  shift(&c->work, fmin(passed / WIDTH, (double)INTERVALS));
  c->age += passed, c->t = t;
  c->work.prepared = prepare(&c->work) ? 0 : 1;
  return !c->work.prepared;
}

int @_controller_call(@_controller *c, double t, const double *x, double *u) {
  Work *w = &c->work;
  int most = FULL || c->calls == 0 ? MOST_ROUNDS : 1, i, failed = 0, better = 0;
  for (i = 0; i < NX; ++i) failed |= !isfinite(x[i]);
  if (!(w->prepared && c->t == t)) @_controller_prepare(c, t);
  if (c->age > DURATION) {
    /* A plan that nothing has renewed for a whole horizon: from the measured states, at rest. */
    for (i = 0; i < NV; ++i) w->point[i] = rest[i];
    for (i = 0; i < NX * (INTERVALS + 1) && !failed; ++i) w->point[nodes[i]] = x[i % NX] / scale[nodes[i]];
    w->prepared = prepare(w) ? 0 : 1, most = MOST_ROUNDS;
  }
  for (c->rounds = 0; w->prepared && !failed && c->rounds < most; ) {
    const double length = feed_back(w, x);
    ++c->rounds, better |= length > 0.0;
    if (length == 0.0 || w->largest < SETTLED || (c->rounds < most && prepare(w))) break;
  }
  ++c->calls, w->prepared = 0;
  applied_inputs(w, u);
  if (!better) return 1;
  c->age = 0.0;
  return 0;
}
"""

HEADER = """/* A model predictive controller of {title}: one real-time iteration a call, no heap. */
#ifndef {upper}_CONTROLLER_H
#define {upper}_CONTROLLER_H

#define {upper}_CONTROLLER_NX {NX}
#define {upper}_CONTROLLER_NU {NU}
#define {upper}_CONTROLLER_NP {MODEL_NP}
#define {upper}_CONTROLLER_NGIVEN {NG}
#define {upper}_CONTROLLER_EVERY {every!r}
#define {upper}_CONTROLLER_DURATION {duration!r}

extern const char *const {name}_controller_x_names[{LX}];
extern const char *const {name}_controller_u_names[{LU}];
extern const char *const {name}_controller_p_names[{LP}];
extern const char *const {name}_controller_given_names[{LG}];
/* The entries of `given` are in rows of {NG}; row k counts at the time t + DURATION * given_shares[k]. */
extern const double {name}_controller_given_shares[{LS}];

/* Memory of the quadratic programs; of no interest outside. */
typedef struct {{
  double point[{NV}], moved[{NV}], source[{sources}], numbers[{LN}], rows[{rows}], first[{first}], second[{LH}];
  double offset[{NM}], weight, largest;
{fields}
  int prepared;
}} {name}_controller_work;

/* The time of the last call, parameters of the model and given inputs, which you may change before a call; the
   number of calls, the quadratic programs of the last one, and the time since the plan was renewed: {kilobytes} kB. */
typedef struct {{
  double t, p[{LP}], given[{LGIVEN}], age;
  int calls, rounds;
  {name}_controller_work work;
}} {name}_controller;

/* The plan that the controller was written with, at time t. */
void {name}_controller_begin({name}_controller *c, double t);
/* The inputs u to apply from t on, for measured states x. Returns 0 for a new plan, and 1 where none was found (or x is
   not finite): u is then that of the last plan, moved on. The first call solves up to {rounds} quadratic programs. */
int {name}_controller_call({name}_controller *c, double t, const double *x, double *u);
/* What a call at t does before it needs x; a call does it itself. 0 on success. */
int {name}_controller_prepare({name}_controller *c, double t);

#endif
"""


def controller_code(name: str, blocks: str, settled: float, rounds: int) -> str:
    """The controller, behind its sizes, its tables and its functions."""
    text = _PROGRAM.replace("@BLOCKS@", blocks) + _CONVEX + CODE + _RECEDING
    for word, value in {**receding_numbers, "settled": settled, "rounds": rounds}.items():
        text = text.replace(f"@{word.upper()}@", repr(value))
    return text.replace("@", name)


def work_fields(sizes: dict[str, int]) -> str:
    """The part of the memory that the quadratic programs take."""
    return FIELDS.format(**{word: max(1, size) for word, size in sizes.items()})
