/* fp32 matrix product by the machine's own BLAS, where one can be loaded: what the processor can do
 * at most. flops = 2 n^3. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "../probe.h"

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, SIZE = 1024 };

typedef void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

struct product {
    sgemm multiply;
    float *a, *b, *c;
};

static double multiply_once(void *context) {
    struct product *p = context;
    double start = now_s();
    p->multiply(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, SIZE, SIZE, SIZE, 1, p->a, SIZE, p->b,
                SIZE, 0, p->c, SIZE);
    return now_s() - start;
}

static bool is_right(const struct product *p) {
    double expected = 0;
    for (size_t k = 0; k < SIZE; k++)
        expected += (double)p->a[(SIZE - 1) * SIZE + k] * (double)p->b[k * SIZE + SIZE - 1];
    return fabs(expected - (double)p->c[SIZE * SIZE - 1]) <= 1e-4 * SIZE;
}

static void *load(sgemm *multiply) {
    static const char *const LIBRARIES[] = {"libmkl_rt.so",     "libmkl_rt.so.2", "libopenblas.so",
                                            "libopenblas.so.0", "libblis.so.4",   "libcblas.so.3",
                                            "libblas.so.3"};
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof *LIBRARIES; i++) {
        void *library = dlopen(LIBRARIES[i], RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
        if (symbol) {
            *(void **)multiply = symbol; /* as POSIX says how */
            return library;
        }
        if (library)
            (void)dlclose(library);
    }
    return NULL;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct product p = {0};
    void *library = load(&p.multiply);
    if (!library) {
        session_skip(session, "no library with cblas_sgemm was found");
        return;
    }
    p.a = malloc(SIZE * SIZE * sizeof *p.a);
    p.b = malloc(SIZE * SIZE * sizeof *p.b);
    p.c = malloc(SIZE * SIZE * sizeof *p.c);
    for (size_t i = 0; p.a && p.b && p.c && i < SIZE * SIZE; i++) {
        p.a[i] = (float)(i % 13) / 13;
        p.b[i] = (float)(i % 7) / 7;
    }
    if (!p.a || !p.b || !p.c)
        session_skip(session, "no memory for the matrices");
    else if (multiply_once(&p) < 0 || !is_right(&p))
        session_skip(session, "its result was wrong");
    else
        session_measure(session, limits,
                        &(struct sample){.work = 2.0 * SIZE * SIZE * SIZE,
                                         .unit = "flops",
                                         .threads = limits->threads,
                                         .m = SIZE,
                                         .n = SIZE,
                                         .k = SIZE},
                        multiply_once, &p);
    free(p.a);
    free(p.b);
    free(p.c);
    (void)dlclose(library);
}

const struct probe probe_cpu_gemm_blas = {"cpu_gemm_blas",
                                          "fp32 matrix product by the machine's BLAS", run};
