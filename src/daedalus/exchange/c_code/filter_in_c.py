"""A Kalman filter in C99, operation by operation that of the core: one step over a part of an interval, and an update.

    x' = f(t, x, u),  P' = A P + P Aᵀ + Π Q Πᵀ       P by series and doubling of two means of A (Blanes, Moan 2006)
    S = H P Hᵀ + R,  K = P Hᵀ S⁻¹,  P⁺ = (I − K H) P (I − K H)ᵀ + K R Kᵀ     (Joseph)

The functions NAME_filter_slopes (A), NAME_filter_measured (y and H) and NAME_filter_onto (Π) are written by CasADi;
matrices are stored by rows.
"""

from __future__ import annotations

_MATRICES = """
#define SQUARE (N * N)

typedef struct { double transition[SQUARE], noise[SQUARE]; } NoiseStep;

/* F P F' + Q of a symmetric P; out is none of them. */
static void carry(const double *F, const double *P, const double *Q, double *out) {
  double product[SQUARE];
  int r, c, k;
  for (r = 0; r < N; ++r)
    for (c = 0; c < N; ++c) {
      double sum = 0.0;
      for (k = 0; k < N; ++k) sum += F[r * N + k] * P[k * N + c];
      product[r * N + c] = sum;
    }
  for (r = 0; r < N; ++r)
    for (c = 0; c <= r; ++c) {
      double sum = Q[r * N + c];
      for (k = 0; k < N; ++k) sum += product[r * N + k] * F[c * N + k];
      out[r * N + c] = sum;
      out[c * N + r] = sum;
    }
}

static void multiply(const double *A, const double *B, double *out) {
  int r, c, k;
  for (r = 0; r < N; ++r)
    for (c = 0; c < N; ++c) {
      double sum = 0.0;
      for (k = 0; k < N; ++k) sum += A[r * N + k] * B[k * N + c];
      out[r * N + c] = sum;
    }
}

static double largest(const double *values) {
  double found = 0.0;
  int k;
  for (k = 0; k < SQUARE; ++k) found = fmax(found, fabs(values[k]));
  return found;
}

/* One step after another; out may be one of them. */
static void join(const NoiseStep *first, const NoiseStep *second, NoiseStep *out) {
  NoiseStep both;
  carry(second->transition, first->noise, second->noise, both.noise);
  multiply(second->transition, first->transition, both.transition);
  *out = both;
}

/* The transition less the identity, and the noise, over a time in which A does little. */
static void series(double h, const double *A, const double *Q, NoiseStep *out) {
  const double rounding = 0.25 * 2.220446049250313e-16;
  double term[SQUARE], product[SQUARE];
  int r, c, i, k;
  for (i = 0; i < SQUARE; ++i) term[i] = out->transition[i] = h * A[i];
  for (k = 2; k < 24 && largest(term) > rounding * largest(out->transition); ++k) {
    multiply(A, term, product);
    for (i = 0; i < SQUARE; ++i) out->transition[i] += term[i] = h / k * product[i];
  }
  for (i = 0; i < SQUARE; ++i) term[i] = out->noise[i] = h * Q[i];
  for (k = 2; k < 24 && largest(term) > rounding * largest(out->noise); ++k) {
    multiply(A, term, product);
    for (r = 0; r < N; ++r)
      for (c = 0; c < N; ++c) term[r * N + c] = h / k * (product[r * N + c] + product[c * N + r]);
    for (i = 0; i < SQUARE; ++i) out->noise[i] += term[i];
  }
}

/* The transition and the noise over a step with constant A and Q. */
static int constant_step(double length, const double *A, const double *Q, NoiseStep *out) {
  double size = 0.0, moved[SQUARE], product[SQUARE];
  int halvings = 0, r, c, i, k;
  for (r = 0; r < N; ++r) {
    double row = 0.0, column = 0.0;
    for (c = 0; c < N; ++c) { row += fabs(A[r * N + c]); column += fabs(A[c * N + r]); }
    if (!(row <= size)) size = row;
    if (!(column <= size)) size = column;
  }
  size *= fabs(length);
  if (!isfinite(size)) return 1;
  if (size > 0.25) halvings = (int)ceil(log2(size / 0.25));
  series(ldexp(length, -halvings), A, Q, out);
  for (k = 0; k < halvings; ++k) {
    for (i = 0; i < N; ++i) out->transition[i * N + i] += 1.0;
    carry(out->transition, out->noise, out->noise, moved);
    for (i = 0; i < SQUARE; ++i) out->noise[i] = moved[i];
    for (i = 0; i < N; ++i) out->transition[i * N + i] -= 1.0;
    multiply(out->transition, out->transition, product);
    for (i = 0; i < SQUARE; ++i) out->transition[i] = 2 * out->transition[i] + product[i];
  }
  for (i = 0; i < N; ++i) out->transition[i * N + i] += 1.0;
  for (i = 0; i < SQUARE; ++i)
    if (!isfinite(out->transition[i]) || !isfinite(out->noise[i])) return 1;
  return 0;
}

static int same(const double *one, const double *other) {
  int k;
  for (k = 0; k < SQUARE; ++k)
    if (one[k] != other[k]) return 0;
  return 1;
}

/* The same with A and Q that change: at the beginning, in the middle and at the end. */
static int noise_step(double length, double A[][SQUARE], double Q[][SQUARE], int a, int b, int c, NoiseStep *out) {
  static const double weights[2][3] = {{1.0 / 4, 1.0 / 3, -1.0 / 12}, {-1.0 / 12, 1.0 / 3, 1.0 / 4}};
  NoiseStep halves[2];
  double mean[SQUARE], density[SQUARE];
  int i, k;
  if (same(A[a], A[b]) && same(A[a], A[c]) && same(Q[a], Q[b]) && same(Q[a], Q[c]))
    return constant_step(length, A[a], Q[a], out);
  for (k = 0; k < 2; ++k) {
    const double *w = weights[k];
    for (i = 0; i < SQUARE; ++i) {
      mean[i] = w[0] * A[a][i] + w[1] * A[b][i] + w[2] * A[c][i];
      density[i] = w[0] * Q[a][i] + w[1] * Q[b][i] + w[2] * Q[c][i];
    }
    if (constant_step(length, mean, density, &halves[k])) return 1;
  }
  join(&halves[0], &halves[1], out);
  return 0;
}
"""

