/* Backward differentiation formulas of order 1 to 5 inside an FMU: a part of runtime.c, behind the tolerances of a step.

   The history is kept as backward differences D of steps of one length, which are interpolated for another one; the
   formulas are the modified ones of L. F. Shampine and M. W. Reichelt, The MATLAB ODE Suite, SIAM J. Sci. Comput. 18
   (1997) 1-22, with an order that follows the errors of its neighbours. With psi = sum gamma_j D_j / alpha the step is

     F(t + h, x, (alpha / h)(psi + x - predicted), z) = 0,

   solved by Newton's method with slopes of each iteration. The history is a part of the state of an instance. */
enum { MOST_ORDER = 5, NEWTON_TRIES = 12 };
#define DIFFERENCES(m) ((m)->numbers + NX + NU + NP + NW + NG + NC)
#define STAGE_VALUES(m) (DIFFERENCES(m) + (MOST_ORDER + 3) * NX)
#define BDF_ORDER(m) (STAGE_VALUES(m) + DD_STAGE_Z)[0]
#define BDF_COUNT(m) (STAGE_VALUES(m) + DD_STAGE_Z)[1]
#define BDF_LENGTH(m) (STAGE_VALUES(m) + DD_STAGE_Z)[2]
/* Corrections of a step below this share of the tolerance are the last ones. */
#define BDF_SETTLED 1e-5

static const double bdf_kappa[] = {0, -0.1850, -1.0 / 9, -0.0823, -0.0415, 0, 0};

static double bdf_gamma(int order) {
  double sum = 0;
  int j;
  for (j = 1; j <= order; ++j) sum += 1.0 / j;
  return sum;
}
static double bdf_alpha(int order) { return (1 - bdf_kappa[order]) * bdf_gamma(order); }
static double bdf_error(int order) { return bdf_kappa[order] * bdf_gamma(order) + 1.0 / (order + 1); }

/* What is known of the past is of no use: states have jumped, or somebody set them. */
static void forget(Instance *m) {
  if (DD_BDF) BDF_LENGTH(m) = 0;
}

/* Differences of steps that are `factor` times as long. */
static void stretch(double *D, int order, double factor) {
  double R[MOST_ORDER + 1][MOST_ORDER + 1], U[MOST_ORDER + 1][MOST_ORDER + 1], own[MOST_ORDER + 1];
  int i, j, k;
  for (j = 0; j <= order; ++j) R[0][j] = U[0][j] = 1;
  for (i = 1; i <= order; ++i)
    for (R[i][0] = U[i][0] = 0, j = 1; j <= order; ++j) {
      R[i][j] = R[i - 1][j] * (i - 1 - factor * j) / i;
      U[i][j] = U[i - 1][j] * (i - 1 - (double)j) / i;
    }
  for (k = 0; k < NX; ++k) {
    double between[MOST_ORDER + 1];
    for (j = 0; j <= order; ++j)
      for (between[j] = 0, i = 0; i <= order; ++i) between[j] += R[i][j] * D[i * NX + k];
    for (j = 0; j <= order; ++j)
      for (own[j] = 0, i = 0; i <= order; ++i) own[j] += U[i][j] * between[i];
    for (j = 0; j <= order; ++j) D[j * NX + k] = own[j];
  }
}

/* The history for steps of length h in D; its order, 0 where the equations have no values. */
static int history(const Instance *m, double h, double *D) {
  int k;
  if (BDF_LENGTH(m) > 0) {
    const int order = (int)BDF_ORDER(m);
    memcpy(D, DIFFERENCES(m), sizeof(double) * (size_t)((MOST_ORDER + 3) * NX));
    if (h != BDF_LENGTH(m)) stretch(D, order, h / BDF_LENGTH(m));
    return order;
  }
  {
    double dx[OF(NX)], z[OF(NZ)];
    if (settle(m, m->t, STATES(m)) || dd_rates(&m->t, STATES(m), INPUTS(m), PARAMETERS(m), dx, z)) return 0;
    for (k = 0; k < (MOST_ORDER + 3) * NX; ++k) D[k] = 0;
    for (k = 0; k < NX; ++k) D[k] = STATES(m)[k], D[NX + k] = h * dx[k];
  }
  return 1;
}

