/* Powers from products alone, which every machine rounds alike: the last digit of a C library's
 * pow() and exp() is its own. */
#ifndef VS_BASE_MATHS_H
#define VS_BASE_MATHS_H

#include <stdint.h>

double vs_power(double base, uint64_t exponent);
double vs_exp_minus(double x); /* e^-x for x >= 0, to about 1e-5 */

#endif
