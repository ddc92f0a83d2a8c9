/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CMD_H
#define DAEMON_CMD_H

/*
 * What commands put into rows. Names are snake_case and stable; counts and times are numbers,
 * times in milliseconds; keys, GIDs and GUIDs are text in their usual notation. All return
 * NULL only when out of memory, which json_pack() "o" and json_object_set_new() pass on.
 */

#include "daemon/ctl_req.h"

json_t *cmd_gid(const ib_gid *g);
json_t *cmd_guid(uint64_t guid); /* "0x0002c90300000001" */
json_t *cmd_hex(unsigned long long v, int digits); /* "0x8001" */
json_t *cmd_mac(const uint8_t mac[6]);
json_t *cmd_lladdr(const struct ipoib_lladdr *a);
json_t *cmd_ip(const uint8_t *addr, unsigned int family); /* 4 or 6 */

/* cmd_ms() - A time span in whole milliseconds */
json_t *cmd_ms(ns_t t);
/* cmd_until() - Milliseconds from @now to @t; null if @t is 0 or never, 0 if it is past */
json_t *cmd_until(ns_t t, ns_t now);
/* cmd_rate() - Mb/s of an IBA code; null if it is none */
json_t *cmd_rate(unsigned int rate_code);
/* cmd_sac_status() - "ok", or what went wrong; see sac/sac.h */
json_t *cmd_sac_status(int status);

/* cmd_set() - Set a member; takes @v; a row that lacks memory becomes NULL at its end: see cmd_row() */
void cmd_set(json_t *row, const char *name, json_t *v);
void cmd_set_str(json_t *row, const char *name, const char *s);
void cmd_set_int(json_t *row, const char *name, long long v);
void cmd_set_bool(json_t *row, const char *name, bool v);

/* Members that every row about an interface or a fabric begins with. */
json_t *cmd_iface_row(const struct inst_iface *i); /* ifname, host */
json_t *cmd_fabric_row(const struct inst_fabric *f); /* fabric */

/* cmd_kernel_neighs() - The kernel's neighbours of an interface: {"MAC":["IP",...],...} */
json_t *cmd_kernel_neighs(const struct inst_iface *i);

/* cmd_path_rec() - The fields of a PathRecord, added to @row */
void cmd_path_rec(json_t *row, const struct ib_path_rec *p);

/* cmd_each_iface() - fn() for the interface that "dev" names, or for all; then the end */
void cmd_each_iface(struct ctl_req *r, void (*fn)(struct ctl_req *r, struct inst_iface *i));

/*
 * cmd_each_fabric() - fn() for the fabric that "fabric" names, or for all; then the end. A
 * filter of fn()'s own is fine, errors are not: it cannot end the request.
 */
void cmd_each_fabric(struct ctl_req *r, void (*fn)(struct ctl_req *r, struct inst_fabric *f));

/* cmd_arg_port() - The port "NODE/PORT" that @name says; NULL after an error was sent */
struct fabric_port *cmd_arg_port(struct ctl_req *r, struct inst_fabric *f, const char *name);

#endif
