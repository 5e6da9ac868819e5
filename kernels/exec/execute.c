#include "execute.h"

#include <stdio.h>
#include <stdlib.h>

#include "../probe.h"
#include "cpu_work.h"
#include "device.h"
#include "memory.h"
#include "queue.h"

struct execution {
    const struct plan *plan;
    const struct execute_options *options;
    struct executed *out;
    struct memory *memory;
    struct queue *cpu;
    struct mark *starts, *ends; /* by operation of the phase that runs */
    void **graphs;              /* by phase; NULL = issued one by one */
    bool tracing;
    size_t resident;  /* before the first buffer */
    uint32_t missing; /* buffer that could not be had */
};

/* ---- marks: of the device, or of the processor's queue ---- */

static bool is_cpu(const struct operation *op) { return op->lane == LANE_CPU; }

static bool settle(const struct execution *x, const struct mark *mark) {
    if (!mark->of)
        return true;
    if (mark->of != x->cpu)
        return device_settle(mark);
    queue_wait(x->cpu, mark->ticket);
    return true;
}

static void stamp(void *context) {
    struct mark *mark = context;
    mark->s = now_s();
}

static bool set_mark(struct execution *x, const struct operation *op, struct mark *mark) {
    *mark = (struct mark){0};
    if (!is_cpu(op))
        return device_mark(op->lane, mark);
    mark->of = x->cpu;
    mark->ticket = queue_add(x->cpu, stamp, mark);
    return mark->ticket > 0;
}

/* ---- the processor's lane ---- */

struct cpu_task {
    const struct operation *op;
    unsigned threads;
    size_t count;
    struct piece pieces[PIECES_MOST];
};

static void run_cpu_task(void *context) {
    struct cpu_task *t = context;
    if (t->op->work == WORK_FIXED)
        for (double until = now_s() + t->op->cost_s; now_s() < until;)
            continue;
    else
        cpu_work(t->op, t->pieces, t->count, t->threads);
    free(t);
}

static void settle_device(void *context) { (void)device_settle(context); }

/* What it waits for of its own lane is behind it. */
static bool wait_on_cpu(struct execution *x, const struct operation *op) {
    for (size_t i = 0; i < op->after_count; i++) {
        struct mark *mark = &x->ends[op->after[i]];
        if (mark->of && mark->of != x->cpu && queue_add(x->cpu, settle_device, mark) == 0)
            return false;
    }
    return true;
}

static bool issue_cpu(struct execution *x, const struct operation *op) {
    struct cpu_task *t = calloc(1, sizeof *t);
    /* states of an optimizer on the host may all be page-locked */
    enum side side = memory_holds(x->memory, SIDE_HOST) ? SIDE_HOST : SIDE_PINNED;
    if (!t)
        return false;
    t->op = op;
    t->threads = x->options->threads;
    t->count = memory_pieces(x->memory, side, cpu_work_bytes(op), t->pieces);
    if (queue_add(x->cpu, run_cpu_task, t) > 0)
        return true;
    free(t);
    return false;
}

/* ---- the device's lanes ---- */

/* Behind work of the processor the thread that issues waits: a device can't. */
static bool wait_on_device(struct execution *x, const struct operation *op) {
    for (size_t i = 0; i < op->after_count; i++) {
        const struct mark *mark = &x->ends[op->after[i]];
        if (!mark->of)
            continue;
        if (mark->of == x->cpu)
            queue_wait(x->cpu, mark->ticket);
        else if (!device_wait(op->lane, mark))
            return false;
    }
    return true;
}

static bool issue_device(struct execution *x, const struct phase *phase,
                         const struct operation *op) {
    struct piece pieces[PIECES_MOST], host[PIECES_MOST];
    size_t count = memory_pieces(x->memory, SIDE_DEVICE, op->bytes, pieces), host_count = 0;
    if (op->work == WORK_COPY)
        host_count =
            memory_pieces(x->memory, op->pinned ? SIDE_PINNED : SIDE_HOST, op->bytes, host);
    return device_issue(op->lane, op, phase->tokens, pieces, count, host, host_count);
}

/* The issuing thread waits for what a sync depends on. */
static bool wait_here(const struct execution *x, const struct operation *op) {
    for (size_t i = 0; i < op->after_count; i++)
        if (!settle(x, &x->ends[op->after[i]]))
            return false;
    return true;
}

