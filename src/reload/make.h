/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELOAD_MAKE_H
#define RELOAD_MAKE_H

/*
 * DOC: The supervisor's part of a reload
 *
 * The helper of a running instance is sealed, and makes no namespace and no TAP. So the supervisor,
 * which has read the configuration itself, starts another helper. This helper opens the namespaces
 * and makes the TAPs that the new configuration names, and then the supervisor seals it. Only then
 * the main process gets the helper's socket. So the main process never sends requests to a helper
 * that is not sealed, and cannot influence what the helper makes.
 */

#include <stddef.h>
#include <sys/types.h>

#include "conf/diff.h"
#include "proto/proto.h"

/* The text of a fabric's file of partitions */
struct reload_text {
	char fabric[CONF_NAME_MAX];
	const char *file; /* path of the file, for messages */
	char *text;
	size_t len;
};

struct reload_job {
	const char *name; /* name of the instance */
	const struct conf *was;
	const struct conf_diff *diff;
	const struct reload_text *texts; /* [ntexts]: of fabrics with an SM and a partitions file */
	size_t ntexts;
};

/**
 * reload_make() - Make what @job adds, and hand all of it over to the running instance
 * @ret_helper:	process of the new helper, for waitpid(); 0: none was started
 * @ret_answer:	connection on which the instance answers, for reload_answer(); set only on success
 *
 * Return: 0; or an exit status (PROTO_EXIT_*) with a message in @err. If the status is not 0, the instance changes
 * nothing
 */
int reload_make(const struct reload_job *job, pid_t *ret_helper, struct proto_client *ret_answer,
		char *err, size_t err_len);

/**
 * reload_answer() - Read the part of the instance's answer that has arrived, without waiting
 * @d:		changes that the instance was told to make
 * @missing:	array with an element for each row of @d. An element becomes true if the instance
 *		first made other changes, and then could not add the interface of this row
 *
 * Return: 0: the instance has made all changes; -EAGAIN: the end of the answer has not come; an
 * exit status (PROTO_EXIT_*) with a message in @err: the reload failed, and if no element of
 * @missing is true, no interface has changed
 */
int reload_answer(struct proto_client *c, const struct conf_diff *d, bool *missing, char *err,
		  size_t err_len);

#endif
