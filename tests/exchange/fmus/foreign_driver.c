/* Runs the co-simulation of an FMU of FMI 3.0 and prints the bits of what it asks for: library, token, resources, end,
   steps, then references. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <windows.h>
#define OPEN(path) ((void *)LoadLibraryA(path))
#define FIND(library, name) ((void *)GetProcAddress((HMODULE)(library), name))
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif

typedef void *Make(const char *, const char *, const char *, bool, bool, bool, bool, const uint32_t *, size_t, void *, void *, void *);
typedef int Begin(void *, bool, double, double, bool, double);
typedef int Plain(void *);
typedef int Step(void *, double, double, bool, bool *, bool *, bool *, double *);
typedef int Get(void *, const uint32_t *, size_t, double *, size_t);

int main(int count, char **given) {
  void *library = OPEN(given[1]), *unit;
  const double end = atof(given[4]);
  const int steps = atoi(given[5]);
  int k;
  if (!library) return 2;
  unit = ((Make *)FIND(library, "fmi3InstantiateCoSimulation"))("it", given[2], given[3], 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL);
  if (!unit) return 3;
  if (((Begin *)FIND(library, "fmi3EnterInitializationMode"))(unit, 0, 0, 0, 0, 0)) return 4;
  if (((Plain *)FIND(library, "fmi3ExitInitializationMode"))(unit)) return 5;
  for (k = 0; k < steps; ++k) {
    bool event, terminate, early;
    double reached;
    if (((Step *)FIND(library, "fmi3DoStep"))(unit, k * end / steps, end / steps, 1, &event, &terminate, &early, &reached)) return 6;
  }
  for (k = 6; k < count; ++k) {
    const uint32_t reference = (uint32_t)atol(given[k]);
    double value;
    if (((Get *)FIND(library, "fmi3GetFloat64"))(unit, &reference, 1, &value, 1)) return 7;
    printf("%.17g\n", value);
  }
  ((void (*)(void *))FIND(library, "fmi3FreeInstance"))(unit);
  return 0;
}