static bool issue(struct execution *x, const struct phase *phase, size_t place) {
    const struct operation *op = &phase->operations[place];
    x->starts[place] = x->ends[place] = (struct mark){0};
    if (op->work == WORK_SYNC || op->lane == LANE_ISSUE)
        return wait_here(x, op);
    if (op->lane == LANE_STORAGE)
        return true; /* checked: nothing that takes time */
    if (!(is_cpu(op) ? wait_on_cpu(x, op) : wait_on_device(x, op)))
        return false;
    if (op->work == WORK_NOTHING)
        return !op->awaited || set_mark(x, op, &x->ends[place]);
    return (!x->tracing || set_mark(x, op, &x->starts[place])) &&
           (is_cpu(op) ? issue_cpu(x, op) : issue_device(x, phase, op)) &&
           ((!x->tracing && !op->awaited) || set_mark(x, op, &x->ends[place]));
}

/* ---- phases ---- */

static bool drain(struct execution *x) {
    queue_drain(x->cpu);
    return device_drain();
}

enum result { DONE, FAILED, NO_MEMORY };

static enum result act(struct execution *x, const struct phase *phase, const struct action *actions,
                       size_t count) {
    if (memory_must_drain(x->memory, actions, count) && !drain(x))
        return FAILED;
    return memory_act(x->memory, actions, count, phase->once, &x->missing) ? DONE : NO_MEMORY;
}

static enum result issue_all(struct execution *x, const struct phase *phase) {
    for (size_t i = 0; i < phase->operation_count; i++) {
        const struct operation *op = &phase->operations[i];
        enum result result = act(x, phase, op->actions, op->action_count);
        if (result == DONE && !issue(x, phase, i))
            result = FAILED;
        if (result != DONE)
            return result;
    }
    return DONE;
}

static bool add_spans(struct execution *x, const struct phase *phase, double begin_s) {
    for (size_t i = 0; i < phase->operation_count; i++) {
        if (!x->starts[i].of || !x->ends[i].of)
            continue;
        if (x->starts[i].of != x->cpu &&
            (!device_read_mark(&x->starts[i]) || !device_read_mark(&x->ends[i])))
            return false;
        x->out->spans[x->out->span_count++] =
            (struct span){.phase = (uint32_t)(phase - x->plan->phases),
                          .operation = (uint32_t)i,
                          .start_s = x->starts[i].s - begin_s,
                          .end_s = x->ends[i].s - begin_s};
    }
    return true;
}

/* Issues the phase and waits until all lanes are empty. */
static enum result run_phase(struct execution *x, const struct phase *phase, double *seconds) {
    void *graph = x->graphs[phase - x->plan->phases];
    if (!drain(x))
        return FAILED;
    double begin_s = now_s();
    enum result result = DONE;
    if (graph && !x->tracing)
        result = device_graph_run(graph) ? DONE : FAILED;
    else
        result = issue_all(x, phase);
    if (!drain(x) && result == DONE)
        result = FAILED;
    *seconds = now_s() - begin_s;
    if (result == DONE && x->tracing && !add_spans(x, phase, begin_s))
        result = FAILED;
    device_forget_marks();
    return result == DONE ? act(x, phase, phase->at_end, phase->at_end_count) : result;
}

/* A graph holds addresses: buffers must stay where they are while phases come again. */
static bool stays(const struct plan *plan) {
    size_t actions = 0;
    for (size_t p = 0; p < plan->phase_count; p++) {
        const struct phase *phase = &plan->phases[p];
        for (size_t i = 0; !phase->once && i < phase->operation_count; i++)
            actions += phase->operations[i].action_count;
        actions += phase->once ? 0 : phase->at_end_count;
    }
    return actions == 0;
}

/* An engine that replays graphs launches less than once an operation. Everything in it must be the
 * compute lane's. */
static bool is_graph(const struct phase *phase) {
    double launches = 0, operations = 0;
    for (size_t i = 0; i < phase->operation_count; i++) {
        const struct operation *op = &phase->operations[i];
        if (op->work == WORK_SYNC && i + 1 == phase->operation_count)
            continue;
        if (op->lane != LANE_COMPUTE)
            return false;
        launches += op->launches;
        operations += op->work != WORK_FIXED && op->work != WORK_NOTHING;
    }
    return !phase->once && operations > 0 && launches < operations / 2;
}

static void make_graph(struct execution *x, const struct phase *phase) {
    if (!is_graph(phase) || !drain(x) || !device_graph_begin())
        return;
    bool issued = true;
    for (size_t i = 0; issued && i < phase->operation_count; i++)
        if (phase->operations[i].work != WORK_SYNC && phase->operations[i].work != WORK_NOTHING)
            issued = issue_device(x, phase, &phase->operations[i]);
    void *graph = device_graph_end();
    if (issued)
        x->graphs[phase - x->plan->phases] = graph;
    else
        device_graph_free(graph);
}

static void note_oom(struct execution *x, const struct phase *phase) {
    x->out->oom_phase = phase->name;
    x->out->oom_buffer = x->plan->buffers[x->missing].what;
}

