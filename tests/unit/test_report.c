/* report/: what people and programs read. The outcomes are made by hand, so that every figure can
 * be checked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "report/report.h"
#include "report/table.h"
#include "unit/suite.h"

#define GIB(x) ((uint64_t)((x) * (double)VS_GIB))

static const struct vs_report_style plain;
static struct vs_text out;

static void setup(void) { out = (struct vs_text){0}; }
static void teardown(void) { vs_text_release(&out); }

static void has(const char *piece) {
    ck_assert_msg(strstr(vs_text_str(&out), piece) != NULL, "'%s' is not in:\n%s", piece,
                  vs_text_str(&out));
}

static void has_not(const char *piece) {
    ck_assert_msg(strstr(vs_text_str(&out), piece) == NULL, "'%s' is in:\n%s", piece,
                  vs_text_str(&out));
}

static void ascii_within(size_t width) {
    size_t used = 0;
    for (const char *at = vs_text_str(&out); *at != '\0'; at++) {
        ck_assert_msg((unsigned char)*at < 0x7f && (*at >= 0x20 || *at == '\n'), "byte %d", *at);
        used = *at == '\n' ? 0 : used + 1;
        ck_assert_msg(used <= width, "a line is longer than %zu:\n%s", width, vs_text_str(&out));
    }
}

/* A point that fits: 20 of 24 GiB, 100 tok/s, 327.68 s for a step of 16 x 2048 tokens. */
static const struct vs_tag_bytes gpu_tags[] = {{"weights", 15ULL << 30},
                                               {"activations", 5ULL << 30}};
static const struct vs_pool_outcome pools[] = {
    {"gpu0", 24ULL << 30, 20ULL << 30, 18ULL << 30, gpu_tags, 2},
    {"host", 64ULL << 30, 8ULL << 30, 8ULL << 30, NULL, 0},
    {"storage", UINT64_MAX, 0, 0, NULL, 0}};
static const struct vs_axis_word words[] = {{"seq", "2048"},     {"micro-batch", "1"},
                                            {"accum", "16"},     {"weights", "nf4"},
                                            {"method", "qlora"}, {"ckpt", "full"}};
static const struct vs_utilization use[] = {{"gpu0.compute", 0.25}, {"link0.h2d", 0.95}};
static const char *const assumed[] = {"the default machine of GeForce cards"};
static const char *const notes[] = {"a note"};

static struct vs_outcome fitting(const char *engine, const char *label, double speed) {
    struct vs_outcome o = {.hw = "rtx4090",
                           .machine = "rtx4090 in desktop-64g",
                           .model = "llama-3-70b",
                           .engine = engine,
                           .engine_version = "1.0",
                           .task = "train",
                           .label = label,
                           .fits = true};
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        o.metrics[i] = o.interval_low[i] = o.interval_high[i] = (double)NAN;
    o.strategy = words;
    o.strategy_count = sizeof words / sizeof words[0];
    o.metrics[VS_METRIC_TRAIN_TPS] = speed;
    o.metrics[VS_METRIC_STEP_TIME_S] = 32768 / speed;
    o.metrics[VS_METRIC_PEAK_VRAM_GIB] = 20;
    o.metrics[VS_METRIC_PEAK_RAM_GIB] = 8;
    o.metrics[VS_METRIC_FITS] = 1;
    o.interval_low[VS_METRIC_TRAIN_TPS] = 0.9 * speed;
    o.interval_high[VS_METRIC_TRAIN_TPS] = 1.2 * speed;
    o.pools = pools;
    o.pool_count = 3;
    o.bound_by = "link0.h2d";
    o.utilization = use;
    o.utilization_count = 2;
    o.assumed = assumed;
    o.assumed_count = 1;
    o.notes = notes;
    o.note_count = 1;
    return o;
}

/* One that runs out while loading: 1 GiB asked with 23.5 of 24 in use is 0.5 GiB short; 42 needed
 * is 18 in all. */
