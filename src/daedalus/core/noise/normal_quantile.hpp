// The inverse of the normal distribution function to full precision: algorithm AS 241, PPND16 (M. J. Wichura, Applied
// Statistics 37, 1988).
#pragma once

#include <cmath>

#include "noise/logarithm.hpp"

namespace daedalus {

// A quotient of polynomials of degree 7, lowest coefficients first; the denominator begins with 1.
struct Rational {
    double over[8], under[7];

    double operator()(double r) const {
        double top = over[7], bottom = under[6];
        for (int k = 6; k >= 0; --k) top = top * r + over[k];
        for (int k = 5; k >= 0; --k) bottom = bottom * r + under[k];
        return top / (bottom * r + 1.0);
    }
};

inline constexpr Rational QUANTILE_MIDDLE{
    {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
     4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3},
    {4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3, 2.1213794301586595867e+4,
     3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3}};
inline constexpr Rational QUANTILE_SIDE{
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
inline constexpr Rational QUANTILE_FAR{
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};

// The formula of the middle holds for |q| up to this, in r = 0.425² − q²; the others in √(−ln tail) less these.
inline constexpr double MIDDLE = 0.425, SQUARED_MIDDLE = 0.180625, SIDE_FROM = 1.6, FAR_FROM = 5.0;

// The quantile of p = ½ + q, of which `tail` = min(p, 1 - p), where |q| > MIDDLE.
inline double quantile_of_tail(double q, double tail) {
    const double r = std::sqrt(-logarithm(tail));
    const double size = r <= FAR_FROM ? QUANTILE_SIDE(r - SIDE_FROM) : QUANTILE_FAR(r - FAR_FROM);
    return q < 0.0 ? -size : size;
}

}  // namespace daedalus
