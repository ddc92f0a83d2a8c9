/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_USERNS_H
#define OS_USERNS_H

/*
 * userns_map() - Map the caller's user and group to one id each in the user namespace that the
 * caller has just made by unshare(2)
 * @uid_in, @gid_in:	ids inside the namespace
 * @uid, @gid:		effective ids of the caller before unshare()
 *
 * All other ids stay unmapped. Source: user_namespaces(7).
 * Return: 0 or -errno
 */
int userns_map(unsigned int uid_in, unsigned int uid, unsigned int gid_in, unsigned int gid);

#endif
