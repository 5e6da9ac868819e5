/* Allocator traces: each reader, and the replay of what it read. Samples: tests/traces/README.md.
 */
#include <string.h>

#include "base/file.h"
#include "import/alloc_trace.h"
#include "run/replay_memory.h"
#include "sim_helpers.h"

static struct vs_alloc_trace trace;
static struct vs_alloc_options options;

static void begin(void) {
    trace = (struct vs_alloc_trace){.reader = NULL};
    options = (struct vs_alloc_options){.skip_bad = false};
}

static void end(void) {
    vs_alloc_trace_release(&trace);
    sim_end();
}

static bool read_input(struct vs_input *in, const char *head, size_t length, struct vs_err *err) {
    const struct vs_alloc_reader *reader = vs_alloc_reader_find(head, length);
    ck_assert_ptr_nonnull(reader);
    bool ok = vs_alloc_trace_read(reader, in, &options, &trace, err);
    vs_input_close(in);
    return ok;
}

static bool read_bytes(const char *bytes, size_t length, struct vs_err *err) {
    struct vs_input *in = vs_input_over(bytes, length, "t", err);
    ck_assert_ptr_nonnull(in);
    return read_input(in, bytes, length, err);
}

static void read_text(const char *text) {
    struct vs_err err = {.status = VS_OK};
    ck_assert_msg(read_bytes(text, strlen(text), &err), "%s", err.text);
}

