/* SimGrid as an oracle of sharing: random flows over random links, all of them in one platform,
 * must end there and here within a thousandth of each other.
 *
 * A flow is a message from one host to another, over one to four links that it shares with others
 * and one of its own. CM02 without its corrections for TCP shares links max-min fairly between
 * flows of equal latency, so that each has the same, all of it on its own link; a small bandwidth
 * of that link is a limit to the flow's rate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>

#include "base/rng.h"
#include "des/des.h"

enum { GRAPHS = 40, LINKS = 5, FLOWS = 16, ALL = GRAPHS * FLOWS, PATH_MOST = 4 };
static const double LATENCY_S = 1, TOLERANCE = 1e-3;

struct flow {
    unsigned graph, links[PATH_MOST], link_count;
    double bytes, limit; /* of its own link, bytes/s */
    double start_s;
    double ours_s, theirs_s; /* end */
};
static struct flow flows[ALL];
static double capacity[GRAPHS][LINKS]; /* bytes/s */

static void require(bool holds, const char *what) {
    if (holds)
        return;
    printf("%s\n", what);
    exit(1);
}

/* ---- the cases ---- */

static bool is_on_path(const struct flow *f, unsigned link) {
    for (unsigned i = 0; i < f->link_count; i++)
        if (f->links[i] == link)
            return true;
    return false;
}

static void draw_flow(struct vs_rng *rng, struct flow *f, unsigned graph) {
    unsigned wanted = 1 + (unsigned)vs_rng_below(rng, PATH_MOST);
    f->graph = graph;
    while (f->link_count < wanted) {
        unsigned link = (unsigned)vs_rng_below(rng, LINKS);
        if (!is_on_path(f, link))
            f->links[f->link_count++] = link;
    }
    f->bytes = floor(1e9 * (0.1 + 10 * vs_rng_uniform(rng)));
    f->limit = vs_rng_below(rng, 3) == 0 ? 1e7 * (1 + 20 * vs_rng_uniform(rng)) : 1e15;
    f->start_s = vs_rng_below(rng, 2) == 0 ? 0 : 60 * vs_rng_uniform(rng);
}

static void draw(void) {
    struct vs_rng *rng = vs_rng_new(1);
    require(rng != NULL, "out of memory");
    for (unsigned g = 0; g < GRAPHS; g++) {
        for (unsigned l = 0; l < LINKS; l++)
            capacity[g][l] = 1e8 * (1 + 30 * vs_rng_uniform(rng));
        for (unsigned f = 0; f < FLOWS; f++)
            draw_flow(rng, &flows[g * FLOWS + f], g);
    }
    vs_rng_free(rng);
}

/* ---- here ---- */

static vs_activity add_flow(struct vs_des *des, const vs_resource *links, const struct flow *f) {
    struct vs_demand demands[PATH_MOST];
    for (unsigned i = 0; i < f->link_count; i++)
        demands[i] = (struct vs_demand){links[f->links[i]], f->bytes};
    double latency_s = f->start_s + LATENCY_S;
    return vs_des_add(
        des, &(struct vs_activity_spec){.stream = vs_des_stream(des),
                                        .latency = (vs_time)(latency_s * (double)VS_TIME_PER_S),
                                        .demands = demands,
                                        .demand_count = f->link_count,
                                        .max_rate = f->limit});
}

static void run_ours(void) {
    for (unsigned g = 0; g < GRAPHS; g++) {
        struct vs_des *des = vs_des_new();
        struct vs_err err;
        vs_resource links[LINKS];
        vs_activity activities[FLOWS];
        require(des != NULL, "out of memory");
        for (unsigned l = 0; l < LINKS; l++)
            links[l] = vs_des_resource(des, capacity[g][l]);
        for (unsigned f = 0; f < FLOWS; f++)
            activities[f] = add_flow(des, links, &flows[g * FLOWS + f]);
        require(vs_des_run(des, &err), "the run failed");
        for (unsigned f = 0; f < FLOWS; f++)
            flows[g * FLOWS + f].ours_s =
                (double)vs_des_end(des, activities[f]) / (double)VS_TIME_PER_S;
        vs_des_free(des);
    }
}

/* ---- there ---- */

