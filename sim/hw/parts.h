/* Between the files of hw/ only: reading the parts that machine.c puts together. */
#ifndef VS_HW_PARTS_H
#define VS_HW_PARTS_H

#include "hw/machine.h"

/* An open profile: `reader` stands on its top object; name, title and file live in the arena. */
struct vs_hw_file {
    struct vs_json_reader reader;
    const char *name, *title, *file;
};

/* Finds and opens "hwprofiles/KINDs/NAME.json", checks "schema" ("vramsim-KIND/1"), reads name and
 * title. A word "FILE#PART" means the object PART among the "parts" of a machine file. */
bool vs_hw_open(struct vs_arena *arena, const char *kind, const char *word, struct vs_hw_file *in,
                struct vs_err *err);

/* A word of an open file as others may ask for it: "#PART" becomes "FILE#PART". NULL stays NULL;
 * false when memory runs out. */
bool vs_hw_resolve(struct vs_arena *arena, const struct vs_hw_file *in, const char **word,
                   struct vs_err *err);

/* A device as its file and its arch's file say, before overrides and before vs_device_settle. */
bool vs_device_read(struct vs_arena *arena, const char *name, struct vs_device *device,
                    struct vs_err *err);

/* Fills in the usable capacity where neither file nor command line states it. `ram_bytes` (0 = as
 * it is) is the size of a unified memory. */
bool vs_device_settle(struct vs_arena *arena, struct vs_device *device, uint64_t ram_bytes,
                      struct vs_err *err);

/* The network rate of a node whose devices are of `arch` (may be NULL); unknown when the file has
 * none. */
bool vs_board_net(struct vs_arena *arena, const struct vs_board *board, const char *arch,
                  struct vs_num *net, struct vs_err *err);

/* What --hw names: devices in order, each piece `count` times. */
struct vs_hw_piece {
    struct vs_device *device; /* read, not settled */
    unsigned count;
};
struct vs_hw_choice {
    struct vs_hw_piece *pieces;
    size_t piece_count, device_count;
    const char *board; /* the machine file that --hw itself names, else NULL */
    const char *host;  /* the host that --hw names instead of devices, else NULL */
};
bool vs_hw_choose(struct vs_arena *arena, const char *hw, unsigned gpus,
                  struct vs_hw_choice *choice, struct vs_err *err);

#endif