_PREDICT = """
/* A and Q where x is known. */
static int look(double t, const double *x, const double *u, const double *p, double *A, double *Q, double *onto) {
  int i;
  if (@_filter_slopes(&t, x, u, p, A)) return 1;
#if KEEPS
  static const double none[SQUARE] = {0.0};
  (void)i;
  if (@_filter_onto(&t, x, u, p, onto)) return 1;
  carry(onto, density, none, Q);
#else
  (void)onto;
  for (i = 0; i < SQUARE; ++i) Q[i] = density[i];
#endif
  return 0;
}

int @_filter_predict(double t, double h, double *x, double *P, const double *u, const double *p) {
  static const double share[5] = {0.0, 0.5, 1.0, 0.25, 0.75};
  double at[5][N], A[5][SQUARE], Q[5][SQUARE], onto[5][SQUARE], carried[SQUARE];
  NoiseStep first, second, whole;
  int constant = 1, i, k;
  for (i = 0; i < N; ++i) at[0][i] = x[i];
  if (look(t, at[0], u, p, A[0], Q[0], onto[0])) return 1;
#if KEEPS
  for (i = 0; i < SQUARE; ++i) first.noise[i] = 0.0;
  carry(onto[0], P, first.noise, carried);
  for (i = 0; i < SQUARE; ++i) P[i] = carried[i];
#endif
  for (k = 1; k < 5; ++k) {
    const int from = share[k] > 0.5 ? 1 : 0;
    const double begin = share[from];
    for (i = 0; i < N; ++i) at[k][i] = at[from][i];
    if (@_step(t + begin * h, (share[k] - begin) * h, at[k], u, p)) return 1;
    if (look(t + share[k] * h, at[k], u, p, A[k], Q[k], onto[k])) return 1;
    constant = constant && same(A[0], A[k]) && same(Q[0], Q[k]);
  }
  if (constant) {
    if (constant_step(h, A[0], Q[0], &whole)) return 1;
  } else {
    if (noise_step(0.5 * h, A, Q, 0, 3, 1, &first) || noise_step(0.5 * h, A, Q, 1, 4, 2, &second)) return 1;
    join(&first, &second, &whole);
  }
#if KEEPS
  for (i = 0; i < SQUARE; ++i) { second.transition[i] = onto[2][i]; second.noise[i] = 0.0; }
  join(&whole, &second, &whole);
#endif
  carry(whole.transition, P, whole.noise, carried);
  for (i = 0; i < SQUARE; ++i) P[i] = carried[i];
  for (i = 0; i < N; ++i) x[i] = at[2][i];
  return 0;
}
"""

