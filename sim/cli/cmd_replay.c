#include "base/units.h"
#include "cli/point.h"
#include "report/report.h"
#include "run/replay.h"
#include "work/options.h"

static const struct vs_cli_option OPTIONS[] = {
    VS_CLI_POINT_FORMS,
    {"--requests-csv", VS_CLI_TEXT, VS_CLI_AT(requests_csv), "FILE",
     "also write a row per request, in the order in which they end"},
    {"--series-csv", VS_CLI_TEXT, VS_CLI_AT(series_csv), "FILE",
     "also write what runs, waits and fills the KV cache over time"},
    {"--every", VS_CLI_TEXT, VS_CLI_AT(every), "TIME",
     "time between rows of --series-csv (default: 1s)"},
    {"--steps", VS_CLI_POSITIVE, VS_CLI_AT(steps), "N",
     "training: only so many steps; drawn from a histogram of lengths (default: 100)"},
    {"--packed", VS_CLI_FLAG, VS_CLI_AT(packed), NULL,
     "training: samples share rows of --seq tokens instead of being padded"},
    {"--steps-csv", VS_CLI_TEXT, VS_CLI_AT(steps_csv), "FILE",
     "training: also write a row per step: tokens, time, what the allocator holds"},
    {"--slo-ttft", VS_CLI_TEXT, VS_CLI_AT(slo_ttft), "TIME",
     "most time to the first token of a request that counts as good"},
    {"--slo-tpot", VS_CLI_TEXT, VS_CLI_AT(slo_tpot), "TIME",
     "most time between its tokens, on average"},
    {"--skip-bad", VS_CLI_FLAG, VS_CLI_AT(skip_bad), NULL,
     "leave out bad rows of the trace, and count them"},
    {"--fail-on-oom", VS_CLI_FLAG, VS_CLI_AT(fail_on_oom), NULL, "exit with 3 if it doesn't fit"},
    VS_CLI_QUIET,
    VS_CLI_THREADS_IGNORED,
};

/* A time of an option, above 0; not given it stays 0. */
static bool read_time(const char *option, const char *text, double *seconds, struct vs_err *err) {
    char why[VS_WHY_SIZE] = "expected a time above 0 such as 200ms";
    if (!text || (vs_parse_seconds(text, seconds, why) && *seconds > 0))
        return true;
    return vs_err_set(err, VS_ERR_INPUT, "%s: found '%.80s', %s", option, text, why);
}

static bool read_options(const struct vs_cli_values *values, struct vs_serve_options *serve,
                         struct vs_err *err) {
    *serve = (struct vs_serve_options){.skip_bad = values->skip_bad,
                                       .requests_csv = values->requests_csv,
                                       .series_csv = values->series_csv};
    return read_time("--slo-ttft", values->slo_ttft, &serve->slo_ttft_s, err) &&
           read_time("--slo-tpot", values->slo_tpot, &serve->slo_tpot_s, err) &&
           read_time("--every", values->every, &serve->every_s, err);
}

static bool read_request(struct vs_cli *cli, struct vs_request *request, struct vs_err *err) {
    request->set_paths = cli->grid.set_paths;
    request->set_values = cli->grid.set_values;
    request->set_count = cli->grid.set_count;
    if (!vs_grid_point(&cli->grid, &request->user, err))
        return false;
    if (!vs_given(&request->user, VS_AXIS_TRACE))
        return vs_err_set(err, VS_ERR_INPUT,
                          "--trace is missing; expected a file of requests, steps or allocations");
    return true;
}

