/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_PROTO_H
#define UMAD_PROTO_H

/*
 * DOC: What libuipoib-umad.so and the daemon say to each other
 *
 * The preloaded library makes a program believe in the kernel's ib_umad: it redirects
 * /dev/infiniband/umadN, issmN and files below /sys/class/infiniband and
 * /sys/class/infiniband_mad to the daemon. The file descriptor that such a program gets is
 * a SOCK_SEQPACKET connection to the socket UIPOIB_UMAD names (a path: it is reached from every
 * network namespace), so poll(), dup() and fork() work by themselves, and the daemon
 * sees an end of file when the last copy is closed, kill -9 included.
 *
 *	connection	first message		then
 *	UMAD_KIND_MAD	hello			register, unregister, send ->   <- mad
 *	UMAD_KIND_ISSM	hello			nothing: IsSM is set while it is open
 *	UMAD_KIND_ATTR	hello			one path ->   <- its content; both close
 *
 * Every message starts with struct umad_msg; host byte order, same machine. The answer to a
 * hello is the first thing that comes on the connection. MADs may come at any time, so
 * what register and unregister answer goes to the socket that came with the request
 * (SCM_RIGHTS), which makes ioctl() a call without state in the library.
 *
 * A MAD is the kernel's struct ib_user_mad, in the layout with pkey_index (Documentation/
 * infiniband/user_mad.rst); its data follow inline, or, if longer than UMAD_INLINE_MAX, in
 * a memfd that comes with the message.
 */

#include <stdint.h>

#define UMAD_VERSION 1
#define UMAD_INLINE_MAX 65536 /* octets of data in the message itself */
#define UMAD_DATA_MAX (96u << 20) /* octets of one MAD, as struct mad_ep_limits has by default */
#define UMAD_NAME_MAX 64
#define UMAD_PATH_MAX 256
#define UMAD_ATTR_MAX 65536 /* octets of a file or of a directory's names */

/* What `exec` sets for the program it starts. */
#define UMAD_ENV_SOCKET "UIPOIB_UMAD"
#define UMAD_ENV_HOST "UIPOIB_HOST"
#define UMAD_ENV_NODE "UIPOIB_NODE"

enum umad_kind { UMAD_KIND_MAD = 1, UMAD_KIND_ISSM, UMAD_KIND_ATTR };

enum umad_type {
	UMAD_HELLO = 1, /* struct umad_hello; answered by UMAD_RESULT */
	UMAD_REGISTER, /* struct umad_register and a socket; answered there by UMAD_RESULT */
	UMAD_UNREGISTER, /* struct umad_unregister and a socket; the same */
	UMAD_MAD, /* struct umad_mad, both directions */
	UMAD_ATTR, /* struct umad_attr; answered by UMAD_CONTENT */
	UMAD_CONTENT, /* struct umad_content */
	UMAD_RESULT, /* struct umad_result */
};

struct umad_msg {
	uint32_t type; /* enum umad_type */
	uint32_t len; /* octets of the message, this included; not of a memfd */
};

/*
 * Whose MADs: the CAs of a host's interfaces in their order, or of one node by name (a CA or a switch);
 * neither: the only host. @dev is the N of umadN or issmN: ports counted through all CAs.
 */
struct umad_hello {
	struct umad_msg msg;
	uint32_t version;
	uint32_t kind; /* enum umad_kind */
	uint32_t dev; /* kinds MAD and ISSM */
	char host[UMAD_NAME_MAX]; /* zero-terminated, may be "" */
	char node[UMAD_NAME_MAX]; /* zero-terminated, may be "" */
};

struct umad_result {
	struct umad_msg msg;
	int32_t err; /* 0 or -errno */
	uint32_t id; /* of the agent registered */
};

/* ib_user_mad_reg_req2 */
struct umad_register {
	struct umad_msg msg;
	uint32_t qpn;
	uint32_t flags; /* IB_USER_MAD_USER_RMPP */
	uint64_t methods[2];
	uint32_t oui;
	uint8_t mgmt_class, class_version, rmpp_version, reserved;
};

struct umad_unregister {
	struct umad_msg msg;
	uint32_t id;
	uint32_t reserved;
};

/* ib_user_mad_hdr */
struct umad_mad {
	struct umad_msg msg;
	uint32_t data_len; /* inline behind this, or in the memfd */
	uint32_t id;
	uint32_t status; /* errno: ETIMEDOUT with the MAD that was sent */
	uint32_t timeout_ms, retries, length;
	uint8_t qpn[4], qkey[4], lid[2]; /* big-endian, as in the kernel's */
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

/* Content of a file, or the names in a directory, each with a final zero. */
struct umad_content {
	struct umad_msg msg;
	int32_t err; /* 0, -ENOENT, -EACCES */
	uint32_t dir; /* 1: a directory */
	uint32_t data_len; /* octets that follow */
};

#endif
