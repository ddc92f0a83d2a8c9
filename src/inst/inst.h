/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_INST_H
#define INST_INST_H

/*
 * DOC: An instance
 *
 * The objects of one `uipoib run` or `uipoib demo`: fabrics with their managers, the CA ports in use, hosts
 * (namespaces) and interfaces, all on one loop. These objects connect the layers below inst/:
 *
 *	inst_fabric	topology -> fabric, capture; a ca_soft_hca for each CA	inst/fab.h
 *	inst_sm		a subnet manager and its SA, on a port of a fabric	inst/fab_sm.h
 *	inst_port	a CA port in use (struct ifc_port)			inst/port.h
 *	inst_udp	a link of a fabric over UDP				inst/udplink.h
 *	inst_host	a namespace						inst/host.h
 *	inst_iface	a TAP and an interface (struct ifc) behind it		inst/iface.h
 *	by_pkey		the interfaces of a port's P_Keys			inst/by_pkey.h
 *
 * The way of a packet through these objects: tap_readable() -> ifc_transmit() in inst_work() -> read_tap() ->
 * eth_tx() -> ifc_post() -> ca_post_send() -> fabric_run() -> ifc_work() -> eth_rx() -> on_deliver() (TAP).
 */

#include "capfile/capfile.h"
#include "conf/conf.h"
#include "helper/helper.h"
#include "ifc/ifc.h"
#include "inst/neigh_dump.h"
#include "netdev/tap.h"
#include "os/loop.h"
#include "os/yield.h"
#include "util/log.h"

#define INST_NAME_MAX 32
#define INST_ERR_MAX 768
#define INST_PKTS 32768
/*
 * Number of buffers of PKT_BUF_SIZE octets in the packet pool; a buffer takes physical memory only
 * after its first use
 */
#define INST_BUFS 1024

struct inst;
struct inst_fabric;
struct inst_host;
struct inst_iface;
struct inst_port;
struct inst_sm;
struct topo;
struct udp_rx;

/* A set of functions that are called at certain events; see inst_watch() */
struct inst_watch {
	struct list link;
	/* called at the end of each inst_work(); may be NULL */
	void (*fn)(struct inst_watch *w, ns_t now);
	/*
	 * Called for an event of a port, inside the CA's callback, so the function may only record
	 * the event. May be NULL.
	 */
	void (*port)(struct inst_watch *w, struct inst_port *p, enum ca_event ev, ns_t now);
	/*
	 * Called when a subnet manager of this instance is about to start (@comes) or to end. The function may
	 * only record the event, and may be NULL.
	 */
	void (*sm)(struct inst_watch *w, struct inst_sm *m, bool comes);
	/*
	 * Called when the namespace of a host is open again (@comes), or was deleted
	 * (inst/host_follow.h). May be NULL.
	 */
	void (*host)(struct inst_watch *w, struct inst_host *h, bool comes);
	/*
	 * Called when an interface was added because its P_Key came into the port's table, or is about to be
	 * removed because its P_Key left the table (inst/by_pkey.h). May be NULL.
	 */
	void (*iface)(struct inst_watch *w, struct inst_iface *i, bool comes, ns_t now);
};

struct inst_cfg {
	char name[INST_NAME_MAX];
	struct log_sink log;
	/* function that the helper process calls as its last action; NULL: none */
	const struct netdev_helper_end *at_end;
};

/* All links over UDP of the instance (inst/udplink.h) */
struct udp_links {
	struct list links; /* list of struct inst_udp */
	struct udp_rx *rx; /* buffers for received datagrams; made together with the first link */
	/* true if the log has a line about a small receive buffer; only one link logs this */
	bool small_buffer_logged;
};

struct inst {
	struct inst_cfg cfg;
	struct loop loop;
	struct pkt_pool *pool;
	struct tap_rx tap_rx;
	struct netdev_helper *helper;
	/* list of struct inst_helper: helper processes of the hosts that a reload has added */
	struct list more_helpers;
	struct inst_fabric **fab;
	unsigned int nfabs;
	/* state that the interfaces (struct ifc) of .ifaces and the ports of .ports share */
	struct ifc_set ifcs;
	struct list ports; /* list of struct inst_port */
	uint64_t ports_added; /* number of ports that were ever added to .ports */
	/* descriptor of the folder of the device files of .ports, see netdev_rdma_add(); -1: none */
	int rdma_folder;
	struct list hosts; /* list of struct inst_host */
	struct list ifaces; /* list of struct inst_iface */
	struct list by_pkeys; /* list of struct by_pkey: inst/by_pkey.h */
	struct udp_links udps;
	struct yield yield; /* to the readers of TAPs */
	struct neigh_dumps neigh_dumps;
	struct list watches; /* list of struct inst_watch */
	uint64_t
		link_changes; /* number of changes of a link's state, or of an interface's carrier */
	/* true after a failure whose cause is the environment; the exit status is then 3 */
	bool env_lacks;
	bool broken; /* true if the loop ended because of a failure */
	struct capfiles captures;
	ns_t started, unix_epoch; /* .unix_epoch is the Unix time at which the loop's clock was 0 */
	struct loop_fd helper_fd;
	/*
	 * inotify watch of the folders with the names of namespaces; .fd is -1 until a host needs
	 * it (inst/host_follow.h)
	 */
	struct loop_fd netns_watch;
};