static const struct vs_oom_outcome load_oom = {.pool = "gpu0",
                                               .phase = "load",
                                               .operation = "layer 44",
                                               .tensor = "mlp.down",
                                               .at_s = 3.5,
                                               .requested_bytes = 1ULL << 30,
                                               .in_use_bytes = 47ULL << 29,
                                               .capacity_bytes = 24ULL << 30,
                                               .short_bytes = 1ULL << 29,
                                               .needed_bytes = 42ULL << 30,
                                               .by_tag = gpu_tags,
                                               .by_tag_count = 2};

static struct vs_outcome failing(const char *engine, const char *label,
                                 const struct vs_oom_outcome *oom) {
    struct vs_outcome o = fitting(engine, label, 1);
    o.fits = false;
    o.oom = oom;
    o.bound_by = NULL;
    o.metrics[VS_METRIC_TRAIN_TPS] = o.metrics[VS_METRIC_STEP_TIME_S] = (double)NAN;
    o.metrics[VS_METRIC_PEAK_VRAM_GIB] = 42;
    o.metrics[VS_METRIC_FITS] = 0;
    return o;
}

/* 24 GiB, 20 in use, 15 of them weights; no other engine prints it, nor a run that did not fit. */
START_TEST(breakdown_as_ggml_prints_it) {
    struct vs_outcome o = fitting("llamacpp", NULL, 100);
    vs_report_run_table(&out, &o, &plain);
    has_not("memory breakdown");
    o.memory_breakdown = true;
    vs_report_run_table(&out, &o, &plain);
    has("  | memory breakdown [MiB] |  total     free      self    model   context   compute    "
        "unaccounted |\n"
        "  |   - gpu0               |  24576 =   4096 + ( 15360 =  15360 +       0 +       0) +    "
        "   "
        " 5120 |\n"
        "  |   - host               |                         0 =      0 +       0 +       0       "
        "    "
        "     |\n");
    has_not("- storage");
    ascii_within(100);
}
END_TEST

/* 4 GiB, half of it used, a quarter kept, and as much as a quarter lost in the allocator. */
START_TEST(waste_of_a_cache) {
    const struct vs_kv_waste kv = {.held_bytes = 3.0 * (double)VS_GIB,
                                   .used_bytes = 2.0 * (double)VS_GIB,
                                   .reservation_bytes = 1.0 * (double)VS_GIB,
                                   .external_bytes = 1.0 * (double)VS_GIB};
    struct vs_outcome o = fitting("hf", NULL, 100);
    o.kv_waste = &kv;
    vs_report_run_table(&out, &o, &plain);
    has("  used                   2.00 GiB    50 %  by tokens, on average\n");
    has("  reservation            1.00 GiB    25 %  slots kept for tokens to come\n");
    has("  external               1.00 GiB    25 %  free in the allocator's segments\n");
    has_not("  internal");
    vs_report_run_json(&out, &o);
    has("\"kv_waste\"");
    has("\"reservation_bytes\": 1073741824");
}
END_TEST

START_TEST(run_table_of_a_fit) {
    struct vs_outcome o = fitting("hf", NULL, 100);
    vs_report_run_table(&out, &o, &plain);
    has("llama-3-70b, QLoRA training, seq 2048, micro-batch 1, accum 16, on rtx4090 in "
        "desktop-64g\n");
    has("fits\n");
    has("train_tps           100  tok/s  (90.0 .. 120)");
    has("80 % interval");
    has("gpu0                  20.00 GiB    83 %  [####################----] of 24.00 GiB");
    has("weights             15.00 GiB    62 %   ###############\n");
    has("95.0 %");
    has("bounds it");
    has("the default machine of GeForce cards");
    has("- a note");
    ascii_within(100);
}
END_TEST

START_TEST(run_table_of_an_oom) {
    struct vs_outcome o = failing("hf", NULL, &load_oom);
    vs_report_run_table(&out, &o, &plain);
    has("does not fit: OOM on gpu0\n");
    has("where      load, layer 44, mlp.down\n");
    has("after 3.5 s");
    has("requested  1 GiB, with 23.5 GiB in use of 24 GiB\n");
    has("short      512 MiB for this request, 18 GiB in all\n");
    has_not("train_tps");
    ascii_within(100);
}
END_TEST

