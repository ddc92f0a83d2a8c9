/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/groups.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "groups_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The first octet of the input chooses the address family and the interface index. The second octet
 * chooses the size of the pieces into which the target cuts the text. The groups that are found
 * must not depend on this size.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct netdev_group whole[8] = { 0 }, pieces[8] = { 0 };
	struct groups_parser p;
	size_t n = 0, step;
	int family, ifindex, err;

	if (size < 2)
		return 0;
	family = data[0] & 1 ? AF_INET6 : AF_INET;
	ifindex = data[0] >> 1;
	step = data[1] + 1u;
	data += 2;
	size -= 2;

	err = parse_groups(family, (const char *)data, size, ifindex, whole, 8, &n);
	groups_parser_init(&p, family, ifindex, pieces, 8);
	for (size_t off = 0; off < size; off += step)
		groups_parser_feed(&p, (const char *)data + off,
				   size - off < step ? size - off : step);
	groups_parser_end(&p);
	if (p.err ? err != p.err : n != (p.n < 8 ? p.n : 8))
		abort();
	if (memcmp(whole, pieces, sizeof(whole)))
		abort();
	return 0;
}
