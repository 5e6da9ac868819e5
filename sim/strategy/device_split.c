/* Several devices in one run.
 *   layer  a pipeline: layer i of those on GPUs goes to the first device whose cumulative share
 *          exceeds i / (their number, the output included); the output stands behind the last
 *          layer. By the rule "pipeline": "even" layers alone are counted, and token embeddings
 *          stand before the first. A device map has placed them already.
 *   row    each matrix in rows over all devices; cache, norms and buffers on the first
 * Shares are those of --tensor-split, else of free memory, as llama.cpp takes them. */
#include "strategy/strategy.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/units.h"
#include "engine/engine.h"
#include "hw/machine.h"

static bool given_shares(const struct vs_plan *plan, double *share, size_t n, struct vs_err *err) {
    size_t count;
    char why[VS_WHY_SIZE];
    const char *text = plan->c->axes.at[VS_AXIS_TENSOR_SPLIT].text;
    char **parts = vs_split(plan->arena, text, ',', &count);
    if (!parts)
        return vs_err_nomem(err);
    if (count != n)
        return vs_err_at(err, NULL, 0, 0,
                         "--tensor-split %s: found %zu shares, expected %zu, one for each device",
                         text, count, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!vs_parse_number(parts[i], &share[i], why) || share[i] < 0)
            return vs_err_at(
                err, NULL, 0, 0,
                "--tensor-split %s: found '%s', expected a number that is not negative", text,
                parts[i]);
        sum += share[i];
    }
    return sum > 0
               ? true
               : vs_err_at(err, NULL, 0, 0, "--tensor-split %s: expected a share above 0", text);
}

static void free_shares(const struct vs_plan *plan, double *share, size_t n) {
    for (size_t i = 0; i < n; i++)
        share[i] = vs_num_or(plan->c->machine->devices[i]->memory.usable_bytes, 1);
}

static double total(const double *share, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += share[i];
    return sum;
}

/* The first device whose cumulative share exceeds `at`. */
static uint8_t device_at(const double *share, size_t n, double at) {
    double sum = 0, all = total(share, n);
    for (size_t i = 0; i < n; i++) {
        sum += share[i];
        if (sum / all > at)
            return (uint8_t)i;
    }
    return (uint8_t)(n - 1);
}

static void split_layers(struct vs_plan *plan, const double *share, size_t n) {
    uint32_t layers = plan->c->model->layers, first = 0;
    while (first < layers && plan->layers[first].home == VS_HOME_HOST)
        first++;
    bool even = vs_streq(vs_engine_rule(plan->c->engine, "pipeline", "output"), "even");
    double parts = (double)(layers - first) + (even ? 0 : 1);
    for (uint32_t l = first; l < layers; l++) {
        plan->layers[l].device = device_at(share, n, (double)(l - first) / parts);
        plan->layers[l].home = vs_gpu_home(plan->layers[l].device);
    }
    uint8_t last = even ? (uint8_t)(n - 1) : device_at(share, n, (double)(layers - first) / parts);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        if (!vs_on_gpu(w->home))
            continue;
        bool enters = even && w->tensor->role == VS_ROLE_EMBED && !plan->c->model->tied_embeddings;
        w->home = vs_gpu_home(w->tensor->layer >= 0 ? plan->layers[w->tensor->layer].device
                              : enters              ? 0
                                                    : last);
    }
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    size_t n = c->machine->device_count;
    if (c->task == VS_TASK_TRAIN || n < 2 || plan->tensor_parallel)
        return true;
    int64_t stages = vs_count(&c->axes, VS_AXIS_PP);
    if (stages > 0 && (size_t)stages != n)
        return vs_err_at(err, NULL, 0, 0,
                         "--pp %lld on %s: found devices: %zu, expected as many as stages",
                         (long long)stages, c->machine->hw, n);
    plan->shares = VS_NEW_ARRAY(plan->arena, double, n);
    if (!plan->shares)
        return vs_err_nomem(err);
    if (!vs_given(&c->axes, VS_AXIS_TENSOR_SPLIT))
        free_shares(plan, plan->shares, n);
    else if (!given_shares(plan, plan->shares, n, err))
        return false;
    plan->row_split = vs_is(&c->axes, VS_AXIS_SPLIT, "row");
    if (!plan->row_split && !plan->mapped)
        split_layers(plan, plan->shares, n);
    return true;
}

const struct vs_strategy vs_strategy_device_split = {
    .name = "device split",
    .help = "layers in a pipeline over devices, or matrices in rows",
    .stage = "place",
    .apply = apply};