START_TEST(color_only_when_asked) {
    struct vs_outcome o = fitting("hf", "x", 100);
    const struct vs_report_style colored = {.color = true};
    vs_report_run_table(&out, &o, &plain);
    has_not("\033");
    vs_text_release(&out);
    vs_report_run_table(&out, &o, &colored);
    has("\033[1;32mfits\033[0m");
}
END_TEST

START_TEST(control_characters_do_not_pass) {
    struct vs_outcome o = fitting("hf", "a\033[2Jb\n", 100);
    o.model = "m\r\n\033";
    vs_report_run_table(&out, &o, &plain);
    has("m???, QLoRA");
    has("a?[2Jb?");
    ascii_within(100);
}
END_TEST

static const struct vs_json *parse(struct vs_arena *arena) {
    const struct vs_json *root = NULL;
    struct vs_err err;
    ck_assert_msg(vs_json_parse(arena, "out", vs_text_str(&out), out.length, &root, &err), "%s",
                  err.text);
    return root;
}

static const struct vs_json *at(const struct vs_json *node, const char *key) {
    const struct vs_json *member = vs_json_member(node, key);
    ck_assert_msg(member != NULL, "no key %s in:\n%s", key, vs_text_str(&out));
    return member;
}

START_TEST(run_json_of_a_fit) {
    struct vs_arena arena = {0};
    struct vs_outcome o = fitting("hf", NULL, 100.0 / 3);
    vs_report_run_json(&out, &o);
    const struct vs_json *root = parse(&arena);
    ck_assert_str_eq(at(root, "hw")->string, "rtx4090");
    ck_assert_str_eq(at(root, "engine_version")->string, "1.0");
    ck_assert_str_eq(at(at(root, "strategy"), "micro-batch")->string, "1");
    ck_assert(at(root, "fits")->boolean);
    ck_assert_int_eq(at(root, "oom")->kind, VS_JSON_NULL);
    has("\"train_tps\": 33.3333333,");
    ck_assert_ptr_null(vs_json_member(at(root, "metrics"), "decode_tps"));
    const struct vs_json *gpu = at(at(root, "memory"), "gpu0");
    ck_assert_uint_eq(at(gpu, "peak_bytes")->integer, 20ULL << 30);
    ck_assert_uint_eq(at(at(gpu, "by_tag"), "weights")->integer, 15ULL << 30);
    ck_assert_int_eq(at(at(at(root, "memory"), "storage"), "capacity_bytes")->kind, VS_JSON_NULL);
    ck_assert_uint_eq(at(at(root, "interval80"), "train_tps")->count, 2);
    ck_assert_int_eq(at(at(root, "interval80"), "peak_vram_gib")->kind, VS_JSON_NULL);
    ck_assert_str_eq(at(root, "bound_by")->string, "link0.h2d");
    ck_assert_double_eq_tol(at(at(root, "utilization"), "gpu0.compute")->number, 0.25, 1e-12);
    ck_assert_uint_eq(at(root, "assumed")->count, 1);
    vs_arena_release(&arena);
}
END_TEST

/* Speeds are null, memory stays, and the culprit has all its figures. */
START_TEST(run_json_of_an_oom) {
    struct vs_arena arena = {0};
    struct vs_outcome o = failing("hf", NULL, &load_oom);
    vs_report_run_json(&out, &o);
    const struct vs_json *root = parse(&arena), *oom = at(root, "oom");
    ck_assert(!at(root, "fits")->boolean);
    ck_assert_str_eq(at(oom, "phase")->string, "load");
    ck_assert_str_eq(at(oom, "tensor")->string, "mlp.down");
    ck_assert_uint_eq(at(oom, "short_bytes")->integer, 1ULL << 29);
    ck_assert_uint_eq(at(oom, "needed_bytes")->integer, 42ULL << 30);
    ck_assert_int_eq(at(at(root, "metrics"), "train_tps")->kind, VS_JSON_NULL);
    ck_assert_double_eq_tol(at(at(root, "metrics"), "peak_vram_gib")->number, 42, 1e-12);
    vs_arena_release(&arena);
}
END_TEST

