/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

/*
 * DOC: Sockets of management programs
 *
 * Programs of others (ibstat, perfquery, OpenSM) reach the nodes of an instance's fabrics by two protocols, each of
 * which has its own library that the program loads:
 *
 *	tools/umad.h	libuipoib-umad.so, by a socket at a path
 *	tools/ibsim.h	libumad2sim.so of ibsim, by abstract sockets; for fabrics with the key `ibsim`
 *
 * The instance does not know of these programs. Whoever runs the instance opens the sockets when the instance has its
 * fabrics and hosts, and closes them before these are destroyed.
 */

#include "inst/inst.h"

struct tools;
struct umad_net;
struct ibsim_net;

/**
 * tools_open() - Serve management programs on the fabrics of an instance
 * @in:		instance after inst_load() of @c, which borrows its loop and helper to the sockets
 * @c:		configuration, for the places that messages name
 *
 * The caller has made sure that no other instance uses the name (ctl_open()).
 * Return: 0; -EADDRINUSE the name of an ibsim is taken; -errno; with @err
 */
int tools_open(struct tools **ret, struct inst *in, const struct conf *c, char err[INST_ERR_MAX]);

/* tools_close() - Drop all clients and close the sockets; NULL is accepted */
void tools_close(struct tools *t);

const struct umad_net *tools_umad(const struct tools *t);
/* tools_ibsim() - The server of ibsim's protocol on a fabric; NULL if ibsim is not configured there */
const struct ibsim_net *tools_ibsim(const struct tools *t, const struct inst_fabric *f);

#endif
