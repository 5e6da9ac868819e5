/* What the host pays to start a kernel: an empty one, launched many times in a row, as a stream and
 * as one CUDA graph of as many nodes. work = launches. Time is the host's clock from the first
 * launch until the device is done, since the host is what is slow. Checked: the kernels counted
 * themselves. nvcc -O3 -arch=native -I.. -c cuda_launch.cu */
#include "gpu.h"

enum { LAUNCHES = 1000 };

struct counted {
    unsigned *count;
    cudaGraphExec_t graph;
};

static __global__ void count_one(unsigned *count) { *count += 1; }

static bool launch_all(const struct counted *c) {
    for (int i = 0; i < LAUNCHES; i++)
        count_one<<<1, 1, 0, gpu.stream>>>(c->count);
    return gpu_launched();
}

static double by_launches(void *context) {
    double first = now_s();
    if (!launch_all((const struct counted *)context) ||
        cudaStreamSynchronize(gpu.stream) != cudaSuccess)
        return -1;
    return now_s() - first;
}

static double by_graph(void *context) {
    const struct counted *c = (const struct counted *)context;
    double first = now_s();
    if (cudaGraphLaunch(c->graph, gpu.stream) != cudaSuccess ||
        cudaStreamSynchronize(gpu.stream) != cudaSuccess)
        return -1;
    return now_s() - first;
}

/* One launch and the wait for it: what a program pays that looks at each result. */
static double round_trip(void *context) {
    const struct counted *c = (const struct counted *)context;
    double first = now_s();
    count_one<<<1, 1, 0, gpu.stream>>>(c->count);
    if (!gpu_launched() || cudaStreamSynchronize(gpu.stream) != cudaSuccess)
        return -1;
    return now_s() - first;
}

static bool record_graph(struct counted *c) {
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        return false;
    bool launched = launch_all(c); /* the capture ends even if this failed */
    bool ok = cudaStreamEndCapture(gpu.stream, &graph) == cudaSuccess && launched &&
              cudaGraphInstantiateWithFlags(&c->graph, graph, 0) == cudaSuccess;
    if (graph)
        (void)cudaGraphDestroy(graph);
    return ok;
}

static bool counts(struct counted *c, double (*repeat)(void *), unsigned launches) {
    unsigned found = 0;
    return cudaMemset(c->count, 0, sizeof found) == cudaSuccess && repeat(c) >= 0 &&
           gpu_fetch(&found, c->count, sizeof found) && found == launches;
}

static void run(struct session *session, const struct probe_limits *limits) {
    static const struct {
        const char *name;
        double (*repeat)(void *context);
        unsigned launches;
    } KINDS[] = {{"stream", by_launches, LAUNCHES},
                 {"graph", by_graph, LAUNCHES},
                 {"round-trip", round_trip, 1}};
    gpu_memory count(sizeof(unsigned));
    struct counted c = {count.as<unsigned>(), NULL};
    if (!count || !record_graph(&c)) {
        gpu_skip(session, NULL, "no graph can be recorded");
        return;
    }
    for (const auto &kind : KINDS) {
        struct sample sample = {};
        sample.work = kind.launches;
        sample.unit = "operations";
        sample.variant = kind.name;
        if (counts(&c, kind.repeat, kind.launches))
            session_measure(session, limits, &sample, kind.repeat, &c);
        else
            gpu_skip(session, kind.name, "its result was wrong");
    }
    (void)cudaGraphExecDestroy(c.graph);
}

GPU_PROBE(cuda_launch, "launch of a kernel, alone and in a graph")
