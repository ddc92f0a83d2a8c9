/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_PRIV_H
#define SM_PRIV_H

/*
 * What the files of sm/ share and nobody else sees.
 *
 *	sm.c       creation, listeners, incoming SMPs and traps
 *	sweep.c    heavy sweeps: one stage after the other; light sweeps
 *	elect.c    SMInfo: who is master
 *	discover.c nodes, ports, links            -> struct sm_db *next
 *	lid.c      LIDs
 *	port.c     PortInfo: addresses, MTU, arm, activate
 *	pkey.c     P_Key tables                   qos.c  SLtoVL tables
 *	route.c    min-hop LFTs                   lft.c LFT writes
 *	fdb.c      what switches acknowledged
 *	mcast.c    spanning trees and MFT writes  group.c groups and members
 *	partition.c, partition_{lex,parse,finish,apply}.c
 *	learn.c    tables that are read when the SA is asked for them
 *	mkey.c     ports that have another M_Key; leases
 *	pace.c     how often traps may cause something
 */

#include "sm/db.h"
#include "sm/fdb.h"
#include "sm/group.h"
#include "sm/pace.h"
#include "sm/partition.h"
#include "sm/sm.h"
#include "sm/smpq.h"

#define SM_KICK_DELAY NS_MSEC(10) /* traps come in pairs: both ends of a link */
#define SM_RETRY_MIN NS_SEC(1) /* after a sweep with losses; doubles to the sweep interval */
#define SM_RETRY_MAX NS_SEC(60)
#define SM_SWEEPS_BURST 4 /* that one source of traps gets at once; then one per SubnetTimeOut */
#define SM_REPORTS_BURST 32 /* likewise its traps that are passed on; then 8 per SubnetTimeOut */
#define SM_REST 3 /* times what a sweep took, until traps get another; at most ... */
#define SM_REST_MAX NS_SEC(1)
#define SM_DOWN_INTERVAL NS_SEC(1) /* the SM's own link is down */
#define SM_JOIN_TIMEOUT NS_MSEC(200) /* I17 */
#define SM_HANDOVER_TRIES 3
#define SM_ORDERS_BURST 8 /* Set(SMInfo) that are followed at once; then one a second */
#define SM_KEY_SAID_EVERY NS_SEC(10) /* a line in the log about a wrong SM_Key */

struct sm_lid_slot {
	struct hnode node;
	uint64_t guid;
	uint16_t lid;
	bool configured; /* by sm_cfg.lids */
	bool owed; /* a ClientReregister that it has not acknowledged */
	bool mkey_said; /* that it has another M_Key than ours */
	struct sm_source source;
};

struct sm {
	struct mad_ep *ep;
	struct mad_agent *agent;
	struct timers *timers;
	const struct log_sink *log;
	struct sm_cfg cfg;
	struct list listeners;

	/* sweep.c */
	struct smpq sweepq; /* SMPs of the heavy sweep */
	struct smpq bgq; /* light sweeps, polls, MFT writes of joins */
	struct smpq learnq; /* tables that the SA was asked for */
	enum sm_stage stage; /* SM_STAGE_IDLE: no heavy sweep runs */
	struct sm_sweep sweep, last;
	struct sm_router *router; /* stage ROUTE: LFTs are left to compute */
	struct timer slice; /* the next of them, where nothing is in flight */
	bool advancing; /* inside sweep_advance() */
	bool again; /* something changed while it runs */
	ns_t again_at; /* when the next one is to look at that */
	ns_t rest_until; /* no sweep for a trap before */
	bool incomplete; /* somebody did not answer */
	bool light_changed; /* seen by the light sweep that runs */
	unsigned int light_open;
	ns_t retry_delay;
	struct timer timer; /* next sweep, light or heavy */
	bool timer_heavy;
	uint64_t heavy_sweeps, light_sweeps, traps, traps_many;
	struct sm_source strangers; /* traps from LIDs that nobody has */
	uint64_t smps_total, timeouts_total; /* of the sweeps before this one */

	/* elect.c */
	enum smp_sm_state state;
	uint64_t guid; /* port GUID of our port, 0 before the first discovery */
	uint32_t act_count;
	bool take_over; /* HANDOVER came: be master whoever else is */
	struct sm_other *others;
	uint32_t nothers, others_cap;
	uint64_t master_guid; /* standby: whom we poll; and the way there */
	uint8_t master_nhops, master_path[64];
	unsigned int poll_missed, handover_tries;
	struct timer poll;
	uint64_t handover_guid; /* master: HANDOVER was sent, no ACK yet */
	struct sm_pace orders, key_said; /* of other SMs; wrong SM_Keys in the log */

