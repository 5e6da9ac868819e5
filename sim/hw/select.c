#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "base/text.h"
#include "hw/parts.h"

/* What --hw names becomes devices in order: NAME, FILE, NAMExN, A+B, or a machine file that lists
 * its own; or none, with "cpu", with the name of a host and with a machine that lists none. */

static bool is_path(const char *word) {
    return (strchr(word, '/') || strstr(word, ".json")) && vs_file_exists(word);
}

static bool device_file_named(struct vs_arena *arena, const char *word) {
    const char *relative = vs_arena_printf(arena, "hwprofiles/devices/%s.json", word);
    return relative && vs_data_path(arena, relative);
}

/* Where "rtx4090x2" has its 'x', when digits follow it to the end; else NULL. */
static const char *find_count(const char *word) {
    size_t digits = 0, length = strlen(word);
    while (digits < length && word[length - 1 - digits] >= '0' && word[length - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || length < digits + 2)
        return NULL;
    const char *x = word + length - digits - 1;
    return *x == 'x' || *x == 'X' ? x : NULL;
}

static bool read_count(const char *word, const char *digits, unsigned *count, struct vs_err *err) {
    unsigned long n = strlen(digits) <= 5 ? strtoul(digits, NULL, 10) : 0;
    if (n < 1 || n > VS_DEVICES_MAX)
        return vs_err_set(err, VS_ERR_INPUT, "'%.100s': expected 1 to %d devices", word,
                          VS_DEVICES_MAX);
    *count = (unsigned)n;
    return true;
}

/* Files are looked at before aliases, and the whole word before NAMExN, so that "rtx3060" is not
 * 3060 pieces of "rt", and no alias is searched for where a file has the name. */
static const char *find_name(struct vs_arena *arena, const char *word, const char *name) {
    const char *path = NULL;
    struct vs_err ignored = {0};
    if (is_path(word) || device_file_named(arena, word))
        return word;
    if (name && (is_path(name) || device_file_named(arena, name)))
        return name;
    if (vs_data_find(arena, "hwprofiles/devices", "device", word, &path, &ignored))
        return word;
    if (name && vs_data_find(arena, "hwprofiles/devices", "device", name, &path, &ignored))
        return name;
    return word; /* reading it tells what is wrong */
}

/* One piece: NAME or NAMExN. */
static bool read_piece(struct vs_arena *arena, const char *word, struct vs_hw_piece *piece,
                       struct vs_err *err) {
    const char *x = strchr(word, '#') ? NULL : find_count(word), *name = NULL;
    piece->count = 1;
    piece->device = VS_NEW(arena, struct vs_device);
    if (!piece->device)
        return vs_err_nomem(err);
    if (x) {
        name = vs_arena_strndup(arena, word, (size_t)(x - word));
        if (!name)
            return vs_err_nomem(err);
    }
    const char *taken = strchr(word, '#') ? word : find_name(arena, word, name);
    if (taken == name && name && !read_count(word, x + 1, &piece->count, err))
        return false;
    return vs_device_read(arena, taken, piece->device, err);
}

static bool add_words(struct vs_arena *arena, const char *const *words, size_t count,
                      struct vs_hw_choice *choice, struct vs_err *err) {
    choice->pieces = VS_NEW_ARRAY(arena, struct vs_hw_piece, count);
    if (!choice->pieces)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        struct vs_hw_piece *piece = &choice->pieces[i];
        if (!read_piece(arena, words[i], piece, err))
            return false;
        choice->piece_count++;
        choice->device_count += piece->count;
        if (choice->device_count > VS_DEVICES_MAX)
            return vs_err_set(err, VS_ERR_INPUT, "more than %d devices", VS_DEVICES_MAX);
    }
    return true;
}

static bool split_words(struct vs_arena *arena, const char *hw, struct vs_hw_choice *choice,
                        struct vs_err *err) {
    size_t count = 1;
    char **words = NULL;
    if (is_path(hw)) {
        words = VS_NEW(arena, char *);
        if (words && !(words[0] = vs_arena_strdup(arena, hw)))
            words = NULL;
    } else {
        words = vs_split(arena, hw, '+', &count);
    }
    if (!words)
        return vs_err_nomem(err);
    if (count > VS_DEVICES_MAX)
        return vs_err_set(err, VS_ERR_INPUT, "more than %d devices", VS_DEVICES_MAX);
    for (size_t i = 0; i < count; i++)
        if (words[i][0] == '\0')
            return vs_err_set(err, VS_ERR_INPUT,
                              "'%.100s': found an empty name, expected "
                              "devices joined by '+'",
                              hw);
    return add_words(arena, (const char *const *)words, count, choice, err);
}

