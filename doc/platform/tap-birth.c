/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A TAP is created in the namespace in which /dev/net/tun was opened, not in the one in which
 * TUNSETIFF is called. So a helper could open the device in a host's namespace, and pass the
 * descriptor to a process outside, which calls TUNSETIFF. But src/netdev opens the device and calls
 * TUNSETIFF in the host's namespace, so that TUNSETIFF checks the caller's capability for this
 * namespace.
 */

#include "platform.h"

int main(void)
{
	int home = here(), there, fd;

	go_new();
	there = here();
	fd = open_tun();
	go(home);
	go_new(); /* a third namespace, because the namespace home may already have a t0 */
	make_tap(fd, 0);
	fact(if_flags("t0") < 0, "no TAP where TUNSETIFF was called");
	go(there);
	fact(if_flags("t0") >= 0, "the TAP is where /dev/net/tun was opened");
	close(fd);
	fact(if_flags("t0") < 0, "it ends with its last descriptor");
	return done();
}
