/* Memory of each device as ggml's programs print it when they end
 * (llama.cpp: common_memory_breakdown_print): total = free + (self = model + context + compute) +
 * unaccounted, in MiB. What the process holds beside its own buffers is not accounted for. */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "report/common.h"
#include "report/report.h"

static const uint64_t MIB = (uint64_t)VS_MIB;

static void put_line(struct vs_text *out, const struct vs_pool_outcome *pool) {
    uint64_t model = vs_report_tag_bytes(pool, "weights"),
             context = vs_report_tag_bytes(pool, "kv");
    uint64_t compute = vs_report_tag_bytes(pool, "workspace"), self = model + context + compute;
    uint64_t total = pool->capacity_bytes, peak = pool->peak_bytes;
    uint64_t unused = total > peak ? total - peak : 0, rest = peak > self ? peak - self : 0;
    bool device = !vs_streq(pool->name, "host");
    vs_text_printf(out, "  |   - %-18s | ", pool->name);
    if (device)
        vs_text_printf(out, "%6" PRIu64 " = %6" PRIu64 " + (", total / MIB, unused / MIB);
    else
        vs_text_printf(out, "%19s", "");
    vs_text_printf(out, "%6" PRIu64 " = %6" PRIu64 " + %7" PRIu64 " + %7" PRIu64, self / MIB,
                   model / MIB, context / MIB, compute / MIB);
    if (device)
        vs_text_printf(out, ") + %11" PRIu64 " |\n", rest / MIB);
    else
        vs_text_printf(out, "%15s |\n", "");
}

void vs_report_breakdown(struct vs_text *out, const struct vs_outcome *outcome) {
    if (!outcome->memory_breakdown || !outcome->fits)
        return;
    vs_text_add(out,
                "\n  | memory breakdown [MiB] |  total     free      self    model   context   "
                "compute    unaccounted |\n");
    for (size_t i = 0; i < outcome->pool_count; i++)
        if (outcome->pools[i].capacity_bytes != UINT64_MAX)
            put_line(out, &outcome->pools[i]);
}
