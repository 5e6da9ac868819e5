#define ZLIB_CONST /* next_in points to const */

#include "base/input.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"

enum {
    RAW_BYTES = 64 * 1024,   /* as they are in the file */
    CLEAR_BYTES = 64 * 1024, /* decompressed, for lines */
    LINE_MOST_BYTES = 16 * 1024 * 1024,
    MAGIC_BYTES = 4,
    GZIP_WINDOW_BITS = 15 + 16, /* zlib's largest window; + 16 = with gzip's header */
};

enum kind { PLAIN, GZIP, ZSTD };

struct vs_input {
    FILE *stream; /* NULL: all there is lies in `raw` */
    char *name;
    enum kind kind;
    bool borrowed_stream; /* standard input is not ours to close */
    const unsigned char *raw;
    size_t raw_at, raw_count;
    bool raw_ended;
    z_stream gzip;
    bool gzip_open;
    ZSTD_DStream *zstd;
    bool within; /* a compressed stream has begun and not ended */
    int line;    /* the last one that was handed out */
    VS_VEC(char) text;
    char *clear; /* CLEAR_BYTES, once lines are asked for */
    size_t clear_at, clear_count;
    unsigned char buffer[RAW_BYTES];
};

const char *vs_input_name(const struct vs_input *in) { return in->name; }

int vs_input_line_number(const struct vs_input *in) { return in->line; }

static bool fill_raw(struct vs_input *in, struct vs_err *err) {
    if (in->raw_at < in->raw_count || in->raw_ended)
        return true;
    in->raw_at = 0;
    in->raw_count = in->stream ? fread(in->buffer, 1, RAW_BYTES, in->stream) : 0;
    in->raw = in->buffer;
    in->raw_ended = in->raw_count == 0;
    if (in->stream && ferror(in->stream))
        return vs_err_set(err, VS_ERR_IO, "cannot read '%s'", in->name);
    return true;
}

static bool open_kind(struct vs_input *in, struct vs_err *err) {
    static const unsigned char gzip[] = {0x1F, 0x8B}, zstd[] = {0x28, 0xB5, 0x2F, 0xFD};
    if (!fill_raw(in, err))
        return false;
    if (in->raw_count >= sizeof gzip && memcmp(in->raw, gzip, sizeof gzip) == 0) {
        in->kind = GZIP;
        in->gzip_open = inflateInit2(&in->gzip, GZIP_WINDOW_BITS) == Z_OK;
        return in->gzip_open || vs_err_nomem(err);
    }
    if (in->raw_count >= MAGIC_BYTES && memcmp(in->raw, zstd, sizeof zstd) == 0) {
        in->kind = ZSTD;
        in->zstd = ZSTD_createDStream();
        return in->zstd || vs_err_nomem(err);
    }
    return true;
}

static struct vs_input *fresh(const char *name, struct vs_err *err) {
    struct vs_input *in = calloc(1, sizeof *in);
    size_t length = strlen(name) + 1;
    if (in)
        in->name = malloc(length);
    if (!in || !in->name) {
        vs_input_close(in);
        (void)vs_err_nomem(err);
        return NULL;
    }
    memcpy(in->name, name, length);
    return in;
}

static struct vs_input *begin(struct vs_input *in, struct vs_err *err) {
    if (open_kind(in, err))
        return in;
    vs_input_close(in);
    return NULL;
}

struct vs_input *vs_input_open(const char *path, struct vs_err *err) {
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    bool standard = vs_streq(path, "-");
    struct vs_input *in = fresh(standard ? "stdin" : path, err);
    if (!in)
        return NULL;
    if (standard && atomic_flag_test_and_set(&taken)) {
        (void)vs_err_set(err, VS_ERR_INPUT, "standard input can be read once; expected a file");
        vs_input_close(in);
        return NULL;
    }
    in->borrowed_stream = standard;
    in->stream = standard ? stdin : NULL;
    if (!standard && !vs_file_open(path, &in->stream, err)) {
        vs_input_close(in);
        return NULL;
    }
    return begin(in, err);
}

struct vs_input *vs_input_over(const char *bytes, size_t length, const char *name,
                               struct vs_err *err) {
    struct vs_input *in = fresh(name, err);
    if (!in)
        return NULL;
    in->raw = (const unsigned char *)bytes;
    in->raw_count = length;
    return begin(in, err);
}

void vs_input_close(struct vs_input *in) {
    if (!in)
        return;
    if (in->stream && !in->borrowed_stream)
        (void)fclose(in->stream);
    if (in->gzip_open)
        (void)inflateEnd(&in->gzip);
    (void)ZSTD_freeDStream(in->zstd); /* NULL is fine */
    vs_vec_release(&in->text);
    free(in->clear);
    free(in->name);
    free(in);
}

static bool damaged(const struct vs_input *in, const char *what, struct vs_err *err) {
    return vs_err_at(err, in->name, in->line + 1, 0, "%s data is damaged: %s",
                     in->kind == GZIP ? "gzip" : "zstd", what);
}