static void write_platform(FILE *out) {
    fprintf(out, "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                 "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
                 "<zone id=\"all\" routing=\"Full\">\n");
    for (unsigned f = 0; f < ALL; f++)
        fprintf(out, "<host id=\"from%u\" speed=\"1Gf\"/><host id=\"to%u\" speed=\"1Gf\"/>\n", f,
                f);
    for (unsigned g = 0; g < GRAPHS; g++)
        for (unsigned l = 0; l < LINKS; l++)
            fprintf(out, "<link id=\"link%u_%u\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", g, l,
                    capacity[g][l]);
    for (unsigned f = 0; f < ALL; f++)
        fprintf(out, "<link id=\"own%u\" bandwidth=\"%.17gBps\" latency=\"%.17gs\"/>\n", f,
                flows[f].limit, LATENCY_S);
    for (unsigned f = 0; f < ALL; f++) {
        fprintf(out,
                "<route src=\"from%u\" dst=\"to%u\" symmetrical=\"NO\"><link_ctn "
                "id=\"own%u\"/>",
                f, f, f);
        for (unsigned i = 0; i < flows[f].link_count; i++)
            fprintf(out, "<link_ctn id=\"link%u_%u\"/>", flows[f].graph, flows[f].links[i]);
        fprintf(out, "</route>\n");
    }
    fprintf(out, "</zone>\n</platform>\n");
}

/* Actors' one word is the number of their flow. */
static void send(int count, char **words) {
    static char payload;
    struct flow *f = &flows[strtoul(words[count - 1], NULL, 10)];
    sg_actor_sleep_for(f->start_s);
    sg_mailbox_put(sg_mailbox_by_name(words[count - 1]), &payload, (long)f->bytes);
}

static void receive(int count, char **words) {
    struct flow *f = &flows[strtoul(words[count - 1], NULL, 10)];
    (void)sg_mailbox_get(sg_mailbox_by_name(words[count - 1]));
    f->theirs_s = simgrid_get_clock();
}

static void make_actors(unsigned f) {
    char name[32], number[32];
    const char *const words[] = {"flow", number};
    (void)snprintf(number, sizeof number, "%u", f);
    (void)snprintf(name, sizeof name, "from%u", f);
    sg_actor_create_(name, sg_host_by_name(name), send, 2, words);
    (void)snprintf(name, sizeof name, "to%u", f);
    sg_actor_create_(name, sg_host_by_name(name), receive, 2, words);
}

static void run_theirs(void) {
    static const char *const settings[] = {
        "oracle",
        "--log=root.thresh:error",
        "--cfg=network/model:CM02",
        "--cfg=network/bandwidth-factor:1",
        "--cfg=network/latency-factor:1",
        "--cfg=network/weight-S:0",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/crosstraffic:0",
        "--cfg=contexts/factory:thread", /* which sanitizers understand */
    };
    enum { SETTINGS = sizeof settings / sizeof *settings };
    static char texts[SETTINGS][64]; /* simgrid_init may change its words */
    char path[] = "/tmp/vramsim_oracle_XXXXXX.xml", *words[SETTINGS + 1];
    int count = SETTINGS, file = mkstemps(path, (int)strlen(".xml"));
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    require(out != NULL, "cannot write a platform to /tmp");
    for (size_t i = 0; i < SETTINGS; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%s", settings[i]);
        words[i] = texts[i];
    }
    words[SETTINGS] = NULL;
    write_platform(out);
    require(fclose(out) == 0, "cannot write a platform to /tmp");
    simgrid_init(&count, words);
    simgrid_load_platform(path);
    (void)unlink(path);
    for (unsigned f = 0; f < ALL; f++)
        make_actors(f);
    simgrid_run();
}

/* When it would end with its links to itself. */
static double alone_s(const struct flow *f) {
    double rate = f->limit;
    for (unsigned i = 0; i < f->link_count; i++)
        rate = fmin(rate, capacity[f->graph][f->links[i]]);
    return f->start_s + LATENCY_S + f->bytes / rate;
}

int main(void) {
    double worst = 0;
    unsigned slowed = 0;
    draw();
    run_ours();
    run_theirs();
    for (unsigned f = 0; f < ALL; f++) {
        double error = fabs(flows[f].ours_s / flows[f].theirs_s - 1);
        worst = error > worst ? error : worst;
        slowed += flows[f].theirs_s > 1.01 * alone_s(&flows[f]);
        if (!(error <= TOLERANCE))
            printf("graph %u, flow %u: ends at %.9g s, in SimGrid at %.9g s\n", flows[f].graph,
                   f % FLOWS, flows[f].ours_s, flows[f].theirs_s);
    }
    printf("%d flows, %u of them slowed by others; the worst differs by %.2g\n", ALL, slowed,
           worst);
    require(2 * slowed > ALL, "too few flows share anything");
    return worst <= TOLERANCE ? EXIT_SUCCESS : EXIT_FAILURE;
}
