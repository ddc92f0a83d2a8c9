/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_INST_H
#define DAEMON_INST_H

/*
 * DOC: An instance
 *
 * What one `uipoib run` or `uipoib demo` holds: fabrics with their managers, the CA ports
 * in use, hosts (namespaces) and interfaces, all on one loop. The layers meet only here:
 *
 *	inst_fabric	topology -> fabric, SM, SA, capture; a ca_soft_hca for each CA
 *	inst_port	a CA port in use: ca, SA client
 *	inst_udp	a link of a fabric over UDP
 *	inst_host	a namespace
 *	inst_iface	TAP + eth + ipoib + QPs
 *
 * Life of a packet through these: iface_tx_ready() (TAP) -> eth_tx() -> iface_post() ->
 * ca_post_send() -> fabric_run() in inst_settle() -> iface_rx() -> eth_rx() ->
 * iface_deliver() (TAP).
 */

#include "ca/ca_soft.h"
#include "daemon/conf.h"
#include "daemon/loop.h"
#include "eth/eth.h"
#include "fabric/capture.h"
#include "fabric/fabric.h"
#include "ipoib/ipoib.h"
#include "netdev/helper.h"
#include "netdev/tap.h"
#include "sac/sac.h"
#include "sm/sm.h"
#include "util/log.h"

#define INST_NAME_MAX 32
#define INST_ERR_MAX 768
#define HOST_NO_NS UINT32_MAX
#define INST_PKTS 32768
#define INST_BUFS 1024 /* of PKT_BUF_SIZE; memory is touched on use only */

struct inst;
struct inst_sm;
struct udp_rx;
struct ibsim_net;

struct inst_port {
	struct list link; /* in inst.ports */
	struct inst *inst;
	struct inst_fabric *fab;
	struct fabric_node *node;
	uint8_t num;
	struct ca *ca;
	struct sac *sac;
	struct list ifaces; /* struct inst_iface.on_port */
	bool dirty; /* attributes are to be read again */
	bool rereg; /* ClientReregister was seen */
};

struct inst_fabric {
	struct inst *inst;
	char name[CONF_NAME_MAX];
	struct fabric *fabric;
	struct ca_soft_hca **soft; /* by node index; NULL: a switch */
	struct list sms; /* struct inst_sm.link, daemon/fab_sm.h; empty: external, or stopped */
	uint64_t sm_key; /* of all of them */
	struct conf_mkey mkey; /* likewise */
	char *topology_file; /* NULL: made by the demo */
	char *partitions_file; /* the last that was loaded; NULL: none */
	enum conf_crc crc;
	ns_t up_at; /* first SUBNET UP; 0 before */
	struct list captures; /* struct capfile.link, daemon/capfile.h */
	bool traced; /* `trace` runs */
	struct ibsim_net *ibsim; /* daemon/ibsim.h; NULL: not served */
};

struct inst_host {
	struct list link; /* in inst.hosts */
	struct inst *inst;
	char name[CONF_NAME_MAX]; /* "" the caller's own */
	char netns[256]; /* as configured; "": none said */
	uint32_t ns; /* handle of the helper, HOST_NO_NS: none yet */
	bool anonymous;
	struct netdev_ns_files files;
	struct loop_fd events;
	struct list ifaces; /* struct inst_iface.on_host */
	struct inst_port *port; /* of its first interface: where its SMPs and tools sit */
};

/* A queue pair of an interface; the context of its ca_qp. */
struct inst_qp {
	struct list rx_link; /* in inst.rx_ready */
	struct list link; /* in inst_iface.station_qps */
	struct inst_iface *iface;
	struct eth_station *station; /* NULL: the interface's own */
	struct ca_qp *ca; /* NULL: not made yet */
};

struct inst_iface {
	struct list link; /* in inst.ifaces */
	struct list on_port, on_host;
	struct inst *inst;
	struct inst_host *host;
	struct inst_port *port;
	char name[IFNAMSIZ];
	uint16_t pkey;
	struct conf_addr addr[CONF_ADDRS_MAX];
	unsigned int naddrs;
	unsigned int mtu; /* as configured, 0: the link's */
	uint32_t qpn; /* as configured, 0: iface_qpn_hint() makes one */

