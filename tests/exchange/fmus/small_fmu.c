/* A small FMU of FMI 2.0 for the tests of the importer: x' = -k x + u, y = 2 x + 3 u, with an indicator x - level and a
   time event each second that adds one to `count`. What it does badly is asked for by the parameter `deed`:
   1 crashes, 2 hangs, 3 aborts, 4 exits in the rates; 5 returns an error; 6 prints; 7 discards beyond x < 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
typedef struct { double t, x, u, k, level, deed, next, above; int count; } Unit;
typedef struct { int again, terminate, nominals, values, defined; double time; } Info;

static const char token[] = "{small}";

API const char *fmi2GetVersion(void) { return "2.0"; }
API void *fmi2Instantiate(const char *n, int type, const char *guid, const char *place, const void *c, int v, int l) {
  Unit *m;
  (void)n, (void)type, (void)place, (void)c, (void)v, (void)l;
  if (strcmp(guid, token)) return NULL;
  m = calloc(1, sizeof *m);
  m->x = 1, m->k = 1, m->level = 0.5, m->next = 1;
  return m;
}
API void fmi2FreeInstance(void *c) { free(c); }
API int fmi2SetupExperiment(void *c, int h, double tol, double t, int s, double e) {
  Unit *m = c;
  (void)h, (void)tol, (void)s, (void)e;
  m->t = t, m->next = floor(t) + 1;
  return 0;
}
API int fmi2EnterInitializationMode(void *c) { (void)c; return 0; }
API int fmi2ExitInitializationMode(void *c) { Unit *m = c; m->above = m->x > m->level; return 0; }
API int fmi2EnterEventMode(void *c) { (void)c; return 0; }
API int fmi2EnterContinuousTimeMode(void *c) { (void)c; return 0; }
API int fmi2CompletedIntegratorStep(void *c, int k, int *e, int *s) { (void)c, (void)k; *e = *s = 0; return 0; }
API int fmi2NewDiscreteStates(void *c, Info *info) {
  Unit *m = c;
  memset(info, 0, sizeof *info);
  if (m->t >= m->next) m->count += 1, m->next += 1;
  if ((m->x > m->level) != (m->above > 0)) {
    m->above = m->x > m->level;
    m->x += 1, info->values = 1; /* kicked up whenever it passes the level */
    m->above = m->x > m->level;
  }
  info->defined = 1, info->time = m->next;
  info->terminate = m->count >= 100;
  return 0;
}
static double rate(Unit *m) {
  int deed = (int)m->deed;
  if (deed == 1) *(volatile int *)0 = 1;
  while (deed == 2) { volatile int k = 0; (void)k; }
  if (deed == 3) abort();
  if (deed == 4) exit(7);
  if (deed == 6) printf("a line that must not disturb\n"), fflush(stdout);
  return -m->k * m->x + m->u;
}
API int fmi2SetTime(void *c, double t) { ((Unit *)c)->t = t; return 0; }
API int fmi2SetContinuousStates(void *c, const double *x, size_t n) { (void)n; ((Unit *)c)->x = x[0]; return 0; }
API int fmi2GetContinuousStates(void *c, double *x, size_t n) { (void)n; x[0] = ((Unit *)c)->x; return 0; }
API int fmi2GetDerivatives(void *c, double *d, size_t n) {
  Unit *m = c;
  (void)n;
  if (m->deed == 5) return 3;
  if (m->deed == 7 && m->x < 0) return 2;
  d[0] = rate(m);
  return 0;
}
API int fmi2GetEventIndicators(void *c, double *z, size_t n) { Unit *m = c; (void)n; z[0] = m->x - m->level; return 0; }
API int fmi2GetReal(void *c, const unsigned *r, size_t n, double *v) {
  Unit *m = c;
  size_t k;
  for (k = 0; k < n; ++k)
    switch (r[k]) {
      case 0: v[k] = m->x; break;
      case 1: v[k] = rate(m); break;
      case 2: v[k] = m->u; break;
      case 3: v[k] = 2 * m->x + 3 * m->u; break;
      case 4: v[k] = m->k; break;
      case 5: v[k] = m->level; break;
      case 6: v[k] = m->deed; break;
      default: return 3;
    }
  return 0;
}
API int fmi2SetReal(void *c, const unsigned *r, size_t n, const double *v) {
  Unit *m = c;
  size_t k;
  for (k = 0; k < n; ++k)
    switch (r[k]) {
      case 0: m->x = v[k]; break;
      case 2: m->u = v[k]; break;
      case 4: m->k = v[k]; break;
      case 5: m->level = v[k]; break;
      case 6: m->deed = v[k]; break;
      default: return 3;
    }
  return 0;
}
API int fmi2GetInteger(void *c, const unsigned *r, size_t n, int *v) {
  size_t k;
  for (k = 0; k < n; ++k) {
    if (r[k] != 7) return 3;
    v[k] = ((Unit *)c)->count;
  }
  return 0;
}
API int fmi2SetInteger(void *c, const unsigned *r, size_t n, const int *v) { (void)c, (void)r, (void)v; return n ? 3 : 0; }
API int fmi2SetBoolean(void *c, const unsigned *r, size_t n, const int *v) { (void)c, (void)r, (void)v; return n ? 3 : 0; }
API int fmi2DoStep(void *c, double t, double h, int keep) {
  Unit *m = c;
  const double e = exp(-m->k * h);
  (void)keep;
  rate(m);
  m->x = m->x * e + m->u / m->k * (1 - e), m->t = t + h;
  if (m->t >= m->next - 1e-9) m->count += 1, m->next += 1;
  return 0;
}
API int fmi2Terminate(void *c) { (void)c; return 0; }
