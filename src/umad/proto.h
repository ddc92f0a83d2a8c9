/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_PROTO_H
#define UMAD_PROTO_H

/*
 * DOC: The protocol between libuipoib-umad.so and the daemon
 *
 * The preloaded library gives a program the devices and files of the kernel's ib_umad. It redirects
 * /dev/infiniband/umadN, issmN and files below /sys/class/infiniband and /sys/class/infiniband_mad
 * to the daemon. The file descriptor that such a program gets is a SOCK_SEQPACKET connection to the
 * socket that UIPOIB_UMAD names. The name is a path, because a path can be reached from every
 * network namespace. Because the descriptor is a socket, poll(), dup() and fork() work without
 * further code. The daemon sees an end of file when the last copy of the descriptor is closed, also
 * after kill -9.
 *
 *	connection	first message		then
 *	UMAD_KIND_MAD	hello			register, unregister, send ->   <- mad
 *	UMAD_KIND_ISSM	hello			nothing; IsSM is set while the connection is open
 *	UMAD_KIND_ATTR	hello			one path ->   <- its content; both close
 *
 * Every message starts with struct umad_msg. Integers are in host byte order, because both sides
 * run on the same machine. The answer to the hello is the first message from the daemon. Afterwards
 * MADs may arrive on the connection at any time. So a register or unregister request carries a
 * socket (SCM_RIGHTS), and the daemon sends the answer to this socket. The library can then wait in
 * ioctl() for the answer without reading MADs.
 *
 * A MAD is the kernel's struct ib_user_mad, in the layout with pkey_index (Documentation/
 * infiniband/user_mad.rst). Its data follow in the message, or, if they are longer than
 * UMAD_INLINE_MAX, in a memfd that is sent with the message.
 */

#include <stdint.h>

#define UMAD_VERSION 1
#define UMAD_INLINE_MAX 65536 /* octets of data in the message itself */
/* largest number of octets of one MAD, equal to mad_ep_limits.max_rmpp_len */
#define UMAD_DATA_MAX (96u << 20)
#define UMAD_NAME_MAX 64
#define UMAD_PATH_MAX 256
#define UMAD_ATTR_MAX 65536 /* largest number of octets of a file, or of the names in a directory */

/* Environment variables that `uipoib exec` sets for the program that it starts. */
#define UMAD_ENV_SOCKET "UIPOIB_UMAD"
#define UMAD_ENV_HOST "UIPOIB_HOST"
#define UMAD_ENV_NODE "UIPOIB_NODE"

enum umad_kind { UMAD_KIND_MAD = 1, UMAD_KIND_ISSM, UMAD_KIND_ATTR };

enum umad_type {
	UMAD_HELLO = 1, /* struct umad_hello; answered by UMAD_RESULT */
	UMAD_REGISTER, /* struct umad_register and a socket, over which UMAD_RESULT is returned */
	/* struct umad_unregister and a socket, over which UMAD_RESULT is returned */
	UMAD_UNREGISTER,
	UMAD_MAD, /* struct umad_mad, both directions */
	UMAD_ATTR, /* struct umad_attr; answered by UMAD_CONTENT */
	UMAD_CONTENT, /* struct umad_content */
	UMAD_RESULT, /* struct umad_result */
};

struct umad_msg {
	uint32_t type; /* enum umad_type */
	/* octets of the message including this header, but without the octets in a memfd */
	uint32_t len;
};

/*
 * Selects what the program sees. The first line that applies is used:
 *	.node is not empty	only the CA or switch with this name
 *	.host is not empty	the CAs of this host's interfaces, in the order of the interfaces
 *	both are empty		as with .host, for the only host of the instance
 */
struct umad_hello {
	struct umad_msg msg;
	uint32_t version;
	uint32_t kind; /* enum umad_kind */
	/*
	 * the N of umadN or issmN, which counts the ports of all CAs; unused for kind ATTR
	 */
	uint32_t dev;
	char host[UMAD_NAME_MAX]; /* zero-terminated, may be "" */
	/* name of a CA or switch, zero-terminated, may be "" */
	char node[UMAD_NAME_MAX];
};

struct umad_result {
	struct umad_msg msg;
	int32_t err; /* 0 or -errno */
	uint32_t id; /* id of the agent that was registered or unregistered */
};

/* The fields of the kernel's struct ib_user_mad_reg_req2. */
struct umad_register {
	struct umad_msg msg;
	uint32_t qpn;
	uint32_t flags; /* 0 or IB_USER_MAD_USER_RMPP */
	uint64_t methods[2];
	uint32_t oui;
	uint8_t mgmt_class, class_version, rmpp_version, reserved;
};

struct umad_unregister {
	struct umad_msg msg;
	uint32_t id;
	uint32_t reserved;
};

/* A MAD. From .id on the layout is that of the kernel's struct ib_user_mad_hdr. */
struct umad_mad {
	struct umad_msg msg;
	/* octets of the MAD, which follow this struct in the message, or are in the memfd */
	uint32_t data_len;
	uint32_t id;
	uint32_t status; /* 0; in a request that is returned, an errno such as ETIMEDOUT */
	uint32_t timeout_ms, retries, length;
	uint8_t qpn[4], qkey[4], lid[2]; /* big-endian, as in the kernel's structure */
	uint8_t sl, path_bits, grh_present, gid_index, hop_limit, traffic_class;
	uint8_t gid[16];
	uint8_t flow_label[4];
	uint16_t pkey_index;
	uint8_t reserved[6];
};

struct umad_attr {
	struct umad_msg msg;
	char path[UMAD_PATH_MAX]; /* "class/infiniband/uipoib0/ports/1/lid", zero-terminated */
};

/*
 * Header that precedes the content of a file, or the names in a directory. Each name ends with a
 * NUL.
 */
struct umad_content {
	struct umad_msg msg;
	int32_t err; /* 0, -ENOENT, -EACCES */
	uint32_t dir; /* 1 for a directory, 0 for a file */
	uint32_t data_len; /* octets of content that follow this struct in the message */
};

#endif
