/* The listings of hardware profiles: each sets the columns and adds the rows. */
#ifndef VS_CLI_LIST_HW_H
#define VS_CLI_LIST_HW_H

#include "cli/cli.h"
#include "cli/listing.h"

/* Sorted by vendor, then by name with numbers by their value; --vendor and --min-memory choose. */
bool vs_list_hw(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err);
bool vs_list_machines(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err);
bool vs_list_hosts(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err);
bool vs_list_links(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err);
bool vs_list_storage(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err);

#endif
