/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_LAB_H
#define TESTS_ALL_LAB_H

/*
 * A whole lab on virtual time: a fabric, an SM with its SA, and on every CA port an IPoIB
 * interface, which runs the same code as in the daemon (src/ifc). In place of a TAP an interface
 * has a queue of frames: lab_send() and lab_frame() add frames to the queue, and a function of the
 * test gets each frame that the interface receives. A lab uses neither network namespaces nor the
 * clock of the machine.
 */

#include "ca/ca_soft.h"
#include "ifc/ifc.h"
#include "fabric/fabric.h"
#include "ipoib/ipoib.h"
#include "sac/sac.h"
#include "partition/partition.h"
#include "sa/sa.h"
#include "sm/sm.h"

struct lab;

struct lab_host {
	struct lab *lab;
	struct fabric_node *node;
	uint8_t port;
	unsigned int index; /* index of the host in lab.host */
	unsigned int restarts;
	struct ca_soft_hca *soft;
	struct ifc_port ca_port;
	struct ifc ifc;
	struct sac *sac; /* borrowed from .ca_port */
	struct ipoib_link *link; /* borrowed from .ifc */
	/* frames that the host has sent and the interface has not read yet */
	struct pkt_queue tap;
	struct ipoib_lladdr addr; /* valid from the first time the interface had carrier */
	enum eth_shape shape;
	/*
	 * Only for the InfiniBand shape: the interface's own address and the MGID of its broadcast
	 * group, as the interface reported them last. Both are zeros before the first report. The
	 * MGID is also zero if the last report had no MGID.
	 * .told: number of these reports; .told_unknown: number of reports without the MGID
	 */
	struct ipoib_lladdr told_own;
	ib_gid told_broadcast;
	unsigned int told, told_unknown;
	unsigned int forgotten; /* number of calls of ifc_ops.lladdr_gone */
	bool carrier;
	uint16_t pkey;
	bool router;
	unsigned int stations; /* largest number of stations behind the TAP */
	unsigned int neighbours; /* largest number of neighbours; 0: the default */
	bool no_tso, no_uso; /* the TAP accepts no super-frames of TCP, or none of UDP */
	/* scope of the MGID of the link's broadcast group; 0: the scope that the profile defines */
	uint8_t scope;
	/*
	 * true: the host runs a SIDR server, which tells other hosts the broadcast group of this
	 * host's partition
	 */
	bool sidr_server;
	const struct ipoib_profile *profile; /* NULL: the default */
};

struct lab {
	struct timers timers;
	struct ifc_set set;
	struct pkt_pool *pool;
	uint64_t seed;
	unsigned int rq_depth;
	struct fabric *f;
	struct sm *sm;
	struct sa *sa;
	bool sidr; /* true: the SM's node tells hosts the broadcast group of a partition by SIDR */
	struct ca_soft_hca **soft; /* indexed by node */
	struct lab_host *host;
	unsigned int nhosts;
	ns_t now;
	struct log_sink log;
	/*
	 * Called for every packet of lab_send() or lab_send_group() that arrives at host @to. @src
	 * is the address of the sender; NULL if @to has no neighbour entry for the sender. @data is
	 * the payload (borrowed)
	 */
	void (*rx)(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		   const uint8_t *data, size_t len);
	/* Gets every received frame (borrowed) in place of .rx; NULL: .rx is called */
	void (*frame)(struct lab *l, struct lab_host *to, const struct eth_frame *f);
	void *ctx;
};

struct lab_cfg {
	const struct topo *topo;
	enum hca_crc crc;
	bool trains; /* as in struct fabric_cfg */
	unsigned int data_depth; /* as in struct fabric_cfg */
	unsigned int rq_depth; /* as in struct ifc_cfg */
	uint64_t seed;
	uint16_t pkey; /* 0: 0xffff */
	unsigned int stations; /* largest number of stations behind each TAP */
	unsigned int routers; /* hosts 0 to .routers - 1 are multicast routers */
	/*
	 * profiles of the hosts with an even index and of those with an odd index; NULL: the
	 * default
	 */
	const struct ipoib_profile *profile[2];
	bool sidr; /* true: the SM's node tells hosts the broadcast group of a partition by SIDR */
	unsigned int sidr_servers; /* hosts 0 to .sidr_servers - 1 have a SIDR server */
	/*
	 * Called with each host before the host is opened. The function may change the host's
	 * .pkey, .profile, .shape, .scope, .router, .neighbours, .no_tso and .no_uso. NULL: nothing is changed
	 */
	void (*setup)(struct lab_host *h, void *ctx);
	void *setup_ctx;
	const char *partitions; /* text of a partitions.conf; NULL: only the default partition */
	const struct sm_cfg *sm; /* NULL: the default configuration */
	bool verbose;
};

