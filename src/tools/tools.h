/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

/*
 * DOC: Sockets of management programs
 *
 * Management programs such as ibstat, perfquery and OpenSM reach the nodes of an instance's fabrics by two protocols,
 * each of which has its own library that the program loads:
 *
 *	tools/umad.h	libuipoib-umad.so, by a socket at a path
 *	tools/ibsim.h	libumad2sim.so of ibsim, by abstract sockets; for fabrics with the key `ibsim`
 *
 * No code in inst/ depends on these programs. The caller that runs the instance opens the sockets when the instance
 * has its fabrics and hosts, and closes the sockets before fabrics and hosts are destroyed.
 */

#include "inst/inst.h"

struct tools;
struct umad_net;
struct ibsim_net;

/**
 * tools_open() - Serve management programs on the fabrics of an instance
 * @in:		instance into which inst_load() has loaded @c; the sockets use its loop and helper
 * @c:		configuration, for the file and line in messages
 *
 * The caller has made sure that no other instance uses the name (ctl_open()). Return: 0;
 * -EADDRINUSE: another ibsim has the name; -errno; with @err
 */
int tools_open(struct tools **ret, struct inst *in, const struct conf *c, char err[INST_ERR_MAX]);

/* tools_close() - Drop all clients and close the sockets; NULL is accepted */
void tools_close(struct tools *t);

const struct umad_net *tools_umad(const struct tools *t);
/* tools_ibsim() - Return the server of ibsim's protocol on a fabric; NULL if the fabric has no ibsim */
const struct ibsim_net *tools_ibsim(const struct tools *t, const struct inst_fabric *f);

#endif