	/* databases */
	struct sm_db *db; /* published */
	struct sm_db *next; /* of the sweep that runs */
	struct sm_db *routed; /* whichever of both the switches' LFTs follow; MFTs too */
	uint64_t generation;
	struct htab lids; /* struct sm_lid_slot by port GUID */

	/* partition.c, group.c, mcast.c */
	struct sm_partitions *parts;
	bool parts_new; /* changed since the last sweep that reached everybody */
	struct htab groups; /* by MGID */
	struct list group_list;
	struct sm_group **by_mlid; /* [max_mlids] */
	struct list mft_jobs, mft_waits;
	uint64_t mft_seq;
	unsigned int mft_open; /* jobs in flight */

	/* learn.c */
	struct list learn_walks, learn_waits;
	unsigned int learn_queued;
};

/* sm.c */
uint32_t sm_act_count(const struct sm *sm);

/* db.c */
struct sm_db *sm_db_create(uint64_t prefix);
void sm_db_destroy(struct sm_db *db);
/* NULL: no memory */
struct sm_node *sm_db_add_node(struct sm_db *db, const struct smp_node_info *info);
int sm_db_add_port_guid(struct sm_db *db, struct sm_port *p, uint64_t guid);
/* sm_db_drop_port() - A port of a CA is not ours to use; without another, its node is lost */
void sm_db_drop_port(struct sm_db *db, struct sm_port *p);
/* sm_db_drop_lost() - Unlink and free nodes that stopped answering; the SM's own stays */
void sm_db_drop_lost(struct sm_db *db);
int sm_db_index_switches(struct sm_db *db);
uint64_t sm_guid_hash(uint64_t guid);

/* sm.c: logging and listeners */
#define sm_err(sm, ...) log_to((sm)->log, LOG_LVL_ERR, "sm: " __VA_ARGS__)
#define sm_warn(sm, ...) log_to((sm)->log, LOG_LVL_WARN, "sm: " __VA_ARGS__)
#define sm_info(sm, ...) log_to((sm)->log, LOG_LVL_INFO, "sm: " __VA_ARGS__)
#define sm_dbg(sm, ...) log_to((sm)->log, LOG_LVL_DEBUG, "sm: " __VA_ARGS__)
void sm_emit_state(struct sm *sm, ns_t now);
void sm_emit_stage(struct sm *sm, ns_t now);
void sm_emit_port(struct sm *sm, const ib_gid *gid, bool in_service, ns_t now);
void sm_emit_group(struct sm *sm, const struct sm_group *g, bool created, ns_t now);

/* smp command helpers, db.c: whom to send to */
struct smp_cmd sm_cmd_node(struct sm_node *n, uint8_t method, uint16_t attr, uint32_t mod,
			   smp_done_fn *done);
/* Tables of a CA port are those of the port that the SMP arrives at. */
struct smp_cmd sm_cmd_port(struct sm_port *p, uint8_t method, uint16_t attr, uint32_t mod,
			   smp_done_fn *done);
/* sm_lost() - @n does not answer: leave it out of this sweep */
void sm_lost(struct sm *sm, struct sm_node *n, const char *what);
void sm_refused(struct sm *sm, const struct smp_cmd *cmd, const char *what);

/* Stages: each queues SMPs on sm->sweepq; the next one starts when it is idle. */
int sm_discover_start(struct sm *sm, ns_t now);
int sm_discover_finish(struct sm *sm);
void sm_elect_start(struct sm *sm, ns_t now);
int sm_lid_assign(struct sm *sm);
void sm_ports_start(struct sm *sm, ns_t now);
void sm_pkeys_read(struct sm *sm, ns_t now);
void sm_pkeys_start(struct sm *sm, ns_t now);
void sm_qos_start(struct sm *sm, ns_t now);
/*
 * sm_route_start() - Compute LFTs and write them, in slices: while sm->router is there sm_route_more() is to
 * be called again, best when the pipeline is idle
 */
int sm_route_start(struct sm *sm, ns_t now);
int sm_route_more(struct sm *sm, ns_t now);
void sm_arm_start(struct sm *sm, ns_t now);
void sm_activate_start(struct sm *sm, ns_t now);

