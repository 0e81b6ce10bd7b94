"""A quadratic program in stages as C99: an interior-point method whose Newton steps are Riccati recursions.

    min Σ_k ½ vᵀ H_k v + g_kᵀ v    v = (u_k, x_k)      x_{k+1} = J_k v + b_k,      low <= a_i v <= high

Mehrotra's predictor and corrector (SIAM J. Optim. 2, 1992) on the stages as in Rao, Wright, Rawlings: Application of
interior-point methods to model predictive control (J. Optim. Theory Appl. 99, 1998). Rows that are equations have a
multiplier y whose step is (a v - e) / EQUAL, the proximal method of multipliers; it converges with the rest.
All memory is that of a struct of fixed size.
"""

from __future__ import annotations

_PRODUCTS = """
/* -- a quadratic program in stages -- */

static const double EQUAL = 1e-7;                 /* 1 / weight of rows that are equations, by the largest curvature */
static const double ACCURATE = 1e-9, TOUCHED = 1e-12, NEAR = 1e-4;
enum { MOST_ITERATIONS = @MOST_ITERATIONS@ };
enum { SOLVED, NEARLY, FAILED };
/* Conditions have a low side 0 and a high side 1, both sides, or are equations. */
enum { EQUATION = 4 };
static const double inwards[2] = {1.0, -1.0};

/* a_i v of a condition: of the first ones a row of G, of the others one variable. */
static double condition(const Work *w, int k, int i, const double *v) {
  const double *row = w->G + at_G[k] + i * wide[k];
  double sum = 0.0;
  int j;
  if (i >= own_rows[k]) return v[condition_place[at_c[k] + i]];
  for (j = 0; j < nu[k] + nx[k]; ++j) sum += row[j] * v[j];
  return sum;
}

/* out += factor a_i. */
static void add_condition(const Work *w, int k, int i, double factor, double *out) {
  const double *row = w->G + at_G[k] + i * wide[k];
  int j;
  if (i >= own_rows[k]) { out[condition_place[at_c[k] + i]] += factor; return; }
  for (j = 0; j < nu[k] + nx[k]; ++j) out[j] += factor * row[j];
}

/* What the conditions of a stage add to its curvature. */
static void add_weights(Work *w, int k, double *M) {
  const int q = nu[k] + nx[k];
  int i, r, c, s;
  for (i = 0; i < conditions[k]; ++i) {
    const int e = at_c[k] + i;
    const double *row = w->G + at_G[k] + i * wide[k];
    double weight = 0.0;
    for (s = 0; s < 2; ++s)
      if (w->kind[e] & (1 << s)) weight += w->multiplier[s][e] / w->distance[s][e];
    if (w->kind[e] & EQUATION) weight += 1.0 / w->equal;
    if (i >= own_rows[k]) { M[condition_place[e] * (q + 1)] += weight; continue; }
    for (r = 0; r < q; ++r)
      for (c = 0; c <= r; ++c) M[r * q + c] += weight * row[r] * row[c];
  }
}

/* Cholesky's factor of the inputs' part, of the first stage of everything; behind it P, the cost of what is to come. */
static void factor(Work *w) {
  int k, r, c, i;
  for (k = K - 1; k >= 0; --k) {
    const int q = nu[k] + nx[k], stop = k ? nu[k] : q;
    const int next = k + 1 < K ? nx[k + 1] : 0, q1 = next ? nu[k + 1] + next : 0;
    const double *H = w->H + at_H[k], *J = w->J + at_J[k];
    double *M = w->factor + at_F[k], largest = 0.0;
    for (r = 0; r < q; ++r)
      for (c = 0; c <= r; ++c) M[r * q + c] = H[r * wide[k] + c];
    for (r = 0; r < nu[k]; ++r) M[r * (q + 1)] += w->least[k];
    add_weights(w, k, M);
    for (c = 0; c < q && next; ++c) {
      const double *P = w->factor + at_F[k + 1];
      const int n1 = nu[k + 1];
      double column[LARGEST];
      for (r = 0; r < next; ++r) {
        double sum = 0.0;
        for (i = 0; i < next; ++i)
          sum += (i <= r ? P[(n1 + r) * q1 + n1 + i] : P[(n1 + i) * q1 + n1 + r]) * J[i * wide[k] + c];
        column[r] = sum;
      }
      for (r = c; r < q; ++r)
        for (i = 0; i < next; ++i) M[r * q + c] += J[i * wide[k] + r] * column[i];
    }
    for (r = 0; r < q; ++r) largest = fmax(largest, fabs(M[r * (q + 1)]));
    for (c = 0; c < stop; ++c) {
      double pivot = M[c * (q + 1)];
      if (!(pivot > 1e-14 * largest)) pivot = 1e-14 * largest + 1e-300;
      pivot = sqrt(pivot);
      M[c * (q + 1)] = pivot;
      for (r = c + 1; r < q; ++r) M[r * q + c] /= pivot;
      for (r = c + 1; r < q; ++r)
        for (i = c + 1; i <= r; ++i) M[r * q + i] -= M[r * q + c] * M[i * q + c];
    }
  }
}

/* P_k d, of the states of a stage. */
static double cost_row(const Work *w, int k, int r, const double *d) {
  const int q = nu[k] + nx[k], n = nu[k];
  const double *P = w->factor + at_F[k];
  double sum = 0.0;
  int i;
  for (i = 0; i < nx[k]; ++i) sum += (i <= r ? P[(n + r) * q + n + i] : P[(n + i) * q + n + r]) * d[i];
  return sum;
}

/* The step for the gradient in w->side and what is missing of the steps in w->off; w->side is used up. */
static void newton_step(Work *w) {
  int k, r, c, i;
  for (k = K - 1; k >= 0; --k) {
    const int q = nu[k] + nx[k], stop = k ? nu[k] : q, next = k + 1 < K ? nx[k + 1] : 0;
    const double *M = w->factor + at_F[k], *J = w->J + at_J[k], *off = w->off + at_b[k];
    double *h = w->side + at_v[k];
    for (i = 0; i < next; ++i) {
      const double sum = w->side[at_v[k + 1] + nu[k + 1] + i] + cost_row(w, k + 1, i, off);
      for (c = 0; c < q; ++c) h[c] += J[i * wide[k] + c] * sum;
    }
    for (c = 0; c < stop; ++c) {
      h[c] /= M[c * (q + 1)];
      for (r = c + 1; r < q; ++r) h[r] -= M[r * q + c] * h[c];
    }
  }
  for (k = 0; k < K; ++k) {
    const int q = nu[k] + nx[k], stop = k ? nu[k] : q, next = k + 1 < K ? nx[k + 1] : 0;
    const double *M = w->factor + at_F[k], *J = w->J + at_J[k], *h = w->side + at_v[k];
    double *d = w->step + at_v[k];
    for (c = stop - 1; c >= 0; --c) {
      double sum = -h[c];
      for (r = c + 1; r < q; ++r) sum -= M[r * q + c] * d[r];
      d[c] = sum / M[c * (q + 1)];
    }
    if (k)
      for (i = 0; i < nx[k]; ++i) w->costate_step[at_b[k - 1] + i] = h[nu[k] + i] + cost_row(w, k, i, d + nu[k]);
    for (i = 0; i < next; ++i) {
      double sum = w->off[at_b[k] + i];
      for (c = 0; c < q; ++c) sum += J[i * wide[k] + c] * d[c];
      w->step[at_v[k + 1] + nu[k + 1] + i] = sum;
    }
  }
}
"""

