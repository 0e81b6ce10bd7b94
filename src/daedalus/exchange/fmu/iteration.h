/* x' and z by iteration, for models without a formula for them: a part of runtime.c, behind the state of an instance.

   The unknowns stand behind the parameters, so that all functions of the model read them there. */

/* Corrections of this share of the unknowns end the iteration, and below NEARLY those that no longer shrink: what is
   left is rounding. Unknowns are measured by themselves, from LEAST_SIZE on, and from LEAST_SHARE of the largest on.
   Damping below LEAST_DAMPING is none; a damped correction is followed where the next one is shorter by SHORTENING. */
#define SETTLED 1e-11
#define NEARLY 1e-6
#define LEAST_SIZE 1e-3
#define LEAST_SHARE 1e-6
#define LEAST_DAMPING 1e-6
#define SHORTENING 0.25
enum { MOST_CORRECTIONS = 100 };

/* Factors of a matrix by columns, pivots by rows in the size of each row; 1 where it is singular. */
static int factor(double *a, int *order, double *sizes, int n) {
  int i, j, k;
  for (i = 0; i < n; ++i) {
    sizes[i] = 0;
    for (j = 0; j < n; ++j) sizes[i] = fmax(sizes[i], fabs(a[i + (size_t)n * j]));
    if (!(sizes[i] > 0) || !isfinite(sizes[i])) return 1;
  }
  for (k = 0; k < n; ++k) {
    int best = k;
    for (i = k + 1; i < n; ++i)
      if (fabs(a[i + (size_t)n * k]) * sizes[best] > fabs(a[best + (size_t)n * k]) * sizes[i]) best = i;
    order[k] = best;
    if (!(fabs(a[best + (size_t)n * k]) > 0)) return 1;
    if (best != k) {
      double other = sizes[k];
      sizes[k] = sizes[best], sizes[best] = other;
      for (j = 0; j < n; ++j) {
        other = a[k + (size_t)n * j];
        a[k + (size_t)n * j] = a[best + (size_t)n * j], a[best + (size_t)n * j] = other;
      }
    }
    for (i = k + 1; i < n; ++i) a[i + (size_t)n * k] /= a[k + (size_t)n * k];
    for (j = k + 1; j < n; ++j)
      for (i = k + 1; i < n; ++i) a[i + (size_t)n * j] -= a[i + (size_t)n * k] * a[k + (size_t)n * j];
  }
  return 0;
}

static void solve_by_factors(const double *a, const int *order, double *b, int n) {
  int i, k;
  for (k = 0; k < n; ++k) {
    const double other = b[k];
    b[k] = b[order[k]], b[order[k]] = other;
  }
  for (k = 0; k < n; ++k)
    for (i = k + 1; i < n; ++i) b[i] -= a[i + (size_t)n * k] * b[k];
  for (k = n - 1; k >= 0; --k) {
    b[k] /= a[k + (size_t)n * k];
    for (i = 0; i < k; ++i) b[i] -= a[i + (size_t)n * k] * b[k];
  }
}

/* The same of the transposed matrix. */
static void solve_transposed(const double *a, const int *order, double *b, int n) {
  int i, k;
  for (k = 0; k < n; ++k) {
    for (i = 0; i < k; ++i) b[k] -= a[i + (size_t)n * k] * b[i];
    b[k] /= a[k + (size_t)n * k];
  }
  for (k = n - 1; k >= 0; --k)
    for (i = k + 1; i < n; ++i) b[k] -= a[i + (size_t)n * k] * b[i];
  for (k = n - 1; k >= 0; --k) {
    const double other = b[k];
    b[k] = b[order[k]], b[order[k]] = other;
  }
}

/* The largest share that corrections are of the unknowns; those far below the others are measured by these. */
static double share(const double *w, const double *correction) {
  double largest = LEAST_SIZE, found = 0;
  int k;
  for (k = 0; k < NW; ++k) largest = fmax(largest, fabs(w[k]));
  for (k = 0; k < NW; ++k) {
    const double own = fabs(correction[k]) / (fabs(w[k]) + LEAST_SHARE * largest);
    if (!isfinite(own)) return INFINITY;
    found = fmax(found, own);
  }
  return found;
}

typedef struct { double *matrix, *right, *next, *first, *sizes; int *order; } Room;
static int room_of(Room *r) {
  const size_t n = (size_t)NW;
  r->matrix = malloc(sizeof(double) * (2 * n * n + 4 * n) + sizeof(int) * n);
  if (!r->matrix) return 1;
  r->right = r->matrix + 2 * n * n, r->next = r->right + n, r->first = r->next + n, r->sizes = r->first + n;
  r->order = (int *)(r->sizes + n);
  return 0;
}