/* lab_create() - Create all objects and begin to bring the links up; asserts on failure */
void lab_create(struct lab *l, const struct lab_cfg *cfg);
void lab_destroy(struct lab *l);

/*
 * lab_sm_stop() - Destroy the SM and the SA as if they were killed. Also clear the IsSM bit of
 * their port
 *
 * lab_sm_start() - Create a new SM and a new SA
 */
void lab_sm_stop(struct lab *l);
void lab_sm_start(struct lab *l, const struct sm_cfg *cfg, const char *partitions);
/* lab_partitions() - Load another partitions.conf into the running SM */
void lab_partitions(struct lab *l, const char *text);

/*
 * lab_host_restart() - Destroy the host's interface as if it were killed, so that the interface
 * does not leave its groups, and create the interface again with another QPN
 */
void lab_host_restart(struct lab_host *h);
/*
 * lab_host_close(), lab_host_open() - lab_host_restart() in two steps: destroy the interface, and
 * create it again. A host that is closed must be opened again before lab_destroy()
 */
void lab_host_close(struct lab_host *h);
void lab_host_open(struct lab_host *h);

/* lab_run() - Let @d of virtual time pass */
void lab_run(struct lab *l, ns_t d);

/* lab_all_up() - Tell whether all hosts i with want[i] have carrier; @want NULL: all hosts */
bool lab_all_up(const struct lab *l, const bool *want);

/*
 * lab_send(), lab_send_group() - Put an IPv4 packet (protocol 253) with the payload @data into the
 * TAP of host @from. The destination is the host @to or the group @group. The packet leaves in the
 * next lab_run(). If the profile of @from does not carry IPv4, the packet is an IPv6 packet, and
 * its group is ff0e::/96 followed by the 32 bits of @group
 */
void lab_send(struct lab_host *from, const struct lab_host *to, const void *data, size_t len);
void lab_send_group(struct lab_host *from, const uint8_t group[4], const void *data, size_t len);
/*
 * lab_receive(), lab_receive_not() - Let the host join or leave the group @group, to which other
 * hosts send by lab_send_group()
 */
void lab_receive(struct lab_host *h, const uint8_t group[4]);
void lab_receive_not(struct lab_host *h, const uint8_t group[4]);
/* lab_ip_len() - Length of the IP header of the packets that the host sends */
size_t lab_ip_len(const struct lab_host *h);

/*
 * lab_frame() - Put the frame @p into the host's TAP, and take @p over. The frame begins with the
 * link header of the host's shape (Ethernet or InfiniBand)
 */
void lab_frame(struct lab_host *from, struct pkt *p);
/*
 * The link header of frames in the host's shape: lab_head_len() returns its length, and
 * lab_head_type() returns the ethertype of the header @b. lab_put_head() writes a header with the
 * destination @dst and the host's own address as source
 */
size_t lab_head_len(const struct lab_host *h);
uint16_t lab_head_type(const struct lab_host *h, const uint8_t *b);
void lab_put_head(const struct lab_host *h, uint8_t *b, const uint8_t *dst, uint16_t type);
/*
 * lab_own_hw(), lab_broadcast_hw() - Write the host's own hardware address, or the broadcast
 * address of its link. An address has 6 octets in the Ethernet shape, and 20 in the InfiniBand
 * shape
 */
void lab_own_hw(const struct lab_host *h, uint8_t *ret);
void lab_broadcast_hw(const struct lab_host *h, uint8_t *ret);
/*
 * lab_mac() - Return the MAC address that stands for @to in the frames of the TAP of @from (the
 * token of @to); only for a lab whose interfaces are of the Ethernet shape
 */
const uint8_t *lab_mac(struct lab_host *from, const struct lab_host *to);

#endif
