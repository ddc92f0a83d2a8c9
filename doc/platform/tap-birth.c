/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A TAP is born in the namespace in which /dev/net/tun was opened, not in that in which
 * TUNSETIFF is called. So a helper that opens the device there and passes the descriptor
 * on would do; netdev/ does both there, so that TUNSETIFF checks the right capability.
 */

#include "platform.h"

int main(void)
{
	int home = here(), there, fd;

	go_new();
	there = here();
	fd = open_tun();
	go(home);
	go_new(); /* a third one, lest a t0 be here already */
	make_tap(fd, 0);
	fact(if_flags("t0") < 0, "no TAP where TUNSETIFF was called");
	go(there);
	fact(if_flags("t0") >= 0, "the TAP is where /dev/net/tun was opened");
	close(fd);
	fact(if_flags("t0") < 0, "it ends with its last descriptor");
	return done();
}