/* Three that fit (the last a bound), three that run out at two places. */
struct sweep_fixture {
    struct vs_outcome o[6];
    const struct vs_outcome *points[6];
    struct vs_oom_outcome near;
    struct vs_sweep sweep;
};

static void sweep_make(struct sweep_fixture *f) {
    f->o[0] = fitting(
        "hf",
        "nf4 + double quant, layers streamed from RAM, paged 8-bit AdamW, full checkpointing, "
        "fused loss",
        100);
    f->o[1] = fitting("fsdp", "parameters in RAM", 50);
    f->o[2] = fitting("ideal", "", 25);
    f->o[2].bound = true;
    f->o[3] = failing("hf", "full loss", &load_oom);
    f->o[4] = failing("hf", "chunked loss", &load_oom);
    f->near = load_oom;
    f->near.phase = "step 1";
    f->near.tensor = "logits";
    f->near.needed_bytes = 25ULL << 30;
    f->o[5] = failing("fsdp", "fused loss", &f->near);
    f->o[0].oom_point = 4096;
    f->o[1].oom_point = 4194304;
    f->o[1].oom_point_open = true;
    f->o[2].oom_point = -1;
    for (size_t i = 0; i < 6; i++)
        f->points[i] = &f->o[i];
    f->sweep = (struct vs_sweep){.hw = "rtx4090",
                                 .machine = "rtx4090 in desktop-64g",
                                 .workload = "qlora70b",
                                 .model = "llama-3-70b",
                                 .task = "train",
                                 .points = f->points,
                                 .point_count = 6,
                                 .fit_count = 3,
                                 .best = 0,
                                 .fastest_fewer_bits = -1,
                                 .rank_by = VS_METRIC_TRAIN_TPS,
                                 .oom_axis = "seq"};
}

START_TEST(sweep_table_ranks_and_explains) {
    struct sweep_fixture f;
    sweep_make(&f);
    f.o[0].command = "vramsim run --hw rtx4090 --workload qlora70b";
    vs_report_sweep_table(&out, &f.sweep, &plain);
    has("qlora70b: llama-3-70b, QLoRA training, seq 2048, micro-batch 1, accum 16, on rtx4090 in "
        "desktop-64g\n");
    has("assumed: the default machine of GeForce cards\n");
    has("3 of 6 strategies fit, ranked by train_tps");
    has("1  nf4 + double quant");
    has("  4096  link0.h2d");
    has("  >=4194304  ");
    has("3  plain");
    has("ideal*");
    has("* no engine known");
    has("3 do not fit");
    has("best: nf4 + double quant");
    has("fused loss (hf): 100 tok/s,\n      20.00 GiB of VRAM\n");
    has("explain it: vramsim run --hw rtx4090 --workload qlora70b\n");
    has_not("trade");
    /* The nearest miss comes first: 1 GiB before 18, and equal places are one entry. */
    const char *near = strstr(vs_text_str(&out), "1 GiB short  gpu0: step 1, layer 44, logits\n");
    const char *far = strstr(vs_text_str(&out), "18 GiB short  gpu0: load, layer 44, mlp.down\n");
    ck_assert(near && far && near < far);
    has("hf: full loss; and 1 more here, up to 18 GiB short");
    ascii_within(120);
}
END_TEST

/* Narrow terminals wrap labels; nothing is wider than it should be. The bar says how full the
 * fullest device is: 20 of 24 GiB are 3 of 4 marks. */
START_TEST(sweep_table_fits_its_width) {
    static const size_t widths[] = {80, 120};
    for (size_t i = 0; i < 2; i++) {
        struct sweep_fixture f;
        const struct vs_report_style style = {.columns = widths[i]};
        sweep_make(&f);
        f.o[0].device_count = 1;
        vs_text_release(&out);
        vs_report_sweep_table(&out, &f.sweep, &style);
        has(" 20.00  ###-  ");
        size_t used = 0;
        for (const char *c = vs_text_str(&out); *c != '\0'; c++) {
            used = *c == '\n' ? 0 : used + 1;
            const bool command = strncmp(c + 1 - used, "explain it: ", 12) == 0;
            ck_assert_msg(used <= widths[i] || command, "wider than %zu:\n%s", widths[i],
                          vs_text_str(&out));
        }
    }
}
END_TEST