/* The states behind a step of length h, and how far they are from what was predicted; 1 where it failed. */
static int bdf_step(const Instance *m, double h, double *x, double *z, double *D, double *off, int *order) {
  const int n = NX, nz = DD_STAGE_Z, size = n + nz;
  const double end = m->t + h;
  double predicted[OF(NX)], psi[OF(NX)], k[OF(NX)], c, before = INFINITY;
  double *room = malloc(sizeof(double) * ((size_t)size * (size_t)size + (size_t)size * (size_t)(2 * n + nz + 3) + 1) + sizeof(int) * (size_t)(size + 1));
  double *matrix = room, *F, *by_x, *by_k, *by_z, *right, *sizes;
  int *pivots, i, j, tries, failed = 1;
  if (!room) return 1;
  F = matrix + (size_t)size * (size_t)size, by_x = F + size, by_k = by_x + (size_t)size * n, by_z = by_k + (size_t)size * n;
  right = by_z + (size_t)size * nz, sizes = right + size, pivots = (int *)(sizes + size);
  *order = history(m, h, D);
  if (*order == 0) goto end;
  c = h / bdf_alpha(*order);
  for (i = 0; i < n; ++i) {
    for (predicted[i] = 0, j = 0; j <= *order; ++j) predicted[i] += D[j * n + i];
    for (psi[i] = 0, j = 1; j <= *order; ++j) psi[i] += bdf_gamma(j) * D[j * n + i];
    psi[i] /= bdf_alpha(*order);
    x[i] = predicted[i], off[i] = 0;
  }
  memcpy(z, STAGE_VALUES(m), sizeof(double) * (size_t)nz);
  for (tries = 0; tries < NEWTON_TRIES; ++tries) {
    double length;
    for (i = 0; i < n; ++i) k[i] = (psi[i] + off[i]) / c;
    if (dd_bdf_stage(end, x, INPUTS(m), PARAMETERS(m), k, z, F, by_x, by_k, by_z)) goto end;
    for (i = 0; i < size * n; ++i) matrix[i] = by_x[i] + by_k[i] / c;
    for (i = 0; i < size * nz; ++i) matrix[size * n + i] = by_z[i];
    for (i = 0; i < size; ++i) right[i] = -F[i];
    if (factor(matrix, pivots, sizes, size)) goto end;
    solve_by_factors(matrix, pivots, right, size);
    for (i = 0; i < n; ++i) off[i] += right[i], x[i] = predicted[i] + off[i];
    for (i = 0; i < nz; ++i) z[i] += right[n + i];
    length = weighed(m, right, x);
    for (i = 0; i < size; ++i)
      if (!isfinite(right[i])) goto end;
    if (length <= BDF_SETTLED || (tries > 1 && length <= 1e-2 && length >= 0.5 * before)) {
      failed = 0;
      break;
    }
    if (tries > 1 && length > 2 * before) break;
    before = length;
  }
  if (!failed) failed = dd_bdf_correct(end, x, INPUTS(m), PARAMETERS(m));
end:
  free(room);
  return failed;
}

static int bdf_tried(const Instance *m, double h, double *x, double *error) {
  double D[OF((MOST_ORDER + 3) * NX)], off[OF(NX)], z[OF(DD_STAGE_Z)];
  int order, k;
  if (bdf_step(m, h, x, z, D, off, &order)) return 1;
  for (k = 0; k < NX; ++k) off[k] *= bdf_error(order);
  *error = weighed(m, off, x) / SHARE_OF_A_STEP;
  return 0;
}

/* After a step that is accepted, to x: its history, and in m->h the length of the next one. */
static int bdf_accepted(Instance *m, double h, const double *x) {
  double D[OF((MOST_ORDER + 3) * NX)], off[OF(NX)], next[OF(NX)], z[OF(DD_STAGE_Z)], best = 0, share;
  const int same = BDF_LENGTH(m) == h;
  int order, k, i, change = 0, which;
  if (bdf_step(m, h, next, z, D, off, &order)) return 1;
  for (k = 0; k < NX; ++k) {
    for (off[k] = x[k], i = 0; i <= order; ++i) off[k] -= D[i * NX + k];
    D[(order + 2) * NX + k] = off[k] - D[(order + 1) * NX + k];
    D[(order + 1) * NX + k] = off[k];
    for (i = order; i >= 0; --i) D[i * NX + k] += D[(i + 1) * NX + k];
  }
  memcpy(STAGE_VALUES(m), z, sizeof(double) * (size_t)DD_STAGE_Z);
  BDF_COUNT(m) = same ? BDF_COUNT(m) + 1 : 1;
  memcpy(DIFFERENCES(m), D, sizeof D);
  BDF_ORDER(m) = order, BDF_LENGTH(m) = h, m->h = h;
  if (BDF_COUNT(m) <= order) return 0;
  /* The order whose next step may be the longest. */
  for (which = -1; which <= 1; ++which) {
    const int other = order + which;
    if (other < 1 || other > MOST_ORDER) continue;
    for (k = 0; k < NX; ++k) off[k] = bdf_error(other) * D[(other + 1) * NX + k];
    share = pow(fmax(weighed(m, off, x) / SHARE_OF_A_STEP, 1e-10), -1.0 / (other + 1));
    if (share > best) best = share, change = which;
  }
  BDF_ORDER(m) = order + change;
  m->h = h * fmin(10.0, fmax(0.2, 0.9 * best));
  BDF_COUNT(m) = 0;
  stretch(DIFFERENCES(m), order + change, m->h / h);
  BDF_LENGTH(m) = m->h;
  return 0;
}