static void refuse(const char *text, const char *message) {
    struct vs_err err = {.status = VS_OK};
    ck_assert(!read_bytes(text, strlen(text), &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text, message);
    vs_alloc_trace_release(&trace);
}

static void read_file(const char *path) {
    struct vs_err err = {.status = VS_OK};
    char head[VS_ALLOC_HEAD_BYTES];
    size_t length = 0;
    struct vs_input *in = vs_input_open(path, &err);
    ck_assert_ptr_nonnull(in);
    ck_assert(vs_input_read(in, head, sizeof head, &length, &err));
    vs_input_close(in);
    in = vs_input_open(path, &err);
    ck_assert_ptr_nonnull(in);
    ck_assert_msg(read_input(in, head, length, &err), "%s", err.text);
}

static const struct vs_outcome *replay(const char *words) {
    struct vs_err err = {.status = VS_OK};
    struct vs_request request;
    const struct vs_outcome *outcome = NULL;
    ck_assert_msg(sim_request(words, &request, &err) &&
                      vs_replay_memory(&sim_arena, &request, &trace, false, &outcome, &err),
                  "%s", err.text);
    return outcome;
}

static const struct vs_allocator_outcome *first(const struct vs_outcome *outcome) {
    return &outcome->allocator->devices[0];
}

/* ---- the caching allocator by hand ---- */

/* Twenty requests and four frees between them; reserved is what the allocator's rules say at each
 * step. A MiB is 1048576. */
static const char BY_HAND[] = "action,addr,size\n"
                              "alloc,1,1000\n"     /* a: the small pool's first 2 MiB */
                              "alloc,2,1048576\n"  /* b: the last size of the small pool, fits */
                              "alloc,3,1048576\n"  /* c: 1 MiB - 1024 is left: 2 MiB more */
                              "alloc,4,1048577\n"  /* d: the large pool's first 20 MiB */
                              "alloc,5,9437184\n"  /* e: 9 MiB of their rest */
                              "alloc,6,10485760\n" /* f: 10 MiB - 512 are left: 10 MiB more */
                              "alloc,7,11534336\n" /* g: 12 MiB; 1 MiB of rest is not split off */
                              "alloc,8,15728640\n" /* h: 16 MiB */
                              "free_requested,6,10485760\n"
                              "free_completed,6,10485760\n"
                              "alloc,9,9961472\n"   /* i: the best fit is d's rest, kept whole */
                              "alloc,10,9437184\n"  /* j: the block that was f, kept whole */
                              "alloc,11,41943040\n" /* k: 40 MiB */
                              "free_completed,11,41943040\n"
                              "alloc,12,26214400\n" /* l: 25 MiB of k's */
                              "alloc,13,15728640\n" /* m: the 15 MiB behind it */
                              "alloc,14,2097152\n"  /* n: none is free: 20 MiB */
                              "free_completed,12,26214400\n"
                              "free_completed,13,15728640\n"
                              "alloc,15,41418752\n" /* o: 39.5 MiB of the two, joined */
                              "alloc,16,512\n"      /* p: of the smaller rest of the small pool */
                              "alloc,17,18874368\n" /* q: n's 18 MiB of rest */
                              "alloc,18,22020096\n" /* r: 21 MiB: 22 */
                              "alloc,19,716800\n"   /* s */
                              "alloc,20,1048576\n"; /* t: the 1 MiB beside c */

START_TEST(test_by_hand) {
    read_text(BY_HAND);
    ck_assert_uint_eq(trace.events.count, 24);
    const struct vs_outcome *outcome = replay("");
    ck_assert(outcome->fits);
    /* 2 + 2 of the small pool; 20 + 10 + 12 + 16 + 40 + 20 + 22 */
    ck_assert_uint_eq(first(outcome)->peak_reserved_bytes, 144 * MIB);
    ck_assert_uint_eq(first(outcome)->end_reserved_bytes, 144 * MIB);
    /* All but a rest of 330240 in the small pool: 2 MiB - 1 MiB - 1024 - 512 - 716800. */
    ck_assert_uint_eq(first(outcome)->peak_allocated_bytes, 144 * MIB - 330240);
    ck_assert_uint_eq(outcome->pools[0].peak_bytes, 144 * MIB);
    ck_assert_uint_eq(first(outcome)->retries, 0);
}
END_TEST

/* Reserved after each of the twenty requests. */
START_TEST(test_by_hand_stepwise) {
    static const uint64_t RESERVED_MIB[] = {2,   2,   4,   24,  24,  34,  46,  62,  62,  62,
                                            102, 102, 102, 122, 122, 122, 122, 144, 144, 144};
    const char *at = BY_HAND;
    size_t requests = 0;
    for (const char *line = strchr(BY_HAND, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        struct vs_err err = {.status = VS_OK};
        const char *next = strchr(line, '\n') + 1;
        if (strncmp(line, "alloc", 5) != 0)
            continue;
        ck_assert(read_bytes(at, (size_t)(next - at), &err));
        ck_assert_uint_eq(first(replay(""))->peak_reserved_bytes, RESERVED_MIB[requests++] * MIB);
        vs_alloc_trace_release(&trace);
    }
    ck_assert_uint_eq(requests, 20);
}
END_TEST

/* Segments of 10, 20 and 10 MiB fill 40; the two of 10 are freed. 20 MiB more find neither a block
 * nor the driver willing, until the two, which nobody uses, go back to it. Then 6 MiB want a
 * segment of 20, and nothing is left to give back. */
START_TEST(test_oom) {
    read_text("action,addr,size,time_us,device_free\n"
              "alloc,1,10485760,1000,\nalloc,2,20971520,2000,\nalloc,3,10485760,3000,\n"
              "free_completed,1,10485760,4000,\nfree_completed,3,10485760,5000,\n"
              "alloc,4,20971520,6000,\nalloc,5,6291456,7000,\noom,,1,8000,5\n");
    const struct vs_outcome *outcome = replay("--hw toy --set device.memory.usable=40MiB");
    ck_assert(!outcome->fits);
    ck_assert_str_eq(outcome->hw, "toy");
    ck_assert_str_eq(outcome->oom->pool, "gpu0");
    ck_assert_str_eq(outcome->oom->phase, "replay");
    ck_assert_str_eq(outcome->oom->operation, "row 7");
    ck_assert_double_eq_tol(outcome->oom->at_s, 0.006, 1e-12);
    ck_assert_uint_eq(outcome->oom->requested_bytes, 6 * MIB);
    ck_assert_uint_eq(outcome->oom->in_use_bytes, 40 * MIB);
    ck_assert_uint_eq(outcome->oom->short_bytes, 20 * MIB); /* a segment of that size */
    ck_assert_uint_eq(outcome->oom->needed_bytes, 60 * MIB);
    ck_assert_uint_eq(outcome->allocator->oom_place, 7);
    ck_assert_uint_eq(outcome->allocator->recorded_ooms, 1);
    ck_assert_uint_eq(outcome->allocator->recorded_oom_place, 8);
    ck_assert_uint_eq(first(outcome)->retries, 2);
    ck_assert_uint_eq(first(outcome)->peak_requested_bytes, 46 * MIB);
}
END_TEST

/* Two blocks of 15 MiB lie in segments of 16. Both are freed, and 30 MiB find no place in either.
 * An expandable segment has pages of 20 MiB: two hold the 30 MiB, and then the 30 MiB again. */
START_TEST(test_expandable) {
    static const char text[] = "action,addr,size\n"
                               "alloc,1,15728640\nalloc,2,15728640\nfree_completed,1,15728640\n"
                               "free_completed,2,15728640\nalloc,3,31457280\n";
    read_text(text);
    const struct vs_outcome *outcome = replay("");
    ck_assert_uint_eq(first(outcome)->peak_reserved_bytes, 62 * MIB); /* 16 + 16 + 30 */
    ck_assert_uint_eq(first(outcome)->idle_bytes, 32 * MIB);
    ck_assert_uint_eq(first(outcome)->idle_largest_bytes, 16 * MIB);
    ck_assert_uint_eq(first(outcome)->idle_request_bytes, 30 * MIB);
    ck_assert_uint_eq(first(outcome)->idle_place, 5);
    const struct vs_outcome *expandable = replay("--expandable-segments on");
    ck_assert_uint_eq(first(expandable)->peak_reserved_bytes, 40 * MIB); /* two pages */
    ck_assert_uint_eq(first(expandable)->end_reserved_bytes, 40 * MIB);
    /* The second request took a page though 5 MiB of the first lay idle: it has both. */
    ck_assert_uint_eq(first(expandable)->idle_bytes, 5 * MIB);
    ck_assert_uint_eq(first(expandable)->idle_place, 2);
}
END_TEST

/* ---- recordings ---- */

/* The files' own sums, above the level at the start, which a recording does not know. */
START_TEST(test_forward) {
    read_file("tests/traces/torch_forward.csv.gz");
    const struct vs_outcome *outcome = replay("");
    ck_assert_uint_eq(trace.unknown_frees, 222);
    ck_assert_uint_eq(trace.size_changes, 0);
    ck_assert_uint_eq(first(outcome)->start_bytes, 1523681280);
    ck_assert_uint_eq(first(outcome)->peak_requested_bytes - first(outcome)->start_bytes,
                      784814336);
    ck_assert_uint_eq(first(outcome)->end_bytes, first(outcome)->start_bytes);
}
END_TEST

START_TEST(test_train_step) {
    read_file("workloads/traces/torch-train-step.csv.gz");
    const struct vs_outcome *outcome = replay("");
    ck_assert_uint_eq(trace.unknown_frees, 329);
    ck_assert_uint_eq(first(outcome)->start_bytes, 3918607364);
    ck_assert_uint_eq(first(outcome)->peak_requested_bytes - first(outcome)->start_bytes,
                      7259328512);
    ck_assert_uint_eq(first(outcome)->end_bytes, first(outcome)->start_bytes + 51200000);
    ck_assert(first(outcome)->peak_reserved_bytes >= first(outcome)->peak_allocated_bytes);
    const struct vs_outcome *small = replay("--hw toy");
    ck_assert(!small->fits);
    ck_assert_uint_eq(small->oom->capacity_bytes, 10 * GIB);
    const struct vs_outcome *expandable = replay("--hw toy --expandable-segments on");
    ck_assert_uint_lt(first(expandable)->peak_reserved_bytes, first(small)->peak_reserved_bytes);
}
END_TEST

/* Sums of the file's own signed bytes: 3,082,832,104 at most, 332,060,904 at the end. */
START_TEST(test_timeline) {
    read_file("tests/traces/torch_timeline.raw.json.gz");
    const struct vs_outcome *outcome = replay("");
    ck_assert_uint_eq(trace.before.count, 645);
    ck_assert_uint_eq(trace.unknown_frees, 0);
    ck_assert_uint_eq(trace.events.count, 3345 + 3345 + 9510 / 2);
    ck_assert_uint_eq(first(outcome)->peak_requested_bytes, 3082832104);
    ck_assert_uint_eq(first(outcome)->end_bytes, 332060904);
    ck_assert_uint_gt(outcome->pools[0].by_tag_count, 3);
    uint64_t sum = 0;
    for (size_t i = 0; i < outcome->pools[0].by_tag_count; i++)
        sum += outcome->pools[0].by_tag[i].bytes;
    ck_assert_uint_eq(sum, 3082832104);
}
END_TEST

/* A temporary of 8 becomes an activation, and ends as such. */
START_TEST(test_timeline_versions) {
    read_text("[[-1, 1, 4096, 0], [10, 2, 8, 3], [20, 3, -8, 3], [20, 3, 8, 4], [30, 2, 512, 5],\n"
              " [40, 4, -8, 4]]\n");
    const struct vs_outcome *outcome = replay("");
    ck_assert_uint_eq(outcome->allocator->events, 3);
    ck_assert_uint_eq(first(outcome)->peak_requested_bytes, 4096 + 8 + 512);
    ck_assert_uint_eq(outcome->pools[0].by_tag_count, 3);
    ck_assert_str_eq(outcome->pools[0].by_tag[2].tag, "activations");
    ck_assert_uint_eq(outcome->pools[0].by_tag[2].bytes, 8);
    ck_assert_uint_eq(first(outcome)->end_bytes, 4096 + 512);
}
END_TEST

/* The same snapshot in each protocol: 1000 bytes are freed and 12 MiB + 5 alive that no event took;
 * above them 3 + 4 MiB, less 3, and 6 MiB on another stream, which finds no use for the 16 MiB that
 * are free on the first. */
START_TEST(test_snapshots) {
    static const char *const files[] = {
        "tests/traces/snapshot_protocol2.pickle", "tests/traces/snapshot_protocol3.pickle",
        "tests/traces/snapshot_protocol4.pickle", "tests/traces/snapshot_protocol5.pickle"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        read_file(files[i]);
        const struct vs_outcome *outcome = replay("");
        ck_assert_str_eq(outcome->allocator->form, "PyTorch memory snapshot");
        ck_assert_uint_eq(trace.before.count, 2);
        ck_assert_uint_eq(trace.unknown_frees, 1);
        ck_assert_uint_eq(first(outcome)->start_bytes, 12 * MIB + 5 + 1000);
        ck_assert_uint_eq(first(outcome)->peak_requested_bytes, 22 * MIB + 5 + 1000);
        ck_assert_uint_eq(first(outcome)->peak_reserved_bytes, (2 + 14 + 20 + 20) * MIB);
        /* 40 MiB at the end, of which 20 came with the one segment that was recorded. */
        ck_assert_uint_eq(first(outcome)->recorded_reserved_bytes, 40 * MIB);
        ck_assert_int_eq(trace.segments[0].peak_bytes, 20 * (int64_t)MIB);
        ck_assert_uint_eq(trace.ooms, 1);
        ck_assert_uint_eq(trace.oom.bytes, 80 * MIB);
        ck_assert_uint_eq(trace.oom.device_free_bytes, 50 * MIB);
        ck_assert_uint_eq(trace.oom.place, 9);
        vs_alloc_trace_release(&trace);
    }
}
END_TEST

/* ---- what makes no sense ---- */

START_TEST(test_bad_csv) {
    refuse("action,addr,size\nalloc,1\n",
           "t:2: found another number of fields than the header has");
    refuse("action,addr,size\nalloc,1,-5\n",
           "t:2: found a field that is no whole number below 2^63");
    refuse("action,addr,size\nalloc,1,99999999999999999999\n",
           "t:2: found a field that is no whole number below 2^63");
    refuse("action,addr,size\nalloc,1,512\nalloc,2,17592186044417\n",
           "t:3: found a size beyond 16 TiB");
    refuse("action,addr,size\r\nalloc,1,0\r\n", "t:2: found a size of 0");
    refuse("action,addr,size\nalloc,0,1\n", "t:2: found an address of 0");
    refuse("device,action,addr,size\n64,alloc,1,1\n", "t:2: found a device beyond 63");
    refuse("action,addr,size,time_us\nalloc,1,1,9007199254740993\n",
           "t:2: found a time that is negative or beyond 2^53 us");
    refuse("action,addr,size\nfrobnicate,1,1\n",
           "t:2: found an unknown action, expected alloc, free_requested, free_completed, "
           "segment_alloc, segment_free, segment_map, segment_unmap, snapshot or oom");
}
END_TEST

/* The bad rows are counted, the others count; a byte order mark and CRLF do no harm. A request at
 * an address that is in use, and a free of another size, are no faults of the file's form. */
START_TEST(test_skip_bad) {
    options.skip_bad = true;
    read_text("\xEF\xBB\xBF"
              "action,addr,size\r\nalloc,1,512\r\nalloc,x,512\r\n\r\n"
              "alloc,1,1024\r\nfree_completed,1,512\r\nfree_completed,9,2048");
    ck_assert_uint_eq(trace.skipped, 2);
    ck_assert_uint_eq(trace.lost_frees, 1);
    ck_assert_uint_eq(trace.size_changes, 1);
    ck_assert_uint_eq(trace.unknown_frees, 1);
    ck_assert_uint_eq(trace.events.count, 5);
    const struct vs_outcome *outcome = replay("");
    ck_assert_uint_eq(outcome->allocator->skipped, 2);
    ck_assert_uint_eq(first(outcome)->start_bytes, 2048);
    ck_assert_uint_eq(first(outcome)->end_bytes, 0);
}
END_TEST

START_TEST(test_bad_timeline) {
    refuse("[[1, 2, 512, 7], [1, 2, 512]]",
           "t: byte 27, row 2: found another character, expected ','");
    refuse("[[1, 2, 512, 7]", "t: byte 15, row 1: found the end of the file, expected ','");
    refuse("[[1, 2, 5x2, 7]]", "t: byte 9, row 1: found another character, expected ','");
    refuse("[[1, 2, 512, 8]]", "t: byte 15, row 1: found an unknown category, expected 0 to 7");
    refuse("[[1, 2, 99999999999999999999, 7]]", "t: byte 26, row 1: found a number beyond 2^63");
    refuse("[[1, 4, 512, 7]]",
           "t: byte 15, row 1: found a size whose sign is not that of its action");
    refuse("[[1, 3, 512, 7]]",
           "t: byte 15, row 1: found a new version without the end of the old one before it");
    refuse("[[1, 2, 512, 7]] x", "t: byte 17, row 1: expected the end of the file");
}
END_TEST

/* Damaged compression is seen, in whatever reader. */
START_TEST(test_truncated) {
    char *text;
    size_t length;
    struct vs_err err = {.status = VS_OK};
    ck_assert(vs_file_read(&sim_arena, "tests/traces/torch_timeline.raw.json.gz", 1 << 20, &text,
                           &length, &err));
    struct vs_input *in = vs_input_over(text, length / 2, "t", &err);
    ck_assert(!read_input(in, "[[", 2, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "gzip data is damaged"));
}
END_TEST

START_TEST(test_bad_words) {
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"--model toy", "--model says nothing to an allocator trace, expected --hw, "
                        "--expandable-segments and --set"},
        {"--set device.memory.usable=1GiB",
         "--set device.memory.usable changes nothing without --hw"},
        {"--hw cpu", "--hw cpu has no GPU for an allocator trace"},
    };
    read_text("action,addr,size\nalloc,1,512\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vs_err err = {.status = VS_OK};
        struct vs_request request;
        const struct vs_outcome *outcome = NULL;
        ck_assert(sim_request(cases[i].words, &request, &err));
        ck_assert(!vs_replay_memory(&sim_arena, &request, &trace, false, &outcome, &err));
        ck_assert_str_eq(err.text, cases[i].message);
    }
}
END_TEST

START_TEST(test_nothing_recognised) {
    static const char *const heads[] = {
        "",   "a,b\n",       "action,addr\n", "action,addr,size,size\n",
        "[1", "{\"action\"", "\x80\x01",      "\x80\x06x"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        ck_assert_ptr_null(vs_alloc_reader_find(heads[i], strlen(heads[i])));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("allocator traces");
    TCase *tcase = tcase_create("all");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, test_by_hand);
    tcase_add_test(tcase, test_by_hand_stepwise);
    tcase_add_test(tcase, test_oom);
    tcase_add_test(tcase, test_expandable);
    tcase_add_test(tcase, test_forward);
    tcase_add_test(tcase, test_train_step);
    tcase_add_test(tcase, test_timeline);
    tcase_add_test(tcase, test_timeline_versions);
    tcase_add_test(tcase, test_snapshots);
    tcase_add_test(tcase, test_bad_csv);
    tcase_add_test(tcase, test_skip_bad);
    tcase_add_test(tcase, test_bad_timeline);
    tcase_add_test(tcase, test_truncated);
    tcase_add_test(tcase, test_bad_words);
    tcase_add_test(tcase, test_nothing_recognised);
    return run_suite(suite);
}