START_TEST(sweep_table_shows_the_top) {
    struct sweep_fixture f;
    const struct vs_report_style style = {.top = 1};
    sweep_make(&f);
    f.sweep.fastest_fewer_bits = 1;
    vs_report_sweep_table(&out, &f.sweep, &style);
    has("... and 2 more (--top)");
    has_not("2  parameters in RAM");
    has("a trade, faster with fewer bits: parameters in RAM (fsdp): 50.0 tok/s");
}
END_TEST

START_TEST(sweep_table_when_nothing_fits) {
    struct sweep_fixture f;
    sweep_make(&f);
    f.sweep.points += 3;
    f.sweep.point_count = 3;
    f.sweep.fit_count = 0;
    f.sweep.best = -1;
    vs_report_sweep_table(&out, &f.sweep, &plain);
    has("nothing fits; the smallest miss is 1 GiB short on gpu0:\n  fused loss (fsdp): 42.00 GiB "
        "of VRAM\n");
    has("explain it: vramsim run --hw rtx4090 --model llama-3-70b --engine fsdp --engine-version "
        "1.0 --task train "
        "--seq 2048 ");
}
END_TEST

START_TEST(sweep_of_nothing) {
    const struct vs_sweep sweep = {.best = -1};
    vs_report_sweep_table(&out, &sweep, &plain);
    has("no strategy to try");
}
END_TEST

START_TEST(sweep_json_ranks) {
    struct vs_arena arena = {0};
    struct sweep_fixture f;
    sweep_make(&f);
    vs_report_sweep_json(&out, &f.sweep);
    const struct vs_json *root = parse(&arena), *points = at(root, "points");
    ck_assert_str_eq(at(root, "workload")->string, "qlora70b");
    ck_assert_uint_eq(at(root, "best")->integer, 0);
    ck_assert_uint_eq(points->count, 6);
    ck_assert_uint_eq(at(points->child, "rank")->integer, 1);
    ck_assert_int_eq(at(points->child->next->next->next, "rank")->kind, VS_JSON_NULL);
    ck_assert_str_eq(at(points->child->next, "label")->string, "parameters in RAM");
    vs_arena_release(&arena);
    vs_text_release(&out);
    f.sweep.best = -1;
    vs_report_sweep_json(&out, &f.sweep);
    has("\"best\": null");
}
END_TEST

START_TEST(sweep_csv_has_all_points) {
    struct sweep_fixture f;
    sweep_make(&f);
    vs_report_sweep_csv(&out, &f.sweep);
    has("rank,label,hw,machine,model,engine,engine_version,task,fits,bound,train_tps,step_time_s,"
        "peak_"
        "vram_gib,"
        "peak_ram_gib,max_seq,max_seq_open,bound_by,seq,micro-batch,accum,weights,method,ckpt,oom_"
        "pool");
    has("2,parameters in "
        "RAM,rtx4090,rtx4090 in "
        "desktop-64g,llama-3-70b,fsdp,1.0,train,1,0,50,655.36,20,8,4194304,1,link0.h2d,");
    has("\n,full "
        "loss,rtx4090,rtx4090 in "
        "desktop-64g,llama-3-70b,hf,1.0,train,0,0,,,42,8,,,,2048,1,16,nf4,qlora,full,"
        "gpu0,load,"
        "layer 44,mlp.down,1073741824,25232932864,25769803776,536870912,45097156608\n");
}
END_TEST

START_TEST(sweep_markdown_has_all_points) {
    struct sweep_fixture f;
    sweep_make(&f);
    f.o[1].label = "a|b";
    vs_report_sweep_markdown(&out, &f.sweep);
    has("| # | strategy | engine | VRAM (GiB) |");
    has("|---:|---|---|---:|");
    has("| 2 | a\\|b | fsdp | 20.00 |  | 8.00 | 50.0 | 10 min 55 s | >=4194304 | link0.h2d |");
    has("| full loss | hf | gpu0: load, layer 44, mlp.down | 18.00 |");
}
END_TEST