_UPDATE = """
int @_filter_update(double t, double *x, double *P, const double *y, const double *u, const double *p) {
  double values[M], H[M * N], v[M], gain[M * N], weighed[M * N], S[M * M], left[SQUARE], added[SQUARE], out[SQUARE];
  int seen[M], count = 0, i, j, k, c;
  if (@_filter_measured(&t, x, u, p, values, H)) return 1;
  for (k = 0; k < M; ++k) {
    v[k] = y[k] - values[k];
    if (!isnan(v[k])) seen[count++] = k;
  }
  /* Rows of H P, and S with Cholesky's factor; then rows of the gain's transpose. */
  for (k = 0; k < count; ++k) {
    for (i = 0; i < N; ++i) {
      double sum = 0.0;
      for (j = 0; j < N; ++j) sum += H[seen[k] * N + j] * P[j * N + i];
      gain[k * N + i] = sum;
    }
    for (c = 0; c < count; ++c) {
      double sum = noise[seen[k] * M + seen[c]];
      for (j = 0; j < N; ++j) sum += gain[k * N + j] * H[seen[c] * N + j];
      S[k * M + c] = sum;
    }
  }
  for (j = 0; j < count; ++j)
    for (k = j; k < count; ++k) {
      double sum = S[k * M + j];
      for (c = 0; c < j; ++c) sum -= S[k * M + c] * S[j * M + c];
      if (k == j && !(sum > 0.0)) return 2;
      S[k * M + j] = k == j ? sqrt(sum) : sum / S[j * M + j];
    }
  for (k = 0; k < count; ++k)
    for (i = 0; i < N; ++i) {
      for (c = 0; c < k; ++c) gain[k * N + i] -= S[k * M + c] * gain[c * N + i];
      gain[k * N + i] /= S[k * M + k];
    }
  for (k = count - 1; k >= 0; --k)
    for (i = 0; i < N; ++i) {
      for (c = k + 1; c < count; ++c) gain[k * N + i] -= S[c * M + k] * gain[c * N + i];
      gain[k * N + i] /= S[k * M + k];
      x[i] += v[seen[k]] * gain[k * N + i];
    }
  for (k = 0; k < count; ++k)
    for (i = 0; i < N; ++i) {
      weighed[k * N + i] = 0.0;
      for (c = 0; c < count; ++c) weighed[k * N + i] += noise[seen[k] * M + seen[c]] * gain[c * N + i];
    }
  for (i = 0; i < N; ++i)
    for (j = 0; j < N; ++j) {
      left[i * N + j] = i == j ? 1.0 : 0.0;
      added[i * N + j] = 0.0;
      for (k = 0; k < count; ++k) {
        left[i * N + j] -= gain[k * N + i] * H[seen[k] * N + j];
        added[i * N + j] += gain[k * N + i] * weighed[k * N + j];
      }
    }
  carry(left, P, added, out);
  for (i = 0; i < SQUARE; ++i) P[i] = out[i];
#if MOVES
  {
    double from[N], moved[N], change = 1.0;
    for (i = 0; i < N; ++i) from[i] = x[i];
    for (k = 0; k < CORRECTIONS && change > SETTLED; ++k) {
      if (@_correct(&t, from, u, p, moved)) return 1;
      for (change = 0.0, i = 0; i < N; ++i)
        if (!(fabs(moved[i] - from[i]) <= change)) change = fabs(moved[i] - from[i]);
      if (!isfinite(change)) break;
      for (i = 0; i < N; ++i) from[i] = moved[i];
    }
    if (isfinite(change))
      for (i = 0; i < N; ++i) x[i] = from[i];
  }
#endif
  for (i = 0; i < N; ++i)
    if (!isfinite(x[i])) return 1;
  return 0;
}
"""

_CALL = """
void @_filter_begin(@_filter *filter) {
  int i;
  filter->t = 0.0;
  filter->calls = 0;
  for (i = 0; i < N; ++i) filter->x[i] = x_start[i];
  for (i = 0; i < SQUARE; ++i) filter->P[i] = P_start[i];
  for (i = 0; i < NU; ++i) filter->u[i] = u_start[i];
  for (i = 0; i < NP; ++i) filter->p[i] = p_values[i];
}

int @_filter_call(@_filter *filter, const double *y, const double *u) {
  @_filter next = *filter;
  int failed, i, k;
  if (next.calls) {
    const double h = @_FILTER_EVERY / STEPS;
    for (k = 0; k < STEPS; ++k)
      if (@_filter_predict(next.t + k * h, h, next.x, next.P, next.u, next.p)) return 1;
    next.t += @_FILTER_EVERY;
  } else if (u && OPEN) {
    for (i = 0; i < NU; ++i) next.u[i] = u[i];
  }
  failed = @_filter_update(next.t, next.x, next.P, y, next.u, next.p);
  if (failed) return failed;
  if (u)
    for (i = 0; i < NU; ++i) next.u[i] = u[i];
  next.calls = 1;
  *filter = next;
  return 0;
}
"""

HEADER = """/* A Kalman filter of {title}. Fill NAN into y for what was not measured.
   Functions return 0 on success, 1 where a step fails, 2 where neither the state nor y has any noise. */
#ifndef {upper}_FILTER_H
#define {upper}_FILTER_H
#include "{name}.h"

#define {upper}_FILTER_NY {ny}
#define {name}_FILTER_EVERY {every}

/* The time, the state, its covariance by rows, the inputs that hold, and the parameters. */
typedef struct {{
  double t, x[{nx}], P[{square}], u[{nu}], p[{np}];
  int calls;
}} {name}_filter;

/* The start of the estimator. */
void {name}_filter_begin({name}_filter *filter);
/* A sample: y now, and the inputs u from now on; u may be 0, for those that held before. On failure nothing changes. */
int {name}_filter_call({name}_filter *filter, const double *y, const double *u);
/* The parts of a call: one step of x and P from t to t + h, and the measurements y at t. */
int {name}_filter_predict(double t, double h, double *x, double *P, const double *u, const double *p);
int {name}_filter_update(double t, double *x, double *P, const double *y, const double *u, const double *p);

{declared}
#endif
"""


def filter_code(name: str) -> str:
    """The filter, behind its sizes, its numbers and its functions."""
    return (_MATRICES + _PREDICT + _UPDATE + _CALL).replace("@", name)
