/* Samples as they were measured, and the JSON document that holds them. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

enum { REPEATS_MOST = 1000, REPEATS_LEAST = 5, WARM_UP = 2 };
static const double CLOSE = 0.01; /* half of the 95 % interval, as a part of the mean */

struct session {
    cJSON *samples;
    cJSON *gpu;                /* facts; NULL without any */
    const struct probe *probe; /* that runs now */
    bool progress, failed;
};

struct session *session_new(bool progress) {
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->samples = cJSON_CreateArray();
    s->progress = progress;
    s->failed = !s->samples;
    return s;
}

void session_free(struct session *s) {
    if (s) {
        cJSON_Delete(s->samples);
        cJSON_Delete(s->gpu);
    }
    free(s);
}

static void put_number(struct session *s, cJSON *object, const char *key, double value) {
    if (value > 0 && !cJSON_AddNumberToObject(object, key, value))
        s->failed = true;
}

void session_begin(struct session *s, const struct probe *probe) { s->probe = probe; }

static bool has_facts(struct session *s) {
    if (!s->gpu)
        s->gpu = cJSON_CreateObject();
    return s->gpu != NULL;
}

void session_fact_text(struct session *s, const char *key, const char *value) {
    if (!has_facts(s) || !cJSON_AddStringToObject(s->gpu, key, value))
        s->failed = true;
}

void session_fact(struct session *s, const char *key, double value) {
    if (has_facts(s))
        put_number(s, s->gpu, key, value);
    else
        s->failed = true;
}

static cJSON *add_sample(struct session *s) {
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddStringToObject(object, "probe", s->probe->name) ||
        !cJSON_AddItemToArray(s->samples, object))
        s->failed = true;
    return object;
}

void session_skip(struct session *s, const char *reason) {
    cJSON *object = add_sample(s);
    if (!object || !cJSON_AddStringToObject(object, "skipped", reason))
        s->failed = true;
}

/* Student's t at 97.5 % for n - 1 degrees of freedom, from above: 2.78 for 5, 1.96 for many. */
static double student(int n) { return 1.96 + 2.6 / (n - 1.8); }

static bool is_close(const double *seconds, int n) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += seconds[i];
    double mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (seconds[i] - mean) * (seconds[i] - mean);
    return student(n) * sqrt(squares / (n - 1) / n) < CLOSE * mean;
}

static int repeat_until_close(const struct probe_limits *limits, probe_repeat repeat, void *context,
                              double *seconds) {
    int n = 0;
    double used = 0;
    for (int i = 0; i < WARM_UP; i++)
        if (repeat(context) < 0)
            return -1;
    while (n < REPEATS_MOST) {
        double s = repeat(context);
        if (s < 0)
            return -1;
        seconds[n++] = s;
        used += s;
        if (n >= REPEATS_LEAST && (used > limits->seconds || is_close(seconds, n)))
            break;
    }
    return n;
}

void session_measure(struct session *s, const struct probe_limits *limits,
                     const struct sample *sample, probe_repeat repeat, void *context) {
    static double seconds[REPEATS_MOST];
    int n = repeat_until_close(limits, repeat, context, seconds);
    if (n < 0) {
        session_skip(s, "a repetition failed");
        return;
    }
    cJSON *object = add_sample(s);
    cJSON *list = cJSON_CreateDoubleArray(seconds, n);
    if (!object || !list) {
        cJSON_Delete(list);
        s->failed = true;
        return;
    }
    if (sample->variant && !cJSON_AddStringToObject(object, "variant", sample->variant))
        s->failed = true;
    put_number(s, object, "devices", sample->devices);
    put_number(s, object, "threads", sample->threads);
    put_number(s, object, "bytes", (double)sample->bytes);
    put_number(s, object, "block_bytes", (double)sample->block_bytes);
    put_number(s, object, "depth", sample->depth);
    put_number(s, object, "m", (double)sample->m);
    put_number(s, object, "n", (double)sample->n);
    put_number(s, object, "k", (double)sample->k);
    put_number(s, object, "work", sample->work);
    if (!cJSON_AddStringToObject(object, "unit", sample->unit) ||
        !cJSON_AddItemToObject(object, "seconds", list))
        s->failed = true;
}

