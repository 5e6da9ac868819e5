#include "cli/cli.h"

int main(int argc, char **argv) {
    return vs_cli_main((const char *const *)argv + 1, argc > 0 ? (size_t)argc - 1 : 0);
}
