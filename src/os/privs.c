/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/privs.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

/*
 * Tell whether the process has any permitted capability. After a change of user with
 * PR_SET_KEEPCAPS, capabilities are permitted but not effective. capng_have_capabilities() checks
 * only effective capabilities.
 */
static bool any_permitted(void)
{
	for (unsigned int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (capng_have_capability(CAPNG_PERMITTED, cap))
			return true;
	return false;
}

/* Keep those of the @n capabilities @caps that the process has, and drop all others for good. */
static int keep_caps(const unsigned int *caps, unsigned int n)
{
	bool have[8] = { false }, bounds;

	if (capng_get_caps_process())
		return -EIO;
	if (!any_permitted())
		return 0;
	for (unsigned int i = 0; i < n; i++)
		have[i] = capng_have_capability(CAPNG_PERMITTED, caps[i]);
	/*
	 * Only CAP_SETPCAP allows lowering the bounding set. Without CAP_SETPCAP, no_new_privs
	 * alone keeps programs from regaining capabilities.
	 */
	bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	capng_clear(CAPNG_SELECT_BOTH);
	for (unsigned int i = 0; i < n; i++) {
		if (have[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, caps[i]);
	}
	return capng_apply(bounds ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

int privs_drop_caps(uint32_t flags)
{
	static const unsigned int raw[] = { CAP_NET_RAW };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return keep_caps(raw, flags & PRIVS_NET_RAW ? 1 : 0);
}

int privs_drop_bounds(void)
{
	if (capng_get_caps_process())
		return -EIO;
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS) ? -EPERM : 0;
}

int privs_helper_caps(void)
{
	static const unsigned int caps[] = {
		CAP_NET_ADMIN, CAP_SYS_ADMIN, /* setns, unshare, mount */
		CAP_SYS_PTRACE, /* for opening /proc/N/ns/net of other users' processes */
		CAP_MKNOD, /* for device files of RDMA devices */
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return keep_caps(caps, sizeof(caps) / sizeof(caps[0]));
}

int privs_helper_seal(uint32_t flags)
{
	unsigned int caps[3] = { CAP_NET_ADMIN }, n = 1;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (flags & ~(uint32_t)PRIVS_HELPER_MKNOD)
		caps[n++] = CAP_SYS_ADMIN;
	if (flags & PRIVS_HELPER_MKNOD)
		caps[n++] = CAP_MKNOD;
	err = keep_caps(caps, n);
	/*
	 * AddressSanitizer queries the signal stack when a process ends, and aborts if the filter
	 * forbids the call, so a build with AddressSanitizer gets no filter.
	 */
	return err || PRIVS_SANITIZED ? err : privs_helper_seccomp(flags);
}
