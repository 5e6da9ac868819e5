/* A program that knows the installed header only; prints what `vramsim run --json` prints. */
#include <stdio.h>
#include <vramsim.h>

int main(int argc, char **argv) {
    struct vramsim_error err;
    struct vramsim *sim = vramsim_open(argc > 1 ? argv[1] : NULL, &err);
    struct vramsim_request *request = sim ? vramsim_request_new(sim, &err) : NULL;
    bool set = request && vramsim_set(request, "hw", "rtx4090", &err) &&
               vramsim_set(request, "workload", "chat8b", &err);
    struct vramsim_result *result = set ? vramsim_run(request, &err) : NULL;
    int bad = fputs(result ? vramsim_result_json(result, NULL) : err.text, stdout) < 0 || !result;
    vramsim_result_free(result);
    vramsim_request_free(request);
    vramsim_close(sim);
    return bad;
}