START_TEST(commands_are_quoted) {
    const struct vs_axis_word odd[] = {{"lora-targets", "q+k"}};
    const struct vs_axis_word parts[] = {{"gpus", "2"}, {"host", "it's; rm *"}};
    struct vs_outcome o = fitting("hf", NULL, 1);
    o.parts = parts;
    o.part_count = 2;
    o.strategy = odd;
    o.strategy_count = 1;
    vs_report_command(&out, &o);
    ck_assert_str_eq(
        vs_text_str(&out),
        "vramsim run --hw rtx4090 --gpus 2 --host 'it'\\''s; rm *' --model llama-3-70b "
        "--engine hf --engine-version 1.0 --task train --lora-targets q+k");
}
END_TEST

START_TEST(limit_in_all_formats) {
    struct vs_arena arena = {0};
    const struct vs_outcome fit = fitting("hf", NULL, 10), beyond = failing("hf", NULL, &load_oom);
    const struct vs_limit seq = {.axis = "seq",
                                 .at = &fit,
                                 .beyond = &beyond,
                                 .value = 6000,
                                 .not_monotone = true,
                                 .model_maximum = 8192};
    const struct vs_limit batch = {.axis = "micro-batch", .at = &fit, .value = 65536, .open = true};
    const struct vs_limit none = {.axis = "ctx", .beyond = &beyond};
    const struct vs_limit *const limits[] = {&seq, &batch, &none};
    vs_report_limit_table(&out, limits, 3, &plain);
    has("seq          6000 tokens\n");
    has("peak there: 20.00 GiB of VRAM");
    has("beyond: OOM on gpu0: load, layer 44, mlp.down; 18 GiB short");
    has("not monotone");
    has("the model's own maximum is 8192");
    has("micro-batch  >= 65536 samples\n");
    has("ctx          nothing fits\n");
    has("at 1: OOM");
    ascii_within(100);
    vs_text_release(&out);
    vs_report_limit_json(&out, limits, 3);
    const struct vs_json *root = parse(&arena), *first = at(root, "limits")->child;
    ck_assert_uint_eq(at(first, "value")->integer, 6000);
    ck_assert(at(first, "not_monotone")->boolean && !at(first, "open")->boolean);
    ck_assert_str_eq(at(at(at(first, "beyond"), "oom"), "pool")->string, "gpu0");
    ck_assert_int_eq(at(first->next, "beyond")->kind, VS_JSON_NULL);
    vs_arena_release(&arena);
    vs_text_release(&out);
    vs_report_limit_csv(&out, limits, 3);
    has("seq,6000,0,1,8192,20,gpu0,load,layer 44,mlp.down,19327352832,");
    has("micro-batch,65536,1,0,0,20,,,,,,");
    has(",oom_short_bytes,hw,machine,model,engine,engine_version,task,"); /* and axes */
}
END_TEST

/* Two operations of a layer on the GPU; the second waited for a copy of 1 MB in 1 ms over a link of
 * 2 GB/s. */
