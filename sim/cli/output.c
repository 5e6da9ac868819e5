#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0] != '\0';
}

bool vs_cli_color(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !is_set("NO_COLOR") && term && !vs_streq(term, "dumb");
}

size_t vs_cli_columns(void) {
    enum { LEAST = 80, MOST = 200 };
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 0;
    return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
}

bool vs_cli_write(const struct vs_cli *cli, const char *path, const struct vs_text *text,
                  struct vs_err *err) {
    if (text->failed)
        return vs_err_nomem(err);
    if (!vs_file_write(path, vs_text_str(text), text->length, err))
        return false;
    vs_cli_wrote(cli, path);
    return true;
}

void vs_cli_wrote(const struct vs_cli *cli, const char *path) {
    if (path && !cli->values.quiet)
        (void)fprintf(stderr, "vramsim: wrote %s\n", path);
}

bool vs_cli_print(const struct vs_text *text, struct vs_err *err) {
    if (text->failed)
        return vs_err_nomem(err);
    errno = 0;
    if (text->length > 0)
        (void)fwrite(text->at, 1, text->length, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (errno == EPIPE)
        return true; /* the reader has seen enough */
    return vs_err_set(err, VS_ERR_IO, "cannot write to standard output: %s",
                      errno == ENOSPC ? "no space left on device" : strerror(errno));
}

void vs_cli_error(const struct vs_err *err) { (void)fprintf(stderr, "vramsim: %s\n", err->text); }
