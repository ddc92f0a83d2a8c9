/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_CMD_H
#define CMD_CMD_H

/*
 * The table of all commands, and values for the rows of answers. Names of members are snake_case
 * and do not change. Counts are numbers, and times are numbers of milliseconds. Keys, GIDs and
 * GUIDs are text in their usual notation. A function that makes a value returns NULL only when
 * memory ran out. json_pack() "o" and json_object_set_new() accept this NULL and report an error.
 */

#include "ctl/req.h"

/*
 * cmd_tables - The tables of all commands, one for each object, for ctl_open(). They come from the files of this
 * folder. The last entry is NULL.
 */
extern const struct ctl_cmd *const cmd_tables[];

json_t *cmd_gid(const ib_gid *g);
json_t *cmd_guid(uint64_t guid); /* "0x0002c90300000001" */
json_t *cmd_hex(unsigned long long v, int digits); /* "0x8001" */
json_t *cmd_mac(const uint8_t mac[6]);
json_t *cmd_lladdr(const struct ipoib_lladdr *a);
json_t *cmd_ip(const uint8_t *addr, unsigned int family); /* @family: 4 or 6 */

/* cmd_ms() - A time span in whole milliseconds */
json_t *cmd_ms(ns_t t);
/*
 * cmd_until() - Return the milliseconds from @now to @t; null if @t is 0 or NS_NEVER, 0 if @t is
 * past
 */
json_t *cmd_until(ns_t t, ns_t now);
/* cmd_rate() - Return the Mb/s of an IBA rate code; null if the code is not defined */
json_t *cmd_rate(unsigned int rate_code);
/*
 * cmd_sac_status() - Return "ok", or in words the status of the SA client, which sac/sac.h defines
 */
json_t *cmd_sac_status(int status);

/*
 * cmd_set() - Set a member of a row; takes ownership of @v. If @v is NULL, because memory ran out,
 * the row gets no such member
 */
void cmd_set(json_t *row, const char *name, json_t *v);
void cmd_set_str(json_t *row, const char *name, const char *s);
void cmd_set_int(json_t *row, const char *name, long long v);
void cmd_set_bool(json_t *row, const char *name, bool v);

/* Return a new row with the members with which each row about an interface or a fabric begins */
json_t *cmd_iface_row(const struct inst_iface *i); /* members "ifname" and "host" */
json_t *cmd_fabric_row(const struct inst_fabric *f); /* member "fabric" */
/*
 * cmd_port_fabric() - Return the name of the soft fabric of a port; null if the port belongs to no
 * soft fabric
 */
json_t *cmd_port_fabric(const struct inst_port *p);

/* cmd_path_rec() - Add the fields of a PathRecord to @row */
void cmd_path_rec(json_t *row, const struct ib_path_rec *p);

/* cmd_each_iface() - Call fn() for the interface that the argument "dev" names, or for all interfaces, and end the answer */
void cmd_each_iface(struct ctl_req *r, void (*fn)(struct ctl_req *r, struct inst_iface *i));

/*
 * cmd_each_fabric() - Call fn() for the fabric that the argument "fabric" names, or for all
 * fabrics, and end the answer. fn() need not send a row. It must not end the request, because
 * cmd_each_fabric() ends it.
 */
void cmd_each_fabric(struct ctl_req *r, void (*fn)(struct ctl_req *r, struct inst_fabric *f));

/* cmd_arg_port() - Return the port that argument @name names as "NODE/PORT"; NULL after an error was sent */
struct fabric_port *cmd_arg_port(struct ctl_req *r, struct inst_fabric *f, const char *name);

#endif
