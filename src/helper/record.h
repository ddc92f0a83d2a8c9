/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HELPER_RECORD_H
#define HELPER_RECORD_H

/*
 * A file that lists the named namespaces that a helper has made. Each line has the name of a
 * namespace, its device and its inode. If the helper is killed, netdev_helper_clean() removes the
 * namespaces in this list.
 */

#include "helper/helper.h"
#include "netdev/netns.h"

/*
 * helper_record_add() - Add namespace @fd, which has the name @name, to the list in file @path. 0
 * or -errno
 */
int helper_record_add(const char *path, const char *name, int fd);

#endif