_ITERATION = """
static double larger(double one, double two) { return two <= one ? one : two; }

/* What is left of the optimality conditions: the largest of the slopes, the steps and rows, and of the products. */
static void what_is_left(Work *w, double *slopes, double *missing, double *products) {
  int k, i, j, s;
  *slopes = *missing = *products = 0.0;
  for (k = 0; k < K; ++k) {
    const int q = nu[k] + nx[k], next = k + 1 < K ? nx[k + 1] : 0;
    const double *H = w->H + at_H[k], *J = w->J + at_J[k], *v = w->v + at_v[k];
    double *slope = w->slope + at_v[k];
    for (i = 0; i < q; ++i) {
      double sum = w->g[at_v[k] + i] + (i < nu[k] ? w->least[k] * v[i] : 0.0);
      for (j = 0; j < q; ++j) sum += (i >= j ? H[i * wide[k] + j] : H[j * wide[k] + i]) * v[j];
      for (j = 0; j < next; ++j) sum += J[j * wide[k] + i] * w->costate[at_b[k] + j];
      if (k && i >= nu[k]) sum -= w->costate[at_b[k - 1] + i - nu[k]];
      slope[i] = sum;
    }
    for (i = 0; i < next; ++i) {
      double sum = w->b[at_b[k] + i] - w->v[at_v[k + 1] + nu[k + 1] + i];
      for (j = 0; j < q; ++j) sum += J[i * wide[k] + j] * v[j];
      w->off[at_b[k] + i] = sum;
      *missing = larger(*missing, fabs(sum));
    }
    for (i = 0; i < conditions[k]; ++i) {
      const int e = at_c[k] + i;
      const double value = condition(w, k, i, v);
      double push = 0.0;
      for (s = 0; s < 2; ++s)
        if (w->kind[e] & (1 << s)) {
          w->left[s][e] = inwards[s] * (value - w->bound[s][e]) - w->distance[s][e];
          push -= inwards[s] * w->multiplier[s][e];
          *products = larger(*products, w->multiplier[s][e] * w->distance[s][e]);
          *missing = larger(*missing, fabs(w->left[s][e]));
        }
      if (w->kind[e] & EQUATION) {
        w->left[0][e] = value - w->bound[0][e], push += w->multiplier[0][e];
        *missing = larger(*missing, fabs(w->left[0][e]));
      }
      add_condition(w, k, i, push, slope);
    }
    for (i = 0; i < q; ++i) *slopes = larger(*slopes, fabs(slope[i]));
  }
}

/* The step towards products of size mu; corrected: with those of the steps found before. */
static void direction(Work *w, double mu, int corrected) {
  int k, i, s;
  for (k = 0; k < K; ++k) {
    double *side = w->side + at_v[k];
    for (i = 0; i < nu[k] + nx[k]; ++i) side[i] = w->slope[at_v[k] + i];
    for (i = 0; i < conditions[k]; ++i) {
      const int e = at_c[k] + i;
      double push = 0.0;
      for (s = 0; s < 2; ++s)
        if (w->kind[e] & (1 << s)) {
          w->target[s][e] = mu - (corrected ? w->distance_step[s][e] * w->multiplier_step[s][e] : 0.0);
          push -= inwards[s] * ((w->target[s][e] - w->multiplier[s][e] * w->left[s][e]) / w->distance[s][e]
                                - w->multiplier[s][e]);
        }
      if (w->kind[e] & EQUATION) push += w->left[0][e] / w->equal;
      add_condition(w, k, i, push, side);
    }
  }
  newton_step(w);
  for (k = 0; k < K; ++k)
    for (i = 0; i < conditions[k]; ++i) {
      const int e = at_c[k] + i;
      const double moved = condition(w, k, i, w->step + at_v[k]);
      for (s = 0; s < 2; ++s)
        if (w->kind[e] & (1 << s)) {
          const double d = w->distance_step[s][e] = inwards[s] * moved + w->left[s][e], m = w->multiplier[s][e];
          w->multiplier_step[s][e] = (w->target[s][e] - m * d) / w->distance[s][e] - m;
        }
      if (w->kind[e] & EQUATION) w->multiplier_step[0][e] = (moved + w->left[0][e]) / w->equal;
    }
}

/* The longest share of the step that keeps distances and multipliers positive, at most 2. */
static double longest(const Work *w) {
  double share = 2.0;
  int e, s;
  for (e = 0; e < NC; ++e)
    for (s = 0; s < 2; ++s) {
      if (!(w->kind[e] & (1 << s))) continue;
      if (w->distance_step[s][e] < 0.0) share = fmin(share, -w->distance[s][e] / w->distance_step[s][e]);
      if (w->multiplier_step[s][e] < 0.0) share = fmin(share, -w->multiplier[s][e] / w->multiplier_step[s][e]);
    }
  return share;
}

/* The mean of the products at a share of the step, and their number. */
static double mean_product(const Work *w, double share, int *count) {
  double sum = 0.0;
  int e, s, n = 0;
  for (e = 0; e < NC; ++e)
    for (s = 0; s < 2; ++s) {
      if (!(w->kind[e] & (1 << s))) continue;
      sum += (w->distance[s][e] + share * w->distance_step[s][e])
             * (w->multiplier[s][e] + share * w->multiplier_step[s][e]);
      ++n;
    }
  *count = n;
  return n ? sum / n : 0.0;
}

static double start_program(Work *w) {
  double size = 1e-2, curved = 1e-12;
  int k, i, e, s;
  for (i = 0; i < NQ; ++i) size = fmax(size, fabs(w->g[i])), w->v[i] = w->step[i] = 0.0;
  for (i = 0; i < NB; ++i) w->costate[i] = 0.0;
  for (k = 0; k < K; ++k)
    for (i = 0; i < nu[k] + nx[k]; ++i) curved = fmax(curved, fabs(w->H[at_H[k] + i * (wide[k] + 1)]));
  w->equal = EQUAL / curved;
  for (e = 0; e < NC; ++e)
    for (s = 0; s < 2; ++s) {
      w->multiplier[s][e] = w->distance_step[s][e] = w->multiplier_step[s][e] = 0.0;
      if (!(w->kind[e] & (1 << s))) continue;
      w->distance[s][e] = fmax(1.0, -inwards[s] * w->bound[s][e]);
      w->multiplier[s][e] = size / w->distance[s][e];
    }
  return fmax(1.0, size);
}

/* Solves for w->v; what ended it. */
static int solve_program(Work *w) {
  const double size = start_program(w);
  double slopes = 0.0, missing = 0.0, products = 0.0;
  int count = 0;
  for (w->iterations = 0;; ++w->iterations) {
    double mu, after, share, sum = 0.0;
    int other, i, e, s;
    what_is_left(w, &slopes, &missing, &products);
    if (!isfinite(slopes + missing + products)) return FAILED;
    if (missing <= ACCURATE) {
      if (slopes <= ACCURATE * size && products <= TOUCHED * size) return SOLVED;
      /* Rounding errors of the slopes grow near bounds as the products fall: they would not get better from here. */
      if (count && products <= 1e-2 * TOUCHED) break;
    }
    if (w->iterations == MOST_ITERATIONS) break;
    factor(w);
    mu = mean_product(w, 0.0, &count);
    direction(w, 0.0, 0);
    if (count) {
      after = mean_product(w, fmin(1.0, longest(w)), &other) / fmax(mu, 1e-300);
      direction(w, mu * after * after * after, 1);
    }
    share = fmin(1.0, 0.995 * longest(w));
    for (i = 0; i < NQ; ++i) sum += fabs(w->step[i]);
    if (!isfinite(sum * share)) break;
    for (i = 0; i < NQ; ++i) w->v[i] += share * w->step[i];
    for (i = 0; i < NB; ++i) w->costate[i] += share * w->costate_step[i];
    for (e = 0; e < NC; ++e)
      for (s = 0; s < 2; ++s) {
        w->multiplier[s][e] += share * w->multiplier_step[s][e];
        w->distance[s][e] += share * w->distance_step[s][e];
      }
  }
  /* What obeys the conditions can still be applied. */
  return missing <= NEAR && products <= NEAR * size && slopes <= NEAR * size ? NEARLY : FAILED;
}
"""

# The fields of the memory that these functions use.
FIELDS = """  double H[{H}], J[{J}], G[{G}], g[{Q}], b[{B}], least[{K}], factor[{F}], equal;
  double v[{Q}], step[{Q}], slope[{Q}], side[{Q}], costate[{B}], costate_step[{B}], off[{B}];
  double bound[2][{C}], distance[2][{C}], multiplier[2][{C}], left[2][{C}], target[2][{C}];
  double distance_step[2][{C}], multiplier_step[2][{C}];
  int kind[{C}], iterations;"""

CODE = _PRODUCTS + _ITERATION
