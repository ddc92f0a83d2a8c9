/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_HOST_FOLLOW_H
#define INST_HOST_FOLLOW_H

/*
 * While the instance runs, a namespace that is configured by name or path may be deleted, and
 * another one of the same name may be made. Only the helper process may open namespaces after the
 * start, so the daemon asks the helper process about the namespace. helper/follow_ask.h chooses the
 * times of these requests. When the namespace is gone, the interfaces of the host go down as if
 * they were set down. The daemon closes its descriptors of the namespace, so that they do not keep
 * the namespace in existence. When a namespace of this name exists again, the helper process moves
 * the TAPs into it and configures them as at the start.
 */

#include "inst/host.h"

/*
 * host_follow() - Begin to follow a host's namespace, after the namespace was opened. @spec: the
 * namespace as given in the configuration
 */
void host_follow(struct inst_host *h, const char *spec);
/* host_unfollow() - End host_follow(); has no effect on a host that is not followed */
void host_unfollow(struct inst_host *h);

/*
 * host_watch_close() - Close the inotify descriptor that all hosts share. Call it only after the
 * last host has been unfollowed
 */
void host_watch_close(struct inst *in);

#endif