/* Does the file call itself a machine? Errors wait for the reading proper. */
static bool says_machine(struct vs_arena *arena, const char *path) {
    const struct vs_json *root = NULL;
    struct vs_err ignored = {0};
    if (!vs_json_load(arena, path, &root, &ignored) || root->kind != VS_JSON_OBJECT)
        return false;
    const struct vs_json *schema = vs_json_member(root, "schema");
    return schema && schema->kind == VS_JSON_STRING &&
           vs_starts(schema->string, "vramsim-machine/");
}

/* Where a device and a machine have the same name, the device is meant. */
static bool is_machine(struct vs_arena *arena, const char *hw) {
    const char *path = NULL;
    struct vs_err ignored = {0};
    if (strchr(hw, '/') || strstr(hw, ".json"))
        return vs_file_exists(hw) && says_machine(arena, hw);
    const char *relative = vs_arena_printf(arena, "hwprofiles/machines/%s.json", hw);
    return relative && vs_data_path(arena, relative) &&
           !vs_data_find(arena, "hwprofiles/devices", "device", hw, &path, &ignored);
}

/* A CPU: the name of a host where no device and no machine has it. */
static bool is_host(struct vs_arena *arena, const char *hw) {
    const char *path = NULL;
    struct vs_err ignored = {0};
    if (strchr(hw, '/') || strchr(hw, '+') || strstr(hw, ".json"))
        return false;
    const char *relative = vs_arena_printf(arena, "hwprofiles/hosts/%s.json", hw);
    return relative && vs_data_path(arena, relative) &&
           !vs_data_find(arena, "hwprofiles/devices", "device", hw, &path, &ignored);
}

static bool choose_host(const char *hw, unsigned gpus, struct vs_hw_choice *choice,
                        struct vs_err *err) {
    if (gpus > 0)
        return vs_err_set(err, VS_ERR_INPUT, "--gpus %u contradicts --hw %.100s", gpus, hw);
    choice->host = hw;
    return true;
}

static bool choose_machine(struct vs_arena *arena, const char *hw, struct vs_hw_choice *choice,
                           struct vs_err *err) {
    struct vs_board board;
    if (!vs_board_read(arena, hw, &board, err))
        return false;
    choice->board = hw; /* without devices the host alone, as with "cpu" */
    return board.device_count == 0 ||
           add_words(arena, board.devices, board.device_count, choice, err);
}

static bool check_kinds(const struct vs_hw_choice *choice, struct vs_err *err) {
    for (size_t i = 1; i < choice->piece_count; i++) {
        const struct vs_device *a = choice->pieces[0].device, *b = choice->pieces[i].device;
        if (a->kind == VS_DEVICE_UNIFIED || b->kind == VS_DEVICE_UNIFIED)
            return vs_err_set(err, VS_ERR_INPUT,
                              "'%s' and '%s': a device with unified memory stands alone", a->name,
                              b->name);
    }
    return true;
}

bool vs_hw_choose(struct vs_arena *arena, const char *hw, unsigned gpus,
                  struct vs_hw_choice *choice, struct vs_err *err) {
    *choice = (struct vs_hw_choice){0};
    if (vs_streq(hw, "cpu") || vs_streq(hw, "CPU"))
        return gpus == 0 || vs_err_set(err, VS_ERR_INPUT, "--gpus %u contradicts --hw cpu", gpus);
    bool machine = is_machine(arena, hw);
    if (!machine && is_host(arena, hw))
        return choose_host(hw, gpus, choice, err);
    bool ok =
        machine ? choose_machine(arena, hw, choice, err) : split_words(arena, hw, choice, err);
    if (!ok || !check_kinds(choice, err))
        return false;
    if (gpus == 0 || gpus == choice->device_count)
        return true;
    if (choice->device_count == 0)
        return vs_err_set(err, VS_ERR_INPUT, "--gpus %u contradicts --hw %.100s (no devices)", gpus,
                          hw);
    if (gpus > VS_DEVICES_MAX)
        return vs_err_set(err, VS_ERR_INPUT, "--gpus %u, expected 1 to %d", gpus, VS_DEVICES_MAX);
    if (choice->device_count != 1)
        return vs_err_set(err, VS_ERR_INPUT, "--gpus %u contradicts --hw %.100s (%zu devices)",
                          gpus, hw, choice->device_count);
    choice->pieces[0].count = gpus;
    choice->device_count = gpus;
    return true;
}