static bool inflate_some(struct vs_input *in, char *out, size_t most, size_t *got,
                         struct vs_err *err) {
    z_stream *z = &in->gzip;
    if (!in->within && inflateReset(z) != Z_OK)
        return damaged(in, "cannot begin", err);
    z->next_in = in->raw + in->raw_at;
    z->avail_in = (uInt)(in->raw_count - in->raw_at);
    z->next_out = (unsigned char *)out;
    z->avail_out = (uInt)(most < RAW_BYTES ? most : RAW_BYTES);
    size_t room = z->avail_out;
    int status = inflate(z, Z_NO_FLUSH);
    in->raw_at = in->raw_count - z->avail_in;
    *got = room - z->avail_out;
    in->within = status != Z_STREAM_END;
    if (status == Z_MEM_ERROR)
        return vs_err_nomem(err);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return damaged(in, z->msg ? z->msg : "not a gzip stream", err);
    return true;
}

static bool unzstd_some(struct vs_input *in, char *out, size_t most, size_t *got,
                        struct vs_err *err) {
    ZSTD_inBuffer from = {in->raw + in->raw_at, in->raw_count - in->raw_at, 0};
    ZSTD_outBuffer to = {out, most, 0};
    size_t status = ZSTD_decompressStream(in->zstd, &to, &from);
    in->raw_at += from.pos;
    *got = to.pos;
    if (ZSTD_isError(status))
        return damaged(in, ZSTD_getErrorName(status), err);
    in->within = status != 0;
    return true;
}

static bool read_past_clear(struct vs_input *in, char *out, size_t most, size_t *got,
                            struct vs_err *err) {
    *got = 0;
    while (*got == 0 && most > 0) {
        if (!fill_raw(in, err))
            return false;
        size_t left = in->raw_count - in->raw_at;
        if (in->kind == PLAIN) {
            *got = left < most ? left : most;
            if (*got > 0)
                memcpy(out, in->raw + in->raw_at, *got);
            in->raw_at += *got;
            return true;
        }
        if (left == 0 && !in->within)
            return true;
        if (!(in->kind == GZIP ? inflate_some(in, out, most, got, err)
                               : unzstd_some(in, out, most, got, err)))
            return false;
        if (*got == 0 && left == 0 && in->within)
            return damaged(in, "found the end of the file, expected more", err);
    }
    return true;
}

static bool fill_clear(struct vs_input *in, struct vs_err *err) {
    if (!in->clear)
        in->clear = malloc(CLEAR_BYTES);
    if (!in->clear)
        return vs_err_nomem(err);
    in->clear_at = 0;
    return read_past_clear(in, in->clear, CLEAR_BYTES, &in->clear_count, err);
}

bool vs_input_read(struct vs_input *in, char *out, size_t most, size_t *got, struct vs_err *err) {
    size_t left = in->clear_count - in->clear_at;
    if (left == 0)
        return read_past_clear(in, out, most, got, err);
    *got = left < most ? left : most;
    memcpy(out, in->clear + in->clear_at, *got);
    in->clear_at += *got;
    return true;
}

bool vs_input_peek(struct vs_input *in, const char **head, size_t *length, struct vs_err *err) {
    if (in->clear_at == in->clear_count && !fill_clear(in, err))
        return false;
    for (size_t got = in->clear_count; got > 0 && in->clear_count < CLEAR_BYTES;) {
        if (!read_past_clear(in, in->clear + in->clear_count, CLEAR_BYTES - in->clear_count, &got,
                             err))
            break; /* whoever reads what is there comes to the fault in its place */
        in->clear_count += got;
    }
    *head = in->clear + in->clear_at;
    *length = in->clear_count - in->clear_at;
    return true;
}

/* Adds what is there up to a line break; *whole = it has come. */
static bool take_piece(struct vs_input *in, bool *whole, struct vs_err *err) {
    const char *from = in->clear + in->clear_at;
    size_t left = in->clear_count - in->clear_at;
    const char *end = memchr(from, '\n', left);
    size_t n = end ? (size_t)(end - from) : left;
    *whole = end != NULL;
    if (memchr(from, '\0', n))
        return vs_err_at(err, in->name, in->line + 1, 0, "found a NUL byte, expected text");
    if (in->text.count + n > LINE_MOST_BYTES)
        return vs_err_at(err, in->name, in->line + 1, 0, "the line is over 16 MiB");
    if (!vs_vec_reserve(&in->text, n + 1))
        return vs_err_nomem(err);
    memcpy(in->text.at + in->text.count, from, n);
    in->text.count += n;
    in->clear_at += n + *whole;
    return true;
}

bool vs_input_line(struct vs_input *in, const char **line, size_t *length, struct vs_err *err) {
    bool whole = false, any = false;
    in->text.count = 0;
    while (!whole) {
        if (in->clear_at == in->clear_count && !fill_clear(in, err))
            return false;
        if (in->clear_count == 0)
            break;
        any = true;
        if (!take_piece(in, &whole, err))
            return false;
    }
    if (!any) {
        *line = NULL;
        return true;
    }
    char *text = in->text.at;
    size_t n = in->text.count;
    n -= n > 0 && text[n - 1] == '\r';
    text[n] = '\0';
    size_t mark = in->line == 0 && vs_starts(text, "\xEF\xBB\xBF") ? 3 : 0;
    in->line++;
    *line = text + mark;
    *length = n - mark;
    return true;
}
