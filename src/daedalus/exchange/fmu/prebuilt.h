/* A model that is data: this library is built once for a platform, and reads the model from resources/model.bin.

   The file holds sizes, start values, a tableau, and the functions of the model as lists of operations (CasADi's
   numbers), which `evaluate` walks through. Each FMU has a copy of the library of its own, so one model is enough. */
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

enum {
  RATES, FORWARD, ADJOINT, OUTPUTS, GUARDS, RESETS, STAGE, CORRECT, RESIDUAL, RESIDUAL_FORWARD, RESIDUAL_ADJOINT, FRICTIONS,
  IMPULSES, BEGIN, FUNCTIONS
};
enum { MOST_ITERATIONS = 50, STACK = 2048 };
/* Stages at rest are zero but for rounding: they are measured from here on. */
#define LEAST_STAGE 1e-3

typedef struct {
  int64_t arguments, results, work, count, constants;
  const int64_t *size_in, *size_out;
  const int32_t *code; /* operation, target, first, second */
  const double *values;
} Program;

static struct {
  int64_t nx, nz, nu, np, ny, ng, nh, nc, stages, order, embedded, implicit, projected, corrections, stage_z, nw, nf, nk, bdf;
  double rtol, first_step, fixed_step;
  const double *x_start, *p_values, *w_start, *nominal, *A, *b, *c, *off, *guess, *period, *offset, *divisor, *times;
  int *directions, *terminal, *at_start, *levels, *first, *friction_guards, *friction_modes;
  const char *token;
  Program programs[FUNCTIONS];
  char *file;
} dd;

#define NX ((int)dd.nx)
#define NZ ((int)dd.nz)
#define NU ((int)dd.nu)
#define NP ((int)dd.np)
#define NY ((int)dd.ny)
#define NG ((int)dd.ng)
#define NH ((int)dd.nh)
#define NC ((int)dd.nc)
#define NW ((int)dd.nw)
#define NF ((int)dd.nf)
#define NK ((int)dd.nk)
#define DD_BDF ((int)dd.bdf)
#define DD_STAGE_Z ((int)dd.stage_z)
#define DD_TOKEN dd.token
#define DD_RTOL dd.rtol
#define DD_ORDER ((double)dd.order)
#define DD_FIRST_STEP dd.first_step
#define DD_FIXED_STEP dd.fixed_step
#define DD_EMBEDDED ((double)dd.embedded)
#define dd_x_start dd.x_start
#define dd_p_values dd.p_values
#define dd_w_start dd.w_start
#define dd_nominal dd.nominal
#define dd_directions dd.directions
#define dd_terminal dd.terminal
#define dd_at_start dd.at_start
#define dd_levels dd.levels
#define dd_first dd.first
#define dd_friction_guards dd.friction_guards
#define dd_friction_modes dd.friction_modes
#define dd_period dd.period
#define dd_offset dd.offset
#define dd_divisor dd.divisor
#define dd_times dd.times

