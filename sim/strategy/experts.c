/* Experts of the first N layers in host memory, and single tensors where --override-tensor puts
 * them. */
#include "strategy/strategy.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "hw/machine.h"

static void experts_to_host(struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    int64_t layers = vs_is(axes, VS_AXIS_EXPERTS_CPU, "all") ? plan->c->model->layers
                                                             : vs_count(axes, VS_AXIS_EXPERTS_CPU);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        if (vs_is_expert(w) && w->tensor->layer < layers)
            w->home = VS_HOME_HOST;
    }
}

/* One rule of --override-tensor: "regular expression=DEVICE". */
struct placement {
    regex_t pattern;
    enum vs_home home;
};

static bool read_home(const struct vs_plan *plan, const char *word, enum vs_home *home) {
    char why[VS_WHY_SIZE];
    int64_t device;
    if (vs_streq(word, "CPU")) {
        *home = VS_HOME_HOST;
        return true;
    }
    if (!vs_starts(word, "CUDA") || !vs_parse_count(word + 4, &device, why) || device < 0 ||
        (size_t)device >= plan->c->machine->device_count)
        return false;
    *home = vs_gpu_home((unsigned)device);
    return true;
}

static bool read_rule(struct vs_plan *plan, char *text, struct placement *rule,
                      struct vs_err *err) {
    char *equals = strrchr(text, '=');
    if (!equals)
        return vs_err_at(err, NULL, 0, 0, "--override-tensor %s: expected REGEX=DEVICE", text);
    *equals = '\0';
    if (!read_home(plan, equals + 1, &rule->home))
        return vs_err_at(err, NULL, 0, 0,
                         "--override-tensor %s=%s: expected CPU or CUDA0 to CUDA%zu", text,
                         equals + 1, plan->c->machine->device_count - 1);
    if (regcomp(&rule->pattern, text, REG_EXTENDED | REG_NOSUB) != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--override-tensor: '%s' is not a POSIX extended regular expression",
                         text);
    return true;
}

static void place(struct vs_plan *plan, const struct placement *rules, size_t count) {
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        for (size_t r = 0; r < count; r++) {
            if (regexec(&rules[r].pattern, w->tensor->gguf_name, 0, NULL, 0) != 0)
                continue;
            w->home = rules[r].home;
            break;
        }
    }
}

static bool override(struct vs_plan *plan, struct vs_err *err) {
    size_t count, read = 0;
    bool ok = true;
    char **texts =
        vs_split(plan->arena, plan->c->axes.at[VS_AXIS_OVERRIDE_TENSOR].text, ',', &count);
    struct placement *rules = texts ? VS_NEW_ARRAY(plan->arena, struct placement, count) : NULL;
    if (!rules)
        return vs_err_nomem(err);
    while (ok && read < count)
        if ((ok = read_rule(plan, texts[read], &rules[read], err)))
            read++;
    if (ok)
        place(plan, rules, count);
    for (size_t i = 0; i < read; i++)
        regfree(&rules[i].pattern);
    return ok;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    if (plan->c->task == VS_TASK_TRAIN)
        return true;
    if (vs_given(axes, VS_AXIS_EXPERTS_CPU))
        experts_to_host(plan);
    return !vs_given(axes, VS_AXIS_OVERRIDE_TENSOR) || override(plan, err);
}

const struct vs_strategy vs_strategy_experts = {
    .name = "experts and tensors by name",
    .help = "experts of the first N layers on the CPU, tensors placed by regular expressions",
    .stage = "place",
    .apply = apply};
