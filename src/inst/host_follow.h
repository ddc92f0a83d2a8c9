/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_HOST_FOLLOW_H
#define INST_HOST_FOLLOW_H

/*
 * A namespace that a name or a path means may be deleted, and one of the same name may be made, while the instance runs. The
 * helper, which alone may open namespaces then, is asked when inst/follow.h says so. When the namespace is gone, the
 * interfaces of the host go down as if they were set down, and the descriptors of the namespace are closed, so that nothing
 * of the instance keeps it alive. When a namespace exists again, the helper moves the TAPs into it and sets them up as at
 * the start.
 */

#include "inst/host.h"

/* host_follow() - Follow the namespace of a host that was just opened, if it may change: @spec as configured */
void host_follow(struct inst_host *h, const char *spec);
/* host_unfollow() - End host_follow(); has no effect on a host that is not followed */
void host_unfollow(struct inst_host *h);

/* host_watch_close() - Close the descriptor that all hosts share, when none is followed any more */
void host_watch_close(struct inst *in);

#endif
