/* DOP853 for x' = f(t, x, u, p), the way a C programmer writes it: fixed sizes, stages unrolled, no allocation.
 *
 * Method, step control and first step: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4 and II.10.
 * Before compiling, the tool defines SIZE and the macros STAGES, SOLUTION, ERROR_3 and ERROR_5 from the published table,
 * and puts CasADi's C code of f in front.
 */
#include <math.h>

static const double *arguments[SZ_ARG];
static double *results[SZ_RES];
static casadi_int integers[SZ_IW + 1];
static double doubles[SZ_W + 1];

static void derivative(double t, const double *x, const double *u, const double *p, double *out) {
    arguments[0] = &t;
    arguments[1] = x;
    arguments[2] = u;
    arguments[3] = p;
    results[0] = out;
    f(arguments, results, integers, doubles, 0);
}

static double first_step(double t, double end, const double *x, const double *f0, const double *u, const double *p,
                         double rtol, double atol) {
    double size_x = 0, size_f = 0, change = 0, moved[SIZE], f1[SIZE];
    for (int i = 0; i < SIZE; i++) {
        double scale = atol + rtol * fabs(x[i]);
        size_x += (x[i] / scale) * (x[i] / scale);
        size_f += (f0[i] / scale) * (f0[i] / scale);
    }
    double h = (size_f <= 1e-10 || size_x <= 1e-10) ? 1e-6 : 0.01 * sqrt(size_x / size_f);
    h = fmin(h, end - t);
    for (int i = 0; i < SIZE; i++) moved[i] = x[i] + h * f0[i];
    derivative(t + h, moved, u, p, f1);
    for (int i = 0; i < SIZE; i++) {
        double scale = atol + rtol * fabs(x[i]);
        change += ((f1[i] - f0[i]) / scale) * ((f1[i] - f0[i]) / scale);
    }
    double steepest = fmax(sqrt(change) / h, sqrt(size_f));
    double h1 = steepest <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / steepest, 1.0 / 8);
    return fmin(fmin(100 * h, h1), end - t);
}

/* 0: end reached; 1: too many steps; 2: step too small */
int dop853(double t, double end, double *x, const double *u, const double *p, double rtol, double atol) {
    double k[12][SIZE], y[SIZE], slope[SIZE];
    derivative(t, x, u, p, k[0]);
    double h = first_step(t, end, x, k[0], u, p, rtol, atol);
    int rejected = 0;
    for (long step = 0; step < 1000000; step++) {
        if (t >= end) return 0;
        if (t + 1.01 * h >= end) h = end - t;
        if (h <= 2.3e-16 * fabs(t)) return 2;
        STAGES
        double fifth = 0, third = 0;
        for (int i = 0; i < SIZE; i++) {
            slope[i] = SOLUTION;
            y[i] = x[i] + h * slope[i];
            double scale = atol + rtol * fmax(fabs(x[i]), fabs(y[i]));
            double e5 = (ERROR_5) / scale, e3 = (ERROR_3) / scale;
            fifth += e5 * e5;
            third += e3 * e3;
        }
        double mixed = fifth + 0.01 * third;
        double error = h * fifth / sqrt(SIZE * (mixed > 0 ? mixed : 1.0));
        double factor = fmax(1.0 / 6, fmin(1 / 0.333, pow(error, 1.0 / 8) / 0.9));
        if (error <= 1.0) {
            t += h;
            for (int i = 0; i < SIZE; i++) x[i] = y[i];
            derivative(t, x, u, p, k[0]);
            h /= rejected ? fmax(factor, 1.0) : factor;
            rejected = 0;
        } else {
            h /= fmin(1 / 0.333, pow(error, 1.0 / 8) / 0.9);
            rejected = 1;
        }
    }
    return 1;
}