	struct tap tap;
	struct loop_fd tap_fd;
	int ifindex;
	uint8_t mac[6];
	bool kernel_up; /* IFF_UP */
	bool carrier;
	bool token_said, token_set;
	bool ip6_set; /* the fe80:: address was added */
	bool tx_blocked; /* the TAP is not read: the send queue is full */
	struct ipoib_link *ipoib;
	struct eth_if *eth;
	struct inst_qp qp; /* its own */
	struct list station_qps; /* struct inst_qp.link */
	uint16_t qp_pkey_index; /* of all of them, as the link last said */
	uint32_t qp_qkey;
	uint64_t tap_write_errors;
	struct timer groups_timer; /* reconciles groups with the kernel's lists */
};

/* Somebody who looks at the instance after each settle; see inst_watch(). */
struct inst_watch {
	struct list link;
	void (*fn)(struct inst_watch *w, ns_t now);
	/* A port's event, from inside the HCA: take note, nothing else. May be NULL. */
	void (*port)(struct inst_watch *w, struct inst_port *p, enum ca_event ev, ns_t now);
	/* A subnet manager of ours is about to start, or to end: take note, nothing else. May be NULL. */
	void (*sm)(struct inst_watch *w, struct inst_sm *m, bool comes);
};

struct inst_cfg {
	char name[INST_NAME_MAX];
	struct log_sink log;
	bool log_packets;
};

struct inst {
	struct inst_cfg cfg;
	struct loop loop;
	struct pkt_pool *pool;
	struct tap_rx tap_rx;
	struct netdev_helper *helper;
	struct inst_fabric **fab;
	unsigned int nfabs;
	struct list ports, hosts, ifaces;
	struct list udps; /* struct inst_udp.link, daemon/udplink.h */
	struct udp_rx *udp_rx; /* made with the first of them */
	bool udp_buf_said;
	struct list rx_ready; /* struct inst_qp.rx_link: those that have something to poll */
	struct list watches; /* struct inst_watch.link */
	bool ports_dirty;
	bool env_lacks; /* what failed is the environment's fault: exit status 3 */
	bool broken; /* the loop ended because it could not go on */
	unsigned int capture_ids; /* last one given */
	ns_t started, unix_epoch; /* Unix time at which the loop's clock was 0 */
	struct loop_fd helper_fd;
	struct loop_fd signal_fd;
	struct ctl *ctl; /* daemon/ctl.h; NULL: none */
	struct inst_umad *umad; /* daemon/umad.h; NULL: none */
};

/**
 * inst_create() - An instance without fabrics: loop, packet pool, helper process
 * @err:	what the environment lacks, on failure
 *
 * Forks: call it before anything starts threads.
 * Return: 0 or -errno
 */
int inst_create(struct inst **ret, const struct inst_cfg *cfg, char err[INST_ERR_MAX]);

/* inst_destroy() - Leave groups, tell the SA, remove everything; NULL is accepted */
void inst_destroy(struct inst *in);

/*
 * inst_refused() - The helper refused something for @what: tell so in @err, and note if that is the
 * environment's fault. Returns @status
 */
int inst_refused(struct inst *in, int status, const char *what, char err[INST_ERR_MAX]);

/* inst_settle() - struct loop.settle: timers, packets, actions; true: there is more to do */
bool inst_settle(void *ctx, ns_t now);

/**
 * inst_load() - Everything a configuration says
 * @topo:	topology of the first fabric, instead of its file; NULL: the file
 *
 * Return: 0; -EINVAL and the like with @err
 */
int inst_load(struct inst *in, const struct conf *c, const struct topo *topo,
	      char err[INST_ERR_MAX]);

/*
 * inst_watch() - Call w->fn at the end of each settle from now on. It may unwatch itself, and
 * answer control requests; nothing else.
 */
void inst_watch(struct inst *in, struct inst_watch *w);
/* inst_unwatch() - No effect on one that was zeroed, or unwatched already */
void inst_unwatch(struct inst_watch *w);
/* inst_port_event() - Tell those who watch */
void inst_port_event(struct inst_port *p, enum ca_event ev, ns_t now);

void inst_sm_came(struct inst_sm *m);
void inst_sm_goes(struct inst_sm *m);

/* inst_up() - All interfaces are up; what the first one waits for goes to @why if not NULL */
bool inst_up(const struct inst *in, char why[INST_ERR_MAX]);

struct inst_fabric *inst_fabric_find(struct inst *in, const char *name);
struct inst_host *inst_host_find(struct inst *in, const char *name);
/* inst_iface_find() - By NAME or NAME@HOST; NULL: none, or NAME alone is not unique */
struct inst_iface *inst_iface_find(struct inst *in, const char *name);

#endif