/* sweep.c */
/* sm_smpq_cfg() - What all queues of SMPs of @sm are */
struct smpq_cfg sm_smpq_cfg(struct sm *sm, void (*idle)(void *ctx, ns_t now));
void sm_sweep_init(struct sm *sm);
void sm_sweep_fini(struct sm *sm);
void sm_sweep_request(struct sm *sm, ns_t at);
/* sm_sweep_again() - The same; while one runs, after that */
void sm_sweep_again(struct sm *sm, ns_t at);
void sm_sweep_advance(struct sm *sm, ns_t now);
/* sm_sweep_abort() - Forget the sweep that runs; none is scheduled */
void sm_sweep_abort(struct sm *sm);

/* elect.c */
void sm_elect_init(struct sm *sm);
void sm_elect_fini(struct sm *sm);
/* The stage ELECT has its answers: true to go on as master. */
bool sm_elect_finish(struct sm *sm, ns_t now);
void sm_set_state(struct sm *sm, enum smp_sm_state st, ns_t now);
/* A Get or Set of SMInfo; @mad is turned into its response. false: drop it */
bool sm_elect_recv(struct sm *sm, uint8_t *mad, ns_t now);

/* learn.c */
void sm_learn_init(struct sm *sm);
void sm_learn_fini(struct sm *sm);
/* sm_learn_reset() - Before a database goes: nothing is read for it any more, who waits is told */
void sm_learn_reset(struct sm *sm, ns_t now);

/* mkey.c */
/* sm_mkey_sort_out() - Ports found with another M_Key leave the subnet. false: our own has one */
bool sm_mkey_sort_out(struct sm *sm);
/* sm_mkey_blamed() - @n did not answer; is that because of its M_Key? Counted and said then */
bool sm_mkey_blamed(struct sm *sm, const struct sm_node *n);
/* sm_mkey_renew() - Somebody used a wrong key at @lid: end the lease that runs there */
void sm_mkey_renew(struct sm *sm, uint16_t lid, ns_t now);

/* lid.c */
int sm_lid_seed(struct sm *sm, const struct sm_lid_entry *e, size_t n);
void sm_lid_fini(struct sm *sm);
/* sm_lid_forget() - Others are master now, and may give other LIDs: what is found then counts. Configured ones stay */
void sm_lid_forget(struct sm *sm);
/*
 * sm_rereg_owe() - A port lost memberships that it does not know of: it is to register again
 * with the next sweep, or the one after, until it acknowledges that; then sm_rereg_paid()
 */
void sm_rereg_owe(struct sm *sm, uint64_t port_guid);
void sm_rereg_paid(struct sm *sm, uint64_t port_guid);
bool sm_rereg_owed(const struct sm *sm, uint64_t port_guid);
/* sm_mkey_said() - Note that the log has it, or that it is over. Returns what was noted before */
bool sm_mkey_said(struct sm *sm, uint64_t port_guid, bool said);
/*
 * sm_lid_tell() - After a database was published: where LIDs changed since @old all CAs register again. Paths that
 * they have may be wrong, and a client like Linux's, without subscriptions, hears of it in no other way
 * (it asks for its paths again then). Not before, since the SA would answer with the old ones.
 */
void sm_lid_tell(struct sm *sm, const struct sm_db *old, ns_t now);

/* group.c, mcast.c */
int sm_groups_init(struct sm *sm);
void sm_groups_fini(struct sm *sm);
void sm_groups_clear(struct sm *sm, ns_t now);
/* sm_group_needed() - Administrative, or a FullMember or SendOnlyFullMember is in it (I22) */
bool sm_group_needed(const struct sm_group *g);
void sm_mcast_update(struct sm *sm, struct sm_group *g, ns_t now);
/* The MLID is no group's any more. */
void sm_mcast_clear(struct sm *sm, uint16_t mlid, ns_t now);
void sm_mcast_wait(struct sm *sm, sm_group_done_fn *done, void *ctx, void *mem, ns_t now);
void *sm_mcast_wait_alloc(void);
/* All groups again, after the LFTs changed; sm_mcast_idle(): every MFT is written */
void sm_mcast_start(struct sm *sm, ns_t now);
bool sm_mcast_idle(const struct sm *sm);
void sm_mcast_cancel(struct sm *sm, int status, ns_t now);

/* partition_apply.c */
void sm_partition_groups(struct sm *sm, ns_t now);
/* sm_partition_revise() - Memberships end whose P_Key is in no table of @db any more (I26) */
void sm_partition_revise(struct sm *sm, const struct sm_db *db, ns_t now);
/*
 * sm_partition_pkeys() - P_Keys that @p is to have, default partition first; at most @max
 * are written, how many there are is returned
 */
size_t sm_partition_pkeys(const struct sm *sm, const struct sm_port *p, uint16_t *ret, size_t max,
			  uint16_t *ret_index0);

#endif
