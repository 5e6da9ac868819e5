/* Events per second of the engine as ratios to a bare 4-ary heap with 16-byte keys and 10,000
 * pending events, in one process: the heap bounds what any simulator with a queue can reach.
 *
 * Each figure is the median of the ratios of REPEATS pairs (heap, subject), measured in turns, so
 * that what a neighbour takes from this machine is taken from both.
 *
 * The heap has a textbook's layout; the engine's puts four children on one cache line. The FIFO
 * chains are short (50,000 activities in all): with 200,000 the caches are what is measured. In the
 * required max-min settings a flow's successor starts at once; the rows below add latencies, that
 * is two solutions each.
 *
 *     bench_des        prints the table; exit status 1 when a ratio is below what is required
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "des/des.h"
#include "des/heap.h"

enum { PENDING = 10000, REPEATS = 9, HOLDS = 1000000 };

static uint64_t state;

/* SplitMix64 (Steele, Lea, Flood 2014): cheap enough not to be what is measured. */
static uint64_t draw(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The reference: a heap as in a textbook, nothing but keys in one array. */
static struct vs_heap_key *bare;
static size_t bare_count;

static bool is_before(const struct vs_heap_key *a, const struct vs_heap_key *b) {
    return (a->time_ps < b->time_ps) | ((a->time_ps == b->time_ps) & (a->order < b->order));
}

static void bare_push(struct vs_heap_key key) {
    size_t at = bare_count++;
    while (at > 0 && is_before(&key, &bare[(at - 1) / 4])) {
        bare[at] = bare[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    bare[at] = key;
}

static struct vs_heap_key bare_pop(void) {
    const struct vs_heap_key top = bare[0];
    const struct vs_heap_key last = bare[--bare_count];
    size_t at = 0;
    for (size_t child = 1; child < bare_count; child = at * 4 + 1) {
        const size_t end = child + 4 < bare_count ? child + 4 : bare_count;
        size_t best = child;
        for (size_t other = child + 1; other < end; other++)
            best = is_before(&bare[other], &bare[best]) ? other : best;
        if (!is_before(&bare[best], &last))
            break;
        bare[at] = bare[best];
        at = best;
    }
    bare[at] = last;
    return top;
}

static int64_t increment(void) { return (int64_t)(draw() >> 44) + 1; }

static double bare_hold(void) {
    state = 1;
    bare_count = 0;
    for (uint32_t i = 0; i < PENDING; i++)
        bare_push((struct vs_heap_key){increment(), i, i});
    const double begin = seconds();
    for (uint32_t i = 0; i < HOLDS; i++) {
        struct vs_heap_key key = bare_pop();
        key.time_ps += increment();
        key.order = PENDING + i;
        bare_push(key);
    }
    return HOLDS / (seconds() - begin);
}

static double engine_hold(void) {
    state = 1;
    struct vs_heap heap = {0};
    if (!vs_heap_reserve(&heap, PENDING))
        return 0;
    for (uint32_t i = 0; i < PENDING; i++)
        vs_heap_set(&heap, (struct vs_heap_key){increment(), i, i});
    const double begin = seconds();
    for (uint32_t i = 0; i < HOLDS; i++) {
        struct vs_heap_key key = vs_heap_pop(&heap);
        key.time_ps += increment();
        key.order = PENDING + i;
        vs_heap_set(&heap, key);
    }
    const double rate = HOLDS / (seconds() - begin);
    vs_heap_release(&heap);
    return rate;
}

/* `streams` chains of `length` activities, added in turns. */
struct setting {
    uint32_t streams, length, resources;
    uint32_t
        streams_per_one; /* stream s uses resource s / streams_per_one; 0 = two or three, drawn */
    int64_t latency_ps;  /* up to */
    bool with_add;       /* measure adding, too */
};

static uint32_t pick(const struct setting *setting, uint32_t stream, struct vs_demand *demands) {
    const double amount = (double)(draw() >> 44) + 1;
    if (setting->streams_per_one) {
        demands[0] = (struct vs_demand){stream / setting->streams_per_one, amount};
        return 1;
    }
    const uint32_t count = 2 + (uint32_t)(draw() & 1);
    const uint32_t first = (uint32_t)(draw() % setting->resources);
    for (uint32_t i = 0; i < count; i++) /* different ones: the step 5 is coprime to 16 */
        demands[i] = (struct vs_demand){(first + 5 * i) % setting->resources,
                                        amount * (1 + (double)(draw() & 7))};
    return count;
}

static void fill(struct vs_des *des, const struct setting *setting) {
    state = 2;
    const uint32_t count = setting->streams * setting->length;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t stream = i % setting->streams;
        struct vs_demand demands[3];
        struct vs_activity_spec spec = {.stream = stream, .demands = demands};
        spec.demand_count = pick(setting, stream, demands);
        if (setting->latency_ps)
            spec.latency = (int64_t)(draw() % (uint64_t)setting->latency_ps);
        if (vs_des_add(des, &spec) == VS_NONE)
            exit(2);
    }
}

/* Activities per second; events that begin a service after a latency are not counted. */
static double engine_rate(const struct setting *setting) {
    struct vs_err err;
    struct vs_des *des = vs_des_new();
    if (!des)
        exit(2);
    for (uint32_t i = 0; i < setting->resources; i++)
        vs_des_resource(des, 1e9);
    for (uint32_t i = 0; i < setting->streams; i++)
        vs_des_stream(des);
    fill(des, setting); /* grows the arrays */
    const uint32_t count = setting->streams * setting->length;
    const uint32_t repeats = 1 + 50000 / count;
    double spent = 0;
    for (uint32_t i = 0; i < repeats; i++) {
        double begin = seconds();
        vs_des_reset(des);
        fill(des, setting);
        if (!setting->with_add)
            begin = seconds();
        if (!vs_des_run(des, &err))
            exit(2);
        spent += seconds() - begin;
    }
    vs_des_free(des);
    return (double)count * repeats / spent;
}

static int by_value(const void *left, const void *right) {
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *x) {
    qsort(x, REPEATS, sizeof *x, by_value);
    return x[REPEATS / 2];
}

/* `setting` NULL measures the queue alone. True when the ratio is reached. */
static bool compare(const char *what, const struct setting *setting, double required) {
    double ratios[REPEATS], rates[REPEATS], heaps[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        heaps[i] = bare_hold();
        rates[i] = setting ? engine_rate(setting) : engine_hold();
        ratios[i] = rates[i] / heaps[i];
    }
    const double ratio = median(ratios);
    const double rate = median(rates);
    printf("%-52s %8.3f M/s %7.1f ns  ratio %6.3f", what, rate * 1e-6, 1e9 / rate, ratio);
    if (required > 0)
        printf("  (>= %.3f: %s)", required, ratio >= required ? "yes" : "NO");
    printf("  heap %.2f M/s\n", median(heaps) * 1e-6);
    return ratio >= required;
}

int main(void) {
    bare = malloc(PENDING * sizeof *bare);
    if (!bare)
        return 2;
    const struct setting fifo = {
        .streams = PENDING, .length = 5, .resources = PENDING, .streams_per_one = 1};
    const struct setting few = {
        .streams = 4, .length = 750, .resources = 4, .streams_per_one = 1, .with_add = true};
    const struct setting eight = {
        .streams = 8, .length = 10000, .resources = 1, .streams_per_one = 8};
    struct setting eight_late = eight;
    eight_late.latency_ps = 2000000;
    const struct setting groups = {
        .streams = PENDING, .length = 10, .resources = PENDING / 8, .streams_per_one = 8};
    const struct setting mesh = {.streams = 64, .length = 500, .resources = 16};
    struct setting mesh_late = mesh;
    mesh_late.latency_ps = 2000000;
    bool ok = compare("hold model, the engine's queue", NULL, 0.6);
    ok &= compare("FIFO, 10,000 streams without contention", &fifo, 0.35);
    ok &= compare("max-min, 8 flows on a resource", &eight, 0.12);
    ok &= compare("max-min, 64 flows over 16 resources", &mesh, 0.025);
    compare("add and run, 4 streams without contention", &few, 0);
    compare("8 flows on a resource, each with a latency", &eight_late, 0);
    compare("1,250 resources with 8 flows each", &groups, 0);
    compare("64 flows over 16 resources, each with a latency", &mesh_late, 0);
    free(bare);
    return ok ? 0 : 1;
}