START_TEST(timeline_is_a_chrome_trace) {
    struct vs_arena arena = {0};
    const struct vs_span spans[] = {
        {"gpu0", "compute", "gemm", "mlp \"up\"", 3, 0.001, 0.0025, 5e9, 2e6, 0, 1},
        {"gpu0", "copy in", "copy", "copy", -1, 0, 0.001, 0, 1e6, 1, 0},
        {"gpu0", "compute", "element", "model.layers.3.norm", 3, 0.0025, 0.003, 0, 0, 1, 0}};
    const size_t waits[] = {1};
    const struct vs_level levels[] = {{0.001, "gpu0", 3ULL << 20, NULL}};
    const struct vs_level tags[] = {{0.001, "gpu0", 2ULL << 20, "weights"},
                                    {0.001, "gpu0", 1ULL << 20, "kv"},
                                    {0.002, "gpu0", 3ULL << 20, "kv"}};
    const struct vs_phase_time phases[] = {{"micro-step", 0, 0.003, 16}};
    const struct vs_rate rates[] = {{"link0.h2d", 2e9}};
    struct vs_outcome o = fitting("hf", NULL, 10);
    o.spans = spans;
    o.span_count = 3;
    o.waits = waits;
    o.levels = levels;
    o.level_count = 1;
    o.tag_levels = tags;
    o.tag_level_count = 3;
    o.phases = phases;
    o.phase_count = 1;
    o.rates = rates;
    o.rate_count = 1;
    vs_report_timeline(&out, &o);
    const struct vs_json *events = at(parse(&arena), "traceEvents");
    /* names of 2 processes and 3 threads; a phase, 3 spans, a flow of 2; 2 + 1 + 2 counters */
    ck_assert_uint_eq(events->count, 5 + 1 + 3 + 2 + 5);
    has("\"tid\": 1, \"ts\": 1000.000, \"dur\": 1500.000, \"cat\": \"gemm\", \"name\": "
        "\"layer 3 mlp \\\"up\\\"\", \"args\": {\"layer\": 3, \"flops\": 5e+09, \"bytes\": "
        "2000000}}");
    has("\"name\": \"model.layers.3.norm\", \"args\": {\"layer\": 3}}"); /* says its layer itself */
    has("\"name\": \"micro-step (1 of 16 alike)\"");
    has("{\"ph\": \"s\", \"pid\": 2, \"tid\": 2, \"ts\": 999.999, ");
    has("{\"ph\": \"f\", \"pid\": 2, \"tid\": 1, \"ts\": 1000.000, ");
    has("\"name\": \"gpu0 memory, MiB\", \"args\": {\"weights\": 2.000, \"kv\": 1.000}}");
    has("\"name\": \"gpu0 memory, MiB\", \"args\": {\"weights\": 2.000, \"kv\": 3.000}}");
    has("\"args\": {\"taken\": 3.000}}");
    has("\"name\": \"link0.h2d use, % of 2 GB/s\", \"args\": {\"use\": 50.0}}");
    vs_arena_release(&arena);
}
END_TEST

START_TEST(tables_wrap_at_the_width) {
    static const struct vs_table_column columns[] = {{"n", "", true, false},
                                                     {"words", "", false, true}};
    const char *const cells[] = {"1", "one two three four five six seven"};
    struct vs_table table;
    vs_table_init(&table, columns, 2);
    vs_table_add(&table, cells, NULL);
    vs_table_print(&table, &out, 0, 30, false);
    ck_assert_str_eq(vs_text_str(&out), "n  words\n"
                                        "-  ---------------------------\n"
                                        "1  one two three four five six\n"
                                        "   seven\n");
    vs_table_release(&table);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("report");
    TCase *tests = tcase_create("formats");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, run_table_of_a_fit);
    tcase_add_test(tests, breakdown_as_ggml_prints_it);
    tcase_add_test(tests, waste_of_a_cache);
    tcase_add_test(tests, run_table_of_an_oom);
    tcase_add_test(tests, color_only_when_asked);
    tcase_add_test(tests, control_characters_do_not_pass);
    tcase_add_test(tests, run_json_of_a_fit);
    tcase_add_test(tests, run_json_of_an_oom);
    tcase_add_test(tests, sweep_table_ranks_and_explains);
    tcase_add_test(tests, sweep_table_fits_its_width);
    tcase_add_test(tests, sweep_table_shows_the_top);
    tcase_add_test(tests, sweep_table_when_nothing_fits);
    tcase_add_test(tests, sweep_of_nothing);
    tcase_add_test(tests, sweep_json_ranks);
    tcase_add_test(tests, sweep_csv_has_all_points);
    tcase_add_test(tests, sweep_markdown_has_all_points);
    tcase_add_test(tests, commands_are_quoted);
    tcase_add_test(tests, limit_in_all_formats);
    tcase_add_test(tests, timeline_is_a_chrome_trace);
    tcase_add_test(tests, tables_wrap_at_the_width);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