/*
 * inst_init() - Initialize @in without a loop, packet pool and helper, which is enough for some tests and needs
 * no inst_destroy()
 */
void inst_init(struct inst *in, const struct inst_cfg *cfg);

/**
 * inst_create() - Make an instance with its loop, packet pool and helper process, but without fabrics
 * @err:	message on failure; it names what is missing in the environment
 *
 * This function forks the helper process, so call it before any thread is started.
 * Return: 0 or -errno
 */
int inst_create(struct inst **ret, const struct inst_cfg *cfg, char err[INST_ERR_MAX]);

/*
 * inst_leave() - Leave groups and subscriptions at the SA, which would otherwise keep them
 *
 * Call this function before inst_destroy(), while management programs are still served, because one
 * of them may be the SA. An SA that does not answer delays the call by half a second.
 */
void inst_leave(struct inst *in);

/* inst_destroy() - Remove everything; NULL is accepted */
void inst_destroy(struct inst *in);

/* A sealed helper process that the supervisor has started for the interfaces that a reload added */
struct inst_helper {
	struct list link;
	struct inst *inst;
	struct netdev_helper *helper;
	struct loop_fd fd;
};

/* inst_helper_add() - Handle the answers of @helper, and own it on success. Return: 0 or -errno */
int inst_helper_add(struct inst *in, struct netdev_helper *helper);
/* inst_helper_trim() - End those helpers of inst_helper_add() to which no host belongs any more */
void inst_helper_trim(struct inst *in);

/*
 * inst_refused() - Write to @err that the helper process refused a request for @what
 *
 * Sets in->env_lacks if the environment is the cause. Returns @status
 */
int inst_refused(struct inst *in, int status, const char *what, char err[INST_ERR_MAX]);

/*
 * inst_work() - Run timers, and process packets and actions; this is the function loop.work.
 * Return: true if work is left
 */
bool inst_work(void *ctx, ns_t now);

/**
 * inst_load() - Make the fabrics, links, hosts and interfaces of a configuration
 * @topo:	topology of the first fabric, used instead of its file; NULL to read the file
 *
 * Return: 0; -EINVAL or another -errno, with a message in @err
 */
int inst_load(struct inst *in, const struct conf *c, const struct topo *topo,
	      char err[INST_ERR_MAX]);

/*
 * inst_watch() - Call w->fn at the end of each inst_work() from now on
 *
 * w->fn may do no more than call inst_unwatch() for @w and answer control requests.
 */
void inst_watch(struct inst *in, struct inst_watch *w);
/*
 * inst_unwatch() - End inst_watch(); has no effect on a zeroed watch or on one that has been
 * removed
 */
void inst_unwatch(struct inst_watch *w);
/* inst_port_event() - Call the function .port of all watches */
void inst_port_event(struct inst_port *p, enum ca_event ev, ns_t now);

/* inst_sm_came(), inst_sm_goes() - Call the function .sm of all watches, with @comes = true or @comes = false */
void inst_sm_came(struct inst_sm *m);
void inst_sm_goes(struct inst_sm *m);
/* inst_host_event() - Call the function .host of all watches */
void inst_host_event(struct inst_host *h, bool comes);
/* inst_iface_event() - Call the function .iface of all watches */
void inst_iface_event(struct inst_iface *i, bool comes, ns_t now);

/*
 * inst_up() - Tell whether all interfaces are up; if not, @why (unless NULL) gets the state of the first interface
 * that is not up
 */
bool inst_up(const struct inst *in, char why[INST_ERR_MAX]);
/* inst_iface_up() - Tell whether the interface is up; @why as in inst_up() */
bool inst_iface_up(const struct inst_iface *i, char why[INST_ERR_MAX]);

struct inst_fabric *inst_fabric_find(struct inst *in, const char *name);
struct inst_host *inst_host_find(struct inst *in, const char *name);
/*
 * inst_iface_find() - Find an interface by NAME or NAME@HOST; NULL if there is none, or if NAME
 * alone is not unique
 */
struct inst_iface *inst_iface_find(struct inst *in, const char *name);

#endif