void session_progress(const struct session *s, size_t done, size_t all, const char *name) {
    enum { WIDTH = 24 };
    if (!s->progress)
        return;
    size_t filled = all > 0 ? done * WIDTH / all : 0;
    fprintf(stderr, "\r[%.*s%*s] %zu of %zu  %-24s", (int)filled, "########################",
            (int)(WIDTH - filled), "", done, all, name);
    if (done == all)
        fprintf(stderr, "\r%*s\r", 72, "");
    (void)fflush(stderr);
}

/* A value of /proc/meminfo in bytes; 0 where there is none. */
static double meminfo(const char *key) {
    char line[200];
    double kib = 0;
    FILE *in = fopen("/proc/meminfo", "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            kib = strtod(line + strlen(key) + 1, NULL);
    if (in)
        (void)fclose(in);
    return 1024 * kib;
}

/* Cores (not hardware threads), sockets and the processor's name, from /proc/cpuinfo. */
static void processor(double *cores, double *sockets, char name[100]) {
    char line[400];
    FILE *in = fopen("/proc/cpuinfo", "r");
    double physical = -1;
    *cores = *sockets = 0;
    while (in && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');
        if (!colon)
            continue;
        if (strncmp(line, "physical id", 11) == 0 && strtod(colon + 1, NULL) > physical) {
            physical = strtod(colon + 1, NULL);
            *sockets += 1;
        } else if (strncmp(line, "cpu cores", 9) == 0) {
            *cores = strtod(colon + 1, NULL);
        } else if (strncmp(line, "model name", 10) == 0) {
            (void)snprintf(name, 100, "%.90s", colon + 2);
            name[strcspn(name, "\n")] = '\0';
        }
    }
    if (in)
        (void)fclose(in);
    *sockets = *sockets > 0 ? *sockets : 1;
    *cores = *cores > 0 ? *cores * *sockets : (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Size of the file system that the folder is on; 0 where it can't be told. */
static double storage_bytes(const char *folder) {
    struct statvfs room;
    return statvfs(folder, &room) == 0 ? (double)room.f_blocks * (double)room.f_frsize : 0;
}

static cJSON *describe_machine(const struct probe_limits *limits) {
    char name[100] = "unknown processor";
    double cores, sockets, ram = meminfo("MemTotal");
    struct utsname system = {0};
    cJSON *machine = cJSON_CreateObject();
    processor(&cores, &sockets, name);
    (void)uname(&system);
    if (ram <= 0)
        ram = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double available = meminfo("MemAvailable");
    bool ok =
        machine && cJSON_AddStringToObject(machine, "processor", name) &&
        cJSON_AddStringToObject(machine, "system", system.sysname) &&
        cJSON_AddStringToObject(machine, "release", system.release) &&
        cJSON_AddNumberToObject(machine, "cores", cores) &&
        cJSON_AddNumberToObject(machine, "sockets", sockets) &&
        cJSON_AddNumberToObject(machine, "threads", (double)sysconf(_SC_NPROCESSORS_ONLN)) &&
        cJSON_AddNumberToObject(machine, "ram_bytes", ram) &&
        cJSON_AddNumberToObject(machine, "available_bytes", available > 0 ? available : ram) &&
        cJSON_AddNumberToObject(machine, "storage_bytes", storage_bytes(limits->folder));
    if (ok)
        return machine;
    cJSON_Delete(machine);
    return NULL;
}

char *session_text(const struct session *s, const char *program,
                   const struct probe_limits *limits) {
    char date[20] = "";
    time_t now = time(NULL);
    struct tm utc;
    cJSON *root = cJSON_CreateObject(), *machine = describe_machine(limits);
    char *text = NULL;
    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof date, "%Y-%m-%d", &utc);
    bool ok = root && machine && !s->failed &&
              cJSON_AddStringToObject(root, "schema", "vramsim-samples/1") &&
              cJSON_AddStringToObject(root, "program", program) &&
              cJSON_AddStringToObject(root, "date", date) &&
              (!s->gpu || cJSON_AddItemReferenceToObject(machine, "gpu", s->gpu)) &&
              cJSON_AddItemToObject(root, "machine", machine);
    if (ok) {
        machine = NULL;
        ok = cJSON_AddItemReferenceToObject(root, "samples", s->samples);
    }
    if (ok)
        text = cJSON_Print(root);
    cJSON_Delete(machine);
    cJSON_Delete(root);
    return text;
}