/* The inverse of erf: a first guess (S. Winitzki, 2008), then Newton's method with the second derivative. */
static double inverse_erf(double y) {
  double a = 0.147, l, x;
  int k;
  if (!(y > -1 && y < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  l = log1p(-y * y);
  x = 2 / (3.14159265358979323846 * a) + 0.5 * l;
  x = copysign(sqrt(sqrt(x * x - l / a) - x), y);
  for (k = 0; k < 4; ++k) {
    const double f = (erf(x) - y) / (1.1283791670955126 * exp(-x * x));
    if (!isfinite(f)) break;
    x -= f / (1 + x * f);
  }
  return x;
}

/* One operation of CasADi, by its number (the order of casadi::Operation in calculus.hpp). */
static double operate(int op, double x, double y, int *unknown) {
  switch (op) {
    case 0: return x;
    case 1: return x + y;
    case 2: return x - y;
    case 3: return x * y;
    case 4: return x / y;
    case 5: return -x;
    case 6: return exp(x);
    case 7: return log(x);
    case 8: case 9: return pow(x, y);
    case 10: return sqrt(x);
    case 11: return x * x;
    case 12: return 2 * x;
    case 13: return sin(x);
    case 14: return cos(x);
    case 15: return tan(x);
    case 16: return asin(x);
    case 17: return acos(x);
    case 18: return atan(x);
    case 19: return x < y;
    case 20: return x <= y;
    case 21: return x == y;
    case 22: return x != y;
    case 23: return !(x != 0);
    case 24: return x != 0 && y != 0;
    case 25: return x != 0 || y != 0;
    case 26: return floor(x);
    case 27: return ceil(x);
    case 28: return fmod(x, y);
    case 29: return fabs(x);
    case 30: return x > 0 ? 1 : x < 0 ? -1 : x;
    case 31: return copysign(x, y);
    case 32: return x != 0 ? y : 0;
    case 33: return erf(x);
    case 34: return fmin(x, y);
    case 35: return fmax(x, y);
    case 36: return 1 / x;
    case 37: return sinh(x);
    case 38: return cosh(x);
    case 39: return tanh(x);
    case 40: return asinh(x);
    case 41: return acosh(x);
    case 42: return atanh(x);
    case 43: return atan2(x, y);
    default: *unknown = 1; return NAN;
  }
}

enum { INPUT = 1000, CONSTANT, OUTPUT, ERFINV, LOG1P, EXPM1, HYPOT, REMAINDER };

static int evaluate(int which, const double **arg, double **res) {
  const Program *f = &dd.programs[which];
  double small[STACK], *w = small;
  const int32_t *code = f->code;
  int unknown = 0;
  int64_t k;
  if (f->work > STACK && !(w = malloc(sizeof(double) * (size_t)f->work))) return 1;
  for (k = 0; k < f->count; ++k, code += 4) {
    const int32_t target = code[1], a = code[2], b = code[3];
    switch (code[0]) {
      case 1: w[target] = w[a] + w[b]; break;
      case 2: w[target] = w[a] - w[b]; break;
      case 3: w[target] = w[a] * w[b]; break;
      case INPUT: w[target] = arg[a][b]; break;
      case CONSTANT: w[target] = f->values[a]; break;
      case OUTPUT: if (res[b]) res[b][target] = w[a]; break;
      case ERFINV: w[target] = inverse_erf(w[a]); break;
      case LOG1P: w[target] = log1p(w[a]); break;
      case EXPM1: w[target] = expm1(w[a]); break;
      case HYPOT: w[target] = hypot(w[a], w[b]); break;
      case REMAINDER: w[target] = remainder(w[a], w[b]); break;
      default: w[target] = operate(code[0], w[a], w[b], &unknown);
    }
  }
  if (w != small) free(w);
  return unknown;
}

static int dd_rates(const double *t, const double *x, const double *u, const double *p, double *dx, double *z) {
  const double *arg[] = {t, x, u, p};
  double *res[] = {dx, z};
  return evaluate(RATES, arg, res);
}
static int dd_forward(const double *t, const double *x, const double *u, const double *p, const double *sx,
                      const double *su, const double *sp, double *dx, double *z, double *y) {
  const double *arg[] = {t, x, u, p, sx, su, sp};
  double *res[] = {dx, z, y};
  return evaluate(FORWARD, arg, res);
}
static int dd_adjoint(const double *t, const double *x, const double *u, const double *p, const double *dx,
                      const double *z, const double *y, double *x_bar, double *u_bar, double *p_bar) {
  const double *arg[] = {t, x, u, p, dx, z, y};
  double *res[] = {x_bar, u_bar, p_bar};
  return evaluate(ADJOINT, arg, res);
}
static int dd_one(int which, const double *t, const double *x, const double *u, const double *p, double *result) {
  const double *arg[] = {t, x, u, p};
  return evaluate(which, arg, &result);
}
/* The equations of x' and z where they are solved by iteration: values and slopes, and along directions. */
static int dd_residual(const double *t, const double *x, const double *u, const double *p, double *F, double *by_w) {
  const double *arg[] = {t, x, u, p};
  double *res[] = {F, by_w};
  return evaluate(RESIDUAL, arg, res);
}
static int dd_residual_forward(const double *t, const double *x, const double *u, const double *p, const double *sx,
                               const double *su, const double *sp, double *F) {
  const double *arg[] = {t, x, u, p, sx, su, sp};
  return evaluate(RESIDUAL_FORWARD, arg, &F);
}
static int dd_residual_adjoint(const double *t, const double *x, const double *u, const double *p, const double *F,
                               double *x_bar, double *u_bar, double *p_bar) {
  const double *arg[] = {t, x, u, p, F};
  double *res[] = {x_bar, u_bar, p_bar};
  return evaluate(RESIDUAL_ADJOINT, arg, res);
}
static int dd_frictions(const double *t, const double *x, const double *u, const double *p, double *speed, double *force,
                        double *change, double *limit) {
  const double *arg[] = {t, x, u, p};
  double *res[] = {speed, force, change, limit};
  return evaluate(FRICTIONS, arg, res);
}
static int dd_impulses(const double *t, const double *x, const double *u, const double *p, double *states, double *speeds) {
  const double *arg[] = {t, x, u, p};
  double *res[] = {states, speeds};
  return evaluate(IMPULSES, arg, res);
}
static int dd_begin(const double *t, const double *x, const double *u, const double *p, double *next, double *kept) {
  const double *arg[] = {t, x, u, p};
  double *res[] = {next, kept};
  return evaluate(BEGIN, arg, res);
}
#define dd_outputs(t, x, u, p, y) dd_one(OUTPUTS, t, x, u, p, y)
#define dd_guards(t, x, u, p, g) dd_one(GUARDS, t, x, u, p, g)
#define dd_resets(t, x, u, p, r) dd_one(RESETS, t, x, u, p, r)

/* Gaussian elimination with pivots by rows. */
static int solve(double *matrix, double *right, int size) {
  int i, j, k;
  for (k = 0; k < size; ++k) {
    int best = k;
    double scale;
    for (i = k + 1; i < size; ++i)
      if (fabs(matrix[(size_t)i * size + k]) > fabs(matrix[(size_t)best * size + k])) best = i;
    if (!(fabs(matrix[(size_t)best * size + k]) > 0.0)) return 1;
    if (best != k) {
      for (j = 0; j < size; ++j) {
        scale = matrix[(size_t)k * size + j];
        matrix[(size_t)k * size + j] = matrix[(size_t)best * size + j];
        matrix[(size_t)best * size + j] = scale;
      }
      scale = right[k], right[k] = right[best], right[best] = scale;
    }
    for (i = k + 1; i < size; ++i) {
      scale = matrix[(size_t)i * size + k] / matrix[(size_t)k * size + k];
      if (scale == 0.0) continue;
      for (j = k + 1; j < size; ++j) matrix[(size_t)i * size + j] -= scale * matrix[(size_t)k * size + j];
      right[i] -= scale * right[k];
    }
  }
  for (k = size - 1; k >= 0; --k) {
    for (j = k + 1; j < size; ++j) right[k] -= matrix[(size_t)k * size + j] * right[j];
    right[k] /= matrix[(size_t)k * size + k];
  }
  return 0;
}

static int stage(double when, const double *x, const double *u, const double *p, const double *k, const double *z,
                 double **res) {
  const double *arg[] = {&when, x, u, p, k, z};
  return evaluate(STAGE, arg, res);
}

/* What methods of several steps ask of the model. */
static int dd_bdf_stage(double when, const double *x, const double *u, const double *p, const double *k, const double *z,
                        double *F, double *by_x, double *by_k, double *by_z) {
  double *res[] = {F, by_x, by_k, by_z};
  return stage(when, x, u, p, k, z, res);
}
static int dd_bdf_correct(double when, double *x, const double *u, const double *p) {
  double moved[OF(NX)];
  int r, i;
  for (r = 0; dd.projected && r < (int)dd.corrections; ++r) {
    if (dd_one(CORRECT, &when, x, u, p, moved)) return 1;
    for (i = 0; i < NX; ++i) x[i] = moved[i];
  }
  return 0;
}

/* Newton's method over all stages: kᵢ and zᵢ with F(t + cᵢ h, x + h Σ aᵢⱼ kⱼ, kᵢ, zᵢ) = 0. */
static int implicit_stages(double t, double h, const double *x, const double *u, const double *p, double *k, double *z) {
  const int n = NX, nz = (int)dd.stage_z, s = (int)dd.stages, m = n + nz, all = s * m;
  double *room = malloc(sizeof(double) * ((size_t)all * all + all + m * (2 * (size_t)n + nz + 1) + n + 1));
  double *matrix = room, *right = matrix + (size_t)all * all, *F = right + all, *by_x = F + m, *by_k = by_x + (size_t)m * n;
  double *by_z = by_k + (size_t)m * n, *at = by_z + (size_t)m * nz, before = INFINITY;
  int i, j, r, a, iteration, failed = 1;
  if (!room) return 1;
  for (i = 0; i < s * n; ++i) k[i] = NW > 0 ? p[NP + i % n] : 0.0;
  for (a = 0; a < s; ++a)
    for (i = 0; i < nz; ++i) z[a * nz + i] = NW > 0 ? p[NP + n + i] : dd.guess[i];
  for (iteration = 0; iteration < MOST_ITERATIONS; ++iteration) {
    double length = 0.0, size = LEAST_STAGE;
    memset(matrix, 0, sizeof(double) * (size_t)all * all);
    for (a = 0; a < s; ++a) {
      double *res[] = {F, by_x, by_k, by_z};
      for (i = 0; i < n; ++i) at[i] = x[i];
      for (j = 0; j < s; ++j)
        for (i = 0; i < n; ++i) at[i] += h * dd.A[a * s + j] * k[j * n + i];
      if (stage(t + dd.c[a] * h, at, u, p, k + a * n, z + a * nz, res)) goto end;
      for (i = 0; i < m; ++i) {
        double *row = matrix + (size_t)(a * m + i) * all;
        right[a * m + i] = -F[i];
        for (j = 0; j < s; ++j)
          for (r = 0; r < n; ++r) row[j * m + r] += h * dd.A[a * s + j] * by_x[r * m + i];
        for (r = 0; r < n; ++r) row[a * m + r] += by_k[r * m + i];
        for (r = 0; r < nz; ++r) row[a * m + n + r] += by_z[r * m + i];
      }
    }
    if (solve(matrix, right, all)) goto end;
    for (a = 0; a < s; ++a)
      for (i = 0; i < m; ++i) {
        double *own = i < n ? k + a * n + i : z + a * nz + (i - n);
        *own += right[a * m + i];
        length = fmax(length, fabs(right[a * m + i])), size = fmax(size, fabs(*own));
      }
    if (!isfinite(length)) goto end;
    if (length <= 1e-15 * size || (length <= 1e-9 * size && length >= 0.5 * before)) {
      failed = 0;
      goto end;
    }
    before = length;
  }
end:
  free(room);
  return failed;
}

static int explicit_stages(double t, double h, const double *x, const double *u, const double *p, double *k, double *z,
                           int wanted) {
  const int n = NX, s = (int)dd.stages;
  double at[OF(NX)];
  int i, j, a;
  for (a = 0; a < wanted; ++a) {
    double *res[] = {k + a * n};
    for (i = 0; i < n; ++i) at[i] = x[i];
    for (j = 0; j < a; ++j)
      for (i = 0; i < n; ++i) at[i] += h * dd.A[a * s + j] * k[j * n + i];
    if (stage(t + dd.c[a] * h, at, u, p, k, z, res)) return 1;
  }
  return 0;
}

/* error: NULL, or where the second weights say how far x is off. */
static int dd_step(double t, double h, double *x, const double *u, const double *p, double *error) {
  const int n = NX, nz = (int)dd.stage_z;
  int s = (int)dd.stages, i, j, r;
  double k[OF(s * n)], z[OF(s * nz)], moved[OF(n)];
  /* Last stages may be there for the error alone. */
  while (!error && !dd.implicit && s > 1 && dd.b[s - 1] == 0) --s;
  if (dd.implicit ? implicit_stages(t, h, x, u, p, k, z) : explicit_stages(t, h, x, u, p, k, z, s)) return 1;
  for (j = 0; j < s; ++j)
    for (i = 0; i < n; ++i) x[i] += h * dd.b[j] * k[j * n + i];
  for (i = 0; error && i < n; ++i)
    for (error[i] = 0, j = 0; j < s; ++j) error[i] += h * dd.off[j] * k[j * n + i];
  for (r = 0; dd.projected && r < (int)dd.corrections; ++r) {
    const double end = t + h;
    if (dd_one(CORRECT, &end, x, u, p, moved)) return 1;
    for (i = 0; i < n; ++i) x[i] = moved[i];
  }
  for (i = 0; i < n; ++i)
    if (!isfinite(x[i])) return 1;
  return 0;
}

/* ---- reading the file ---- */

static char *whole_file(const char *folder, size_t length, size_t *size) {
  char *path = malloc(length + 16), *bytes = NULL;
  FILE *file;
  long end;
  if (!path) return NULL;
  memcpy(path, folder, length);
  strcpy(path + length, "/model.bin");
  file = fopen(path, "rb");
  free(path);
  if (!file) return NULL;
  if (!fseek(file, 0, SEEK_END) && (end = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET) && (bytes = malloc((size_t)end))) {
    *size = (size_t)end;
    if (fread(bytes, 1, *size, file) != *size) free(bytes), bytes = NULL;
  }
  fclose(file);
  return bytes;
}

static int hexadecimal(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* A path, or the path of a file: URI with its %20s. */
static char *plain_path(const char *place) {
  char *path = malloc(strlen(place) + 1), *to = path;
  const char *from = place;
  const int uri = strncmp(place, "file:", 5) == 0;
  if (!path) return NULL;
  if (uri) {
    from += 5;
    if (from[0] == '/' && from[1] == '/') from += 2;
    if (strncmp(from, "localhost/", 10) == 0) from += 9;
#if defined(_WIN32)
    if (from[0] == '/' && from[1] && from[2] == ':') ++from;
#endif
  }
  while (*from) {
    const int high = uri && from[0] == '%' ? hexadecimal(from[1]) : -1, low = high >= 0 ? hexadecimal(from[2]) : -1;
    if (low >= 0) *to++ = (char)(16 * high + low), from += 3;
    else *to++ = *from++;
  }
  *to = 0;
  return path;
}

static char *bytes_of_model(const char *place, size_t *size) {
  char *bytes = NULL, *path = place && *place ? plain_path(place) : NULL;
  if (path) bytes = whole_file(path, strlen(path), size);
  free(path);
#if !defined(_WIN32)
  if (!bytes) {
    /* An importer that does not tell: two folders above this library. */
    Dl_info found;
    if (dladdr((void *)&dd, &found) && found.dli_fname) {
      size_t length = strlen(found.dli_fname);
      int levels = 0;
      while (length > 0 && levels < 3) levels += found.dli_fname[--length] == '/';
      if (levels == 3) {
        char *other = malloc(length + 16);
        if (other) {
          memcpy(other, found.dli_fname, length), strcpy(other + length, "/resources");
          bytes = whole_file(other, strlen(other), size);
          free(other);
        }
      }
    }
  }
#endif
  return bytes;
}

/* The first letters of a file that this library reads; a library is known by the whole of it. */
__attribute__((used)) static const char dd_format[] = "DDFMU007 is read";

typedef struct { const char *at, *end; } Reader;
static const void *part(Reader *r, int64_t count, size_t size) {
  const char *found = r->at;
  const size_t bytes = (size_t)count * size, padded = (bytes + 7) / 8 * 8;
  if (count < 0 || (size_t)(r->end - r->at) < padded) { r->at = NULL, r->end = NULL; return NULL; }
  r->at += padded;
  return found;
}
#define PART(r, type, count) ((const type *)part(r, count, sizeof(type)))

static int read_model(char *bytes, size_t size) {
  Reader r = {bytes, bytes + size};
  const char *magic = PART(&r, char, 8);
  const int64_t *sizes = PART(&r, int64_t, 21);
  const double *numbers = PART(&r, double, 3);
  const int32_t *ways;
  int64_t whole;
  int k;
  if (!magic || memcmp(magic, dd_format, 8) || !sizes || !numbers) return 1;
  dd.nx = sizes[0], dd.nz = sizes[1], dd.nu = sizes[2], dd.np = sizes[3], dd.ny = sizes[4], dd.ng = sizes[5];
  dd.stages = sizes[6], dd.order = sizes[7], dd.implicit = sizes[8], dd.projected = sizes[9], dd.corrections = sizes[10];
  dd.stage_z = sizes[11], dd.nh = sizes[13], dd.nc = sizes[14], dd.nw = sizes[16], dd.embedded = sizes[17], dd.nf = sizes[18];
  dd.nk = sizes[19], dd.bdf = sizes[20];
  dd.rtol = numbers[0], dd.first_step = numbers[1], dd.fixed_step = numbers[2];
  dd.token = PART(&r, char, sizes[12]);
  dd.x_start = PART(&r, double, dd.nx), dd.p_values = PART(&r, double, dd.np), dd.nominal = PART(&r, double, dd.nx);
  dd.A = PART(&r, double, dd.stages * dd.stages), dd.b = PART(&r, double, dd.stages), dd.c = PART(&r, double, dd.stages);
  dd.off = PART(&r, double, dd.stages);
  dd.guess = PART(&r, double, dd.stage_z), dd.w_start = PART(&r, double, dd.nw);
  dd.period = PART(&r, double, dd.nc), dd.offset = PART(&r, double, dd.nc), dd.divisor = PART(&r, double, dd.nc);
  dd.times = PART(&r, double, sizes[15]);
  /* Directions of events, which of them and of clocks end a run, which count at the start; levels and first times; events and modes of frictions. */
  whole = 3 * dd.ng + 3 * dd.nc + 1 + 2 * dd.nf;
  ways = PART(&r, int32_t, whole);
  if (!r.at || !dd.token || dd.token[sizes[12] - 1]) return 1;
  dd.directions = malloc(sizeof(int) * (size_t)whole);
  if (!dd.directions) return 1;
  dd.terminal = dd.directions + dd.ng, dd.at_start = dd.terminal + dd.ng + dd.nc, dd.levels = dd.at_start + dd.ng;
  dd.first = dd.levels + dd.nc, dd.friction_guards = dd.first + dd.nc + 1;
  dd.friction_modes = dd.friction_guards + dd.nf;
  for (k = 0; k < (int)whole; ++k) dd.directions[k] = ways[k];
  for (k = 0; k < FUNCTIONS; ++k) {
    Program *f = &dd.programs[k];
    const int64_t *head = PART(&r, int64_t, 3);
    if (!head) return 1;
    f->work = head[0], f->count = head[1], f->constants = head[2];
    f->values = PART(&r, double, f->constants);
    f->code = PART(&r, int32_t, 4 * f->count);
    if (!r.at) return 1;
  }
  return 0;
}

/* The model is there while there are instances: libraries that are loaded and unloaded leave nothing behind. */
static volatile int dd_lock;
static int dd_ready, dd_users;
static int dd_load(const char *place) {
  int failed = 0;
  while (__sync_lock_test_and_set(&dd_lock, 1)) {}
  if (!dd_ready) {
    size_t size = 0;
    char *bytes = bytes_of_model(place, &size);
    dd.directions = NULL;
    failed = !bytes || read_model(bytes, size);
    if (failed) free(bytes), free(dd.directions);
    else dd.file = bytes, dd_ready = 1;
  }
  if (!failed) ++dd_users;
  __sync_lock_release(&dd_lock);
  return failed;
}
static void dd_unload(void) {
  while (__sync_lock_test_and_set(&dd_lock, 1)) {}
  if (--dd_users == 0) free(dd.file), free(dd.directions), dd_ready = 0;
  __sync_lock_release(&dd_lock);
}
#define DD_LOAD(place) dd_load(place)
#define DD_UNLOAD() dd_unload()