static enum result run_once(struct execution *x) {
    double seconds;
    for (size_t i = 0; i < x->plan->phase_count; i++) {
        const struct phase *phase = &x->plan->phases[i];
        enum result result = phase->once ? run_phase(x, phase, &seconds) : DONE;
        if (result == NO_MEMORY)
            note_oom(x, phase);
        if (result != DONE)
            return result;
        if (phase->once)
            x->out->seconds[i * x->options->rounds] = seconds;
    }
    return DONE;
}

/* Once; twice where it comes several times in a step, of which the second counts: gradients that
 * are there are added to. */
static enum result run_repeated(struct execution *x, const struct phase *phase, double *seconds) {
    bool tracing = x->tracing;
    x->tracing = tracing && phase->count <= 1;
    enum result result = run_phase(x, phase, seconds);
    x->tracing = tracing;
    return result == DONE && phase->count > 1 ? run_phase(x, phase, seconds) : result;
}

/* Each phase that comes again. A request ends with what it began with, a training step goes on. */
static enum result run_round(struct execution *x, long round) {
    memory_keep(x->memory);
    for (size_t i = 0; i < x->plan->phase_count; i++) {
        const struct phase *phase = &x->plan->phases[i];
        double seconds;
        enum result result = phase->once ? DONE : run_repeated(x, phase, &seconds);
        if (result == NO_MEMORY)
            note_oom(x, phase);
        if (result != DONE)
            return result;
        if (!phase->once && round >= 0)
            x->out->seconds[i * x->options->rounds + (size_t)round] = seconds;
    }
    if (x->plan->trains)
        return DONE;
    return memory_restore(x->memory, &x->missing) ? DONE : NO_MEMORY;
}

static enum result run_all(struct execution *x) {
    enum result result = run_once(x);
    for (size_t i = 0; result == DONE && stays(x->plan) && i < x->plan->phase_count; i++)
        make_graph(x, &x->plan->phases[i]);
    for (unsigned i = 0; result == DONE && i < x->options->warm_ups; i++)
        result = run_round(x, -1);
    for (unsigned i = 0; result == DONE && i < x->options->rounds; i++)
        result = run_round(x, (long)i);
    x->tracing = x->options->spans;
    return result == DONE && x->tracing ? run_round(x, -1) : result;
}

/* ---- the whole ---- */

static size_t most_operations(const struct plan *plan, size_t *all) {
    size_t most = 0;
    *all = 0;
    for (size_t i = 0; i < plan->phase_count; i++) {
        size_t count = plan->phases[i].operation_count;
        *all += count;
        most = count > most ? count : most;
    }
    return most;
}

static bool begin(struct execution *x) {
    size_t all, most = most_operations(x->plan, &all);
    size_t cells = x->plan->phase_count * x->options->rounds;
    x->resident = memory_resident(RESIDENT_NOW);
    x->memory = memory_new(x->plan);
    x->cpu = queue_new();
    x->starts = calloc(most + 1, sizeof *x->starts);
    x->ends = calloc(most + 1, sizeof *x->ends);
    x->graphs = calloc(x->plan->phase_count + 1, sizeof *x->graphs);
    x->out->seconds = calloc(cells + 1, sizeof *x->out->seconds);
    x->out->spans = calloc(all + 1, sizeof *x->out->spans);
    for (size_t i = 0; x->out->seconds && i < cells; i++)
        x->out->seconds[i] = -1;
    x->out->rounds = x->options->rounds;
    return x->memory && x->cpu && x->starts && x->ends && x->graphs && x->out->seconds &&
           x->out->spans;
}

static void end(struct execution *x) {
    if (x->cpu)
        (void)drain(x);
    for (size_t i = 0; x->graphs && i < x->plan->phase_count; i++)
        device_graph_free(x->graphs[i]);
    device_memory(&x->out->device_peak, &x->out->device_own);
    if (x->memory)
        x->out->device_own += memory_scratch(x->memory);
    size_t peak = memory_resident(RESIDENT_PEAK);
    x->out->host_peak = peak > x->resident ? peak - x->resident : 0;
    memory_free(x->memory);
    queue_free(x->cpu);
    free(x->starts);
    free(x->ends);
    free(x->graphs);
}

bool execute(const struct plan *plan, const struct execute_options *options, struct executed *out,
             char line[LINE_SIZE]) {
    struct execution x = {.plan = plan, .options = options, .out = out};
    *out = (struct executed){0};
    bool begun = begin(&x);
    enum result result = begun ? run_all(&x) : FAILED;
    end(&x);
    if (result == FAILED)
        (void)snprintf(line, LINE_SIZE, "%s", begun ? "the device failed" : "out of memory");
    return result != FAILED;
}

void executed_release(struct executed *executed) {
    free(executed->seconds);
    free(executed->spans);
    *executed = (struct executed){0};
}
