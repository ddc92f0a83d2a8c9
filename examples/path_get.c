/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks the library libuipoib-path for the path to an IP address, and prints this path:
 *
 *	cc -o path_get path_get.c $(pkg-config --cflags --libs libuipoib-path)
 *	uipoib exec h1 ./path_get 10.4.0.2
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <uipoib/path.h>

int main(int argc, char **argv)
{
	struct ipoib_path_info info = { .sin_family = AF_INET };
	char gid[INET6_ADDRSTRLEN];
	struct ipoib_path *path;
	int err;

	if (argc != 2 || (inet_pton(AF_INET, argv[1], info.addr.v4_addr) != 1 &&
			  inet_pton(info.sin_family = AF_INET6, argv[1], info.addr.v6_addr) != 1)) {
		fprintf(stderr, "usage: path_get ADDRESS\n");
		return 2;
	}
	path = ipoib_path_open(NULL, NULL);
	if (!path) {
		perror("ipoib_path_open");
		return 1;
	}
	err = ipoib_path_query(path, &info, 0);
	ipoib_path_close(path);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(err));
		return 1;
	}
	inet_ntop(AF_INET6, info.dest_gid, gid, sizeof(gid));
	printf("%s: GID %s, LID %u, P_Key 0x%04x, SL %u\n", argv[1], gid, ntohs(info.dest_lid),
	       ntohs(info.pkey), ntohs(info.service_level));
	return 0;
}