/* Options of one kind of trace say nothing to another. */
static bool check_options(const struct vs_cli_values *v, enum vs_replay_kind kind,
                          struct vs_err *err) {
    static const char *const KINDS[] = {
        [VS_REPLAY_REQUESTS] = "requests",
        [VS_REPLAY_STEPS] = "training steps",
        [VS_REPLAY_ALLOCATIONS] = "allocations",
    };
    const struct {
        const char *name;
        bool given;
        enum vs_replay_kind kind;
    } options[] = {
        {"--requests-csv", v->requests_csv != NULL, VS_REPLAY_REQUESTS},
        {"--series-csv", v->series_csv != NULL, VS_REPLAY_REQUESTS},
        {"--every", v->every != NULL, VS_REPLAY_REQUESTS},
        {"--slo-ttft", v->slo_ttft != NULL, VS_REPLAY_REQUESTS},
        {"--slo-tpot", v->slo_tpot != NULL, VS_REPLAY_REQUESTS},
        {"--steps", v->steps > 0, VS_REPLAY_STEPS},
        {"--packed", v->packed, VS_REPLAY_STEPS},
        {"--steps-csv", v->steps_csv != NULL, VS_REPLAY_STEPS},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && options[i].kind != kind)
            return vs_err_set(err, VS_ERR_INPUT, "%s says nothing to a trace of %s",
                              options[i].name, KINDS[kind]);
    return true;
}

static uint64_t seed_of(const struct vs_values *user) {
    return vs_given(user, VS_AXIS_SEED) ? (uint64_t)vs_count(user, VS_AXIS_SEED) : 1;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *values = &cli->values;
    const struct vs_outcome *outcome = NULL;
    struct vs_serve_options serve;
    enum vs_replay_kind kind;
    struct vs_request *request = VS_NEW(cli->arena, struct vs_request);
    struct vs_replay_options options = {
        .run = vs_cli_point_options(cli),
        .steps = {.packed = values->packed, .steps = (uint64_t)values->steps},
        .skip_bad = values->skip_bad};
    options.run.serve = &serve;
    if (!request)
        return vs_err_nomem(err);
    if (!vs_cli_one_format(cli, err) || !read_options(values, &serve, err) ||
        !read_request(cli, request, err) ||
        !vs_replay_kind_of(cli->arena, &request->user, &kind, err) ||
        !check_options(values, kind, err))
        return false;
    options.steps.seed = seed_of(&request->user);
    if (!vs_replay(cli->arena, request, kind, &options, &outcome, err))
        return false;
    vs_cli_wrote(cli, outcome->requests ? values->requests_csv : NULL);
    vs_cli_wrote(cli, outcome->requests ? values->series_csv : NULL);
    return vs_cli_point_file(cli, values->steps_csv, vs_report_steps_csv, outcome, err) &&
           vs_cli_point(cli, outcome, err);
}

const struct vs_command vs_command_replay = {
    .name = "replay",
    .about = "Replay a trace: requests, training steps, or what a program allocated.",
    .usage = "--trace FILE [--hw NAME] [--model NAME --engine NAME] [OPTION...]",
    .more = "Formats are recognised by content; the file may be compressed (gzip, zstd) or\n"
            "standard input (-).\n"
            "\n"
            "Requests (latency, throughput, KV cache and queue over time): Azure LLM inference,\n"
            "BurstGPT, Mooncake and AIPerf, Qwen-Bailian, vidur, splitwise-sim, LLMServingSim,\n"
            "and CSV with the columns arrived_at,prompt,gen. Lengths alone (prompt,gen) need\n"
            "--rate or --concurrency; --requests N takes the first N.\n"
            "\n"
            "Training steps (speed over time, the sample at which memory runs out, fragments):\n"
            "CSV step,lengths (\"512 97\") or step,length; JSON lines {\"step\", \"lengths\"};\n"
            "a histogram length,count, from which --steps N are drawn by --seed. Samples are\n"
            "padded to the longest of a micro-step, or --packed.\n"
            "\n"
            "Allocations (peak, reserved, fragments, where it runs out on another device or\n"
            "with --expandable-segments): PyTorch's allocator events as CSV, memory timelines\n"
            "(*.raw.json.gz) and memory snapshots (pickles; nothing in them is executed).\n"
            "\n"
            "Examples:\n"
            "  vramsim replay --trace requests.csv --hw h100 --model llama-3.1-8b --engine vllm\n"
            "  vramsim replay --trace lengths.csv --task train --hw rtx4090 --workload qlora8b\n"
            "  vramsim replay --trace snapshot.pickle --hw rtx3060 --expandable-segments on\n",
    .axes = VS_CLI_ONE_POINT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};
