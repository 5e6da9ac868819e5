#include "base/maths.h"

double vs_power(double base, uint64_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2 == 1)
            result *= base;
    return result;
}

double vs_exp_minus(double x) {
    enum { HALVINGS = 20 };
    double result = 1 - x / (double)(1 << HALVINGS);
    for (int i = 0; i < HALVINGS; i++)
        result *= result;
    return result;
}