static int residual(const Instance *m, double t, const double *x, double *right, double *matrix) {
  int k;
  if (dd_residual(&t, x, INPUTS(m), PARAMETERS(m), right, matrix)) return 1;
  for (k = 0; k < NW; ++k) right[k] = -right[k];
  return 0;
}

/* Newton's method from the values before; 1 where it fails. Damped: each correction until a further one by the same
   factors is shorter (P. Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3). */
static int newton(Instance *m, double t, const double *x, Room *r, int damped) {
  double *w = UNKNOWNS(m), at[OF(NW)], length, before = INFINITY, damping, after;
  const size_t n = (size_t)NW;
  int k, corrections;
  for (corrections = 0; corrections < MOST_CORRECTIONS; ++corrections) {
    if (residual(m, t, x, r->right, r->matrix) || factor(r->matrix, r->order, r->sizes, NW)) return 1;
    solve_by_factors(r->matrix, r->order, r->right, NW);
    memcpy(at, w, sizeof(double) * n);
    for (k = 0; k < NW; ++k) w[k] = at[k] + r->right[k];
    length = share(w, r->right);
    if (length <= SETTLED || (length <= NEARLY && length >= 0.5 * before)) return 0;
    if (!isfinite(length)) return 1;
    before = length;
    for (damping = 1; damped; damping *= 0.5) {
      if (damping < LEAST_DAMPING) return 1;
      for (k = 0; k < NW; ++k) w[k] = at[k] + damping * r->right[k];
      if (residual(m, t, x, r->next, r->matrix + n * n)) return 1;
      solve_by_factors(r->matrix, r->order, r->next, NW);
      after = share(w, r->next);
      if (after <= (1 - SHORTENING * damping) * length) break;
    }
  }
  return 1;
}

/* The unknowns at a time and states, from their values before; 1, and these, where that fails. The laws of junctions are
   written so that undamped corrections go far and converge; damped ones are for the rest. */
static int settle(const Instance *instance, double t, const double *x) {
  Instance *m = (Instance *)instance;
  double *w = UNKNOWNS(m);
  const size_t bytes = sizeof(double) * (size_t)NW;
  int failed;
  Room r;
  if (NW == 0) return 0;
  if (room_of(&r)) return 1;
  memcpy(r.first, w, bytes);
  failed = newton(m, t, x, &r, 0);
  if (failed) {
    memcpy(w, r.first, bytes);
    failed = newton(m, t, x, &r, 1);
  }
  if (failed) memcpy(w, r.first, bytes);
  free(r.matrix);
  return failed;
}

/* How the unknowns move along a direction of states, inputs and parameters: the last NW of sp. */
static int settle_along(const Instance *m, const double *sx, const double *su, double *sp) {
  double *sw = sp + NP;
  Room r;
  int k;
  if (NW == 0) return 0;
  if (settle(m, m->t, STATES(m)) || room_of(&r)) return 1;
  for (k = 0; k < NW; ++k) sw[k] = 0;
  if (residual(m, m->t, STATES(m), r.right, r.matrix) || factor(r.matrix, r.order, r.sizes, NW) ||
      dd_residual_forward(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), sx, su, sp, r.right)) {
    free(r.matrix);
    return 1;
  }
  solve_by_factors(r.matrix, r.order, r.right, NW);
  for (k = 0; k < NW; ++k) sw[k] = -r.right[k];
  free(r.matrix);
  return 0;
}

/* What the weights of the unknowns, the last NW of p_bar, mean for states, inputs and parameters. */
static int settle_back(const Instance *m, double *x_bar, double *u_bar, double *p_bar) {
  double x_part[OF(NX)], u_part[OF(NU)], p_part[OF(NP + NW)];
  Room r;
  int k;
  if (NW == 0) return 0;
  if (room_of(&r)) return 1;
  if (residual(m, m->t, STATES(m), r.right, r.matrix) || factor(r.matrix, r.order, r.sizes, NW)) {
    free(r.matrix);
    return 1;
  }
  memcpy(r.next, p_bar + NP, sizeof(double) * (size_t)NW);
  solve_transposed(r.matrix, r.order, r.next, NW);
  k = dd_residual_adjoint(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), r.next, x_part, u_part, p_part);
  free(r.matrix);
  if (k) return 1;
  for (k = 0; k < NX; ++k) x_bar[k] -= x_part[k];
  for (k = 0; k < NU; ++k) u_bar[k] -= u_part[k];
  for (k = 0; k < NP; ++k) p_bar[k] -= p_part[k];
  return 0;
}
