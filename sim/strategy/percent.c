/* FlexGen's policy: percent of weights, KV cache and hidden states on the GPU and in host memory;
 * the rest is on disk.
 *
 * Weights are placed whole. In the list of each part (attention and MLP of a layer, embeddings,
 * head) the first go to disk, the next to the host, the last to the GPU, each by where its middle
 * lies in the bytes of the list (FMInference/FlexLLMGen:flexllmgen/flex_opt.py@004ffef2). Norms and
 * biases, too small to matter, stay on the GPU. */
#include "strategy/strategy.h"

#include "base/text.h"
#include "base/units.h"
#include "hw/machine.h"

enum { PERCENTS = 6 };

static bool bad(const char *text, const char *why, struct vs_err *err) {
    return vs_err_at(err, NULL, 0, 0,
                     "--percent %s: %s; expected WG/WC/CG/CC/HG/HC, six whole numbers from 0 to "
                     "100, at most 100 together in each pair",
                     text, why);
}

static bool read_percents(struct vs_plan *plan, const char *text, double *share,
                          struct vs_err *err) {
    size_t count;
    char why[VS_WHY_SIZE];
    char **parts = vs_split(plan->arena, text, '/', &count);
    if (!parts)
        return vs_err_nomem(err);
    if (count != PERCENTS)
        return bad(text, vs_arena_printf(plan->arena, "found %zu numbers", count), err);
    for (size_t i = 0; i < PERCENTS; i++) {
        int64_t n;
        if (!vs_parse_count(parts[i], &n, why) || n < 0 || n > 100)
            return bad(text, vs_arena_printf(plan->arena, "found '%s'", parts[i]), err);
        share[i] = (double)n / 100;
    }
    for (size_t i = 0; i < PERCENTS; i += 2)
        if (share[i] + share[i + 1] > 1 + 1e-9)
            return bad(
                text,
                vs_arena_printf(plan->arena, "%s and %s are more than 100", parts[i], parts[i + 1]),
                err);
    return true;
}

/* The list that a weight is part of: one of its layer, or its own. */
static int list_of(const struct vs_weight *w) {
    enum vs_role role = w->tensor->role;
    if (role == VS_ROLE_NORM)
        return -1;
    if (w->tensor->layer < 0)
        return role == VS_ROLE_HEAD ? 1 : 0;
    return 2 + 2 * w->tensor->layer + vs_role_is_mlp(role);
}

static double list_bytes(const struct vs_plan *plan, int list, size_t until) {
    double bytes = 0;
    for (size_t i = 0; i < until; i++)
        if (list_of(&plan->weights[i]) == list)
            bytes += (double)vs_tensor_params(plan->weights[i].tensor);
    return bytes;
}

static void place_list(struct vs_plan *plan, int list, size_t first, double gpu, double host) {
    double all = list_bytes(plan, list, plan->weight_count), before = 0;
    for (size_t i = first; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        if (list_of(w) != list)
            continue;
        double own = (double)vs_tensor_params(w->tensor), middle = (before + own / 2) / all;
        before += own;
        if (middle < 1 - gpu - host - 1e-9)
            w->home = VS_HOME_STORAGE;
        else if (middle < 1 - gpu - 1e-9)
            w->home = vs_copied_home(plan);
    }
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    double share[PERCENTS];
    if (c->task != VS_TASK_GENERATE || !vs_given(&c->axes, VS_AXIS_PERCENT))
        return true;
    const char *text = c->axes.at[VS_AXIS_PERCENT].text;
    if (!read_percents(plan, text, share, err))
        return false;
    if (c->machine->storage == NULL)
        return vs_err_at(err, NULL, 0, 0,
                         "--percent: the machine of %s has no storage; expected --storage NAME",
                         c->machine->hw);
    if (c->machine->unified || c->machine->device_count != 1)
        return vs_err_at(err, NULL, 0, 0,
                         "--percent %s: %s is not one device with memory of its own", text,
                         c->machine->hw);
    int64_t batches = vs_count(&c->axes, VS_AXIS_GPU_BATCHES);
    plan->block = (struct vs_block){
        .batches = batches > 0 ? (uint32_t)batches : 1,
        .cache_gpu = share[2],
        .cache_host = share[3],
        .cache_disk = 1 - share[2] - share[3] > 1e-9 ? 1 - share[2] - share[3] : 0,
        .hidden_gpu = share[4],
        .attention_on_cpu = vs_is(&c->axes, VS_AXIS_ATTN_PLACE, "cpu")};
    for (size_t i = 0; i < plan->weight_count; i++) {
        int list = list_of(&plan->weights[i]);
        if (list >= 0 && list_bytes(plan, list, i) == 0)
            place_list(plan, list, i, share[0], share[1]);
    }
    return true;
}

const struct vs_strategy vs_strategy_percent = {
    .name = "block schedule",
    .help = "FlexGen: weights, cache and hidden states shared out over GPU, RAM and disk",
    .stage = "place",
    .apply = apply};
