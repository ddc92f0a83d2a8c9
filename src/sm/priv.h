/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_PRIV_H
#define SM_PRIV_H

/*
 * Declarations that only the files of the SM use.
 *
 *	sm.c       creation, listeners, incoming SMPs and traps
 *	sweep.c    heavy sweeps, stage by stage    light.c light sweeps
 *	elect.c    SMInfo: election of the master
 *	partial.c  sweeps that read changed links only
 *	discover.c nodes, ports, links            -> struct sm_db *next
 *	outside.c  limits on the nodes behind external ports
 *	feed.c     SMPs for many ports or LFTs, made when they can be sent
 *	lid.c      LIDs, which the SM keeps in a LID book (subnet/lid_book.h)
 *	port.c     PortInfo: addresses, MTU, arm, activate
 *	pkey.c     P_Key tables                   qos.c  SLtoVL tables
 *	lft.c      LFT writes
 *	mcast.c    MFT writes; subnet/tree.c computes the trees
 *	group.c    groups and members
 *	partition_apply.c groups and P_Keys that the partitions define
 *	learn.c    tables that are read when a client of the SA asks for them
 *	audit.c    tables that are read back between sweeps
 *	mkey.c     ports that have another M_Key; M_Key leases
 */

#include "sm/group.h"
#include "subnet/membership.h"
#include "subnet/lid_book.h"
#include "partition/partition.h"
#include "sm/sm.h"
#include "mad/smpq.h"
#include "subnet/db.h"
#include "subnet/fdb.h"

/* delay between a trap and the sweep that it causes, so that one sweep handles the traps of both ends of a link */
#define SM_KICK_DELAY NS_MSEC(10)
/*
 * delay of the next sweep after a sweep in which nodes did not answer; the delay doubles with each
 * such sweep, up to SM_RETRY_MAX or the sweep interval, whichever is shorter
 */
#define SM_RETRY_MIN NS_SEC(1)
#define SM_RETRY_MAX NS_SEC(60)
/* largest number of times that a sweep begins its discovery again because links changed and nodes did not answer */
#define SM_REDISCOVERIES 2
/* largest number of sweeps that traps of one port start in a burst; after the burst, one sweep per SubnetTimeOut */
#define SM_SWEEPS_BURST 4
/* largest number of traps of one port that listeners get in a burst; after the burst, 8 traps per SubnetTimeOut */
#define SM_REPORTS_BURST 32
/* after a sweep, no trap starts another for SM_REST times its duration, at most SM_REST_MAX */
#define SM_REST 3
#define SM_REST_MAX NS_SEC(1)
/* interval of light sweeps while the link of the SM's own port is down */
#define SM_DOWN_INTERVAL NS_SEC(1)
/* time after which a join is answered even if MFT writes are not acknowledged */
#define SM_JOIN_TIMEOUT NS_MSEC(200)
/* largest number of nodes that a sweep accepts, because each node needs a LID */
#define SM_NODES_MAX SM_LID_TOP_MAX
/* largest number of ports that a sweep accepts, because each port costs memory and SMPs */
#define SM_PORTS_MAX (1u << 20)
/* largest number of ports behind one external port, as a multiple of sm_cfg.outside_nodes */
#define SM_OUTSIDE_PORTS 8
/* number of unanswered SMPs after which a sweep gives up the nodes behind an external port */
#define SM_OUTSIDE_LOST 128
/* largest number of log lines of a sweep about silent nodes behind one external port */
#define SM_OUTSIDE_LINES 8
/* largest burst of log lines about faults behind one external port, and interval of further lines */
#define SM_FAULT_LINES 16
#define SM_FAULT_EVERY NS_SEC(10)
/* time after which a sweep gives up the nodes behind an external port */
#define SM_OUTSIDE_TIME NS_SEC(30)
#define SM_HANDOVER_TRIES 3
#define SM_ORDERS_BURST 8 /* largest burst of Set(SMInfo) that is obeyed; then one a second */
#define SM_KEY_SAID_EVERY NS_SEC(10) /* interval of log lines about wrong SM_Keys */

/* An external port, with counts of the nodes that a sweep finds behind it. */
struct sm_outside {
	uint64_t node_guid; /* node GUID of the switch or CA that has the external port */
	uint8_t port;
	uint32_t nodes, ports; /* nodes, and ports of these nodes, that this sweep has accepted */
	uint32_t lost; /* number of SMPs of this sweep that were not answered */
	ns_t since; /* time of the first SMP that this sweep sent through the port; 0: none yet */
	bool full; /* true if this sweep left nodes out */
	/* true if the log already has a line about nodes left out, or about answers that are too slow */
	bool said;
	struct pace_lines faults; /* rate limit of log lines about faults behind the port */
};

#define SM_PART_MAX 64 /* largest number of switches in a partial sweep */
#define SM_PART_PORTS 256 /* largest number of ports that come up in a partial sweep */

/* A switch that a partial sweep looks at. */
struct sm_part_switch {
	struct sm_node *n;
	bool forced; /* the ports of the switch are read even if PortStateChange is not set */
	bool asked;
	bool moved; /* true if a link to another switch came up or went down */
};

/* A source of SMPs for many ports, or for many LFTs, sm/feed.c */
struct sm_feed {
	struct smpq_source source;
	struct sm *sm;
	void (*fn)(struct sm *sm, struct sm_port *p, ns_t now); /* queues the SMPs of a port */
	/* .at: next node or switch; .item: its next port or block; .end: limit of .at for LFTs */
	uint32_t at, item, end;
};

/* State of partial sweeps, sm/partial.c */
struct sm_part {
	/* true if the running sweep is partial; sm.next and sm.db are then the same database, which the sweep changes */
	bool on;
	bool failed; /* the sweep cannot go on, so a sweep of the whole subnet has to follow */
	bool cut; /* a link on a directed route went down, so new directed routes are needed */
	/* node GUIDs of the switches that the next sweep has to look at, [nsuspects] */
	uint64_t suspect[SM_PART_MAX];
	unsigned int nsuspects;
	/* switches of the running sweep, [nsw]; a spare entry follows for any switch that the array has no room for */
	struct sm_part_switch sw[SM_PART_MAX + 1];
	struct sm_port *port[SM_PART_PORTS]; /* ports whose links came up, [nports] */
	unsigned int nsw, nports;
};

struct sm {
	struct mad_ep *ep;
	struct mad_agent *agent;
	struct timers *timers;
	const struct log_sink *log;
	struct sm_cfg cfg;
	struct list listeners;

	/* sweep.c */
	struct smpq sweepq; /* SMPs of heavy and partial sweeps, except writes of MFTs */
	/* all writes of MFTs, and SMPs outside heavy and partial sweeps: light sweeps, SMInfo, M_Key leases */
	struct smpq bgq;
	struct smpq learnq; /* SMPs that read tables for clients of the SA */
	/* stage of the heavy or partial sweep; SM_STAGE_IDLE: no such sweep is running */
	enum sm_stage stage;
	struct sm_sweep sweep, last;
	uint64_t sweeps; /* number of the last sweep; partial sweeps are counted, too */
	struct sm_router *router; /* computes LFTs in stage ROUTE; NULL: no computation runs */
	uint32_t routed_switches; /* number of switches whose LFTs .router has computed */
	/* feeds of .sweepq, each for one kind of SMPs of a stage */
	struct sm_feed table_feed, port_feed, lft_feed;
	/* timer that starts the next slice of .router; armed while no SMP is in flight */
	struct timer slice;
	bool whole; /* the next sweep has to read the whole subnet */
	struct sm_part part;
	bool advancing; /* true inside sm_sweep_advance(), which must not run recursively */
	/* true if something changed during the running sweep, so that another sweep has to follow */
	bool again;
	ns_t again_at; /* time of the sweep that will handle the change noted in .again */
	ns_t rest_until; /* time before which no trap starts a sweep */
	bool incomplete; /* true if a node did not answer, so that another sweep follows soon */
	unsigned int rediscoveries; /* number of times that this sweep began its discovery again */
	bool light_changed; /* true if the running light sweep has seen a change */
	unsigned int light_open;
	ns_t retry_delay;
	struct timer timer; /* timer of the next sweep */
	bool timer_heavy;
	uint64_t heavy_sweeps, partial_sweeps, light_sweeps, traps, traps_many;
	/* limits for the traps from all unknown LIDs together */
	struct sm_source strangers;
	/* number of SMPs and of time-outs in the sweeps before this one */
	uint64_t smps_total, timeouts_total;

	/* outside.c */
	struct sm_outside *outside; /* external ports, indexed by sm_node.outside - 1 */
	uint16_t noutside;
	bool full_said; /* true if the log already has a line about too many nodes in the subnet */
	/* rate limit of log lines about faults that are behind no external port */
	struct pace_lines faults;

	/* elect.c */
	enum smp_sm_state state;
	uint64_t guid; /* port GUID of this SM's port, 0 before the first discovery */
	uint32_t act_count;
	/*
	 * true after this SM received HANDOVER: the next sweep makes this SM the master, even if
	 * the sweep finds another master
	 */
	bool take_over;
	/* true if a better SM was still DISCOVERING when the last sweep read its SMInfo */
	bool better_to_come;
	struct sm_other *others;
	uint32_t nothers, others_cap;
	/* port GUID of the master; a standby SM polls the master by the directed route .master_path */
	uint64_t master_guid;
	uint8_t master_nhops, master_path[64];
	unsigned int poll_missed, handover_tries;
	struct timer poll;
	/* port GUID of the SM to which this SM sent a HANDOVER that is not accepted yet; 0: none */
	uint64_t handover_guid;
	struct pace orders; /* limits the rate at which this SM obeys Set(SMInfo) */
	struct pace key_said; /* limits the rate of log lines about wrong SM_Keys */

	/* databases */
	struct sm_db *db; /* published database */
	struct sm_db *next; /* database that the running sweep fills */
	/* .db or .next: the database that the LFTs and MFTs of the switches follow */
	struct sm_db *routed;
	uint64_t generation;
	/* engine of the last routes; NULL: no routes were computed */
	const struct sm_engine *routed_by;
	/* reason why .routed_by is not sm_cfg.routing; "": .routed_by is sm_cfg.routing */
	char not_routed[256];
	struct sm_lid_book lids;

	/* partition_apply.c, group.c, mcast.c */
	struct sm_partitions *parts;
	bool parts_new; /* the partitions changed since the last sweep that reached every node */
	struct htab groups; /* struct sm_group by MGID */
	struct list group_list;
	struct sm_group **by_mlid; /* groups by MLID, [max_mlids] */
	struct list mft_jobs, mft_waits;
	uint64_t mft_seq;
	unsigned int mft_open; /* number of MFT writes in flight */
	/* number of MFT jobs (sm/mcast.c) that may still have to remove ports */
	unsigned int mft_unpruned;

	/* audit.c */
	struct smpq auditq;
	struct timer audit; /* timer of the next burst of reads */
	uint64_t audit_items; /* number of SMPs that one round of the audit over all tables needs */
	uint64_t audit_left; /* number of SMPs of this burst that are not sent yet */
	uint32_t audit_node; /* cursor of the audit: index of the node */
	unsigned int audit_port, audit_item; /* cursor of the audit: port, and item of the port */
	uint64_t repairs;
	struct pace repair_said;

	/* learn.c */
	struct list learn_walks, learn_waits;
	unsigned int learn_queued;
};

/* sm.c */
uint32_t sm_act_count(const struct sm *sm);

/* logging and listeners of sm.c */
#define sm_err(sm, ...) log_to((sm)->log, LOG_LVL_ERR, "sm: " __VA_ARGS__)
#define sm_warn(sm, ...) log_to((sm)->log, LOG_LVL_WARN, "sm: " __VA_ARGS__)
#define sm_info(sm, ...) log_to((sm)->log, LOG_LVL_INFO, "sm: " __VA_ARGS__)
#define sm_dbg(sm, ...) log_to((sm)->log, LOG_LVL_DEBUG, "sm: " __VA_ARGS__)
void sm_emit_state(struct sm *sm, ns_t now);
void sm_emit_stage(struct sm *sm, ns_t now);
void sm_emit_port(struct sm *sm, const ib_gid *gid, bool in_service, ns_t now);
void sm_emit_group(struct sm *sm, const struct sm_group *g, bool created, ns_t now);

/* Make an SMP to a node or a port of the database (discover.c) */
struct smp_cmd sm_cmd_node(struct sm_node *n, uint8_t method, uint16_t attr, uint32_t mod,
			   smp_done_fn *done);
/*
 * The SMP to a CA port takes a directed route that ends at this port, because a CA reads and writes
 * the tables of the port at which the SMP arrives.
 */
struct smp_cmd sm_cmd_port(struct sm_port *p, uint8_t method, uint16_t attr, uint32_t mod,
			   smp_done_fn *done);
/* sm_failed() - If @status says that an SMP failed, count and log it. Return: true if it failed */
bool sm_failed(struct sm *sm, const struct smp_cmd *cmd, int status, const char *what, ns_t now);

/* Stages of a sweep. Each stage queues SMPs on sm->sweepq; the next stage starts when the queue is idle. */
int sm_discover_start(struct sm *sm, ns_t now);
/* sm_port_read() - Queue a Get(PortInfo) for @p */
void sm_port_read(struct sm *sm, struct sm_port *p, smp_done_fn *done, ns_t now);
int sm_discover_finish(struct sm *sm);
void sm_elect_start(struct sm *sm, ns_t now);
int sm_lid_assign(struct sm *sm);
void sm_ports_start(struct sm *sm, ns_t now);
/* sm_port_to_arm() - Tell whether the sweep will arm the port. The Set that arms the port also configures the port */
bool sm_port_to_arm(const struct sm_port *p);
/* sm_port_vls() - Return the code of OperationalVLs that the port should have */
uint8_t sm_port_vls(const struct sm *sm, const struct sm_port *p);
void sm_pkeys_read(struct sm *sm, ns_t now);
void sm_pkeys_start(struct sm *sm, ns_t now);
void sm_qos_start(struct sm *sm, ns_t now);
/*
 * sm_route_start() - Compute and write LFTs, in slices. While sm->router exists, the caller must call sm_route_more()
 * again, preferably when sm->sweepq is idle
 */
int sm_route_start(struct sm *sm, ns_t now);
int sm_route_more(struct sm *sm, ns_t now);
/* sm_lft_write() - Write those blocks of the LFT of @n that @n has not acknowledged */
void sm_lft_write(struct sm *sm, struct sm_node *n, ns_t now);
/* sm_lft_block() - Write one block of the LFT of @n. Return: false if the switch has acknowledged it already */
bool sm_lft_block(struct sm *sm, struct sm_node *n, uint32_t block, ns_t now);
/* sm_switch_info_write() - Write MulticastFDBTop, LinearFDBTop and LifeTimeValue, unless the switch has them already */
void sm_switch_info_write(struct sm *sm, struct sm_node *n, ns_t now);
void sm_arm_start(struct sm *sm, ns_t now);
void sm_activate_start(struct sm *sm, ns_t now);

/* feed.c */
/* sm_feed_ports() - Call @fn for each known port of the new database, as fast as the SMPs that @fn queues are sent */
void sm_feed_ports(struct sm *sm, struct sm_feed *f,
		   void (*fn)(struct sm *, struct sm_port *, ns_t), ns_t now);
/* sm_feed_lfts() - Write LFT blocks and SwitchInfo of @n switches of the new database, from index @first on */
void sm_feed_lfts(struct sm *sm, uint32_t first, uint32_t n, ns_t now);

/* partial.c */
/* sm_part_suspect() - Have the next sweep read a switch, because one of its ports changed */
void sm_part_suspect(struct sm *sm, uint64_t node_guid);
/* sm_part_possible() - Tell whether the next sweep can be a partial sweep */
bool sm_part_possible(const struct sm *sm);
void sm_part_start(struct sm *sm);
/*
 * sm_part_more() - Ask the next switch for its SwitchInfo. To be called when the answers of the previous switch have
 * arrived. Return: false if no switch is left, or if the partial sweep has failed
 */
bool sm_part_more(struct sm *sm, ns_t now);
/*
 * sm_part_gave_up() - Tell whether the running sweep is a partial sweep that has to be replaced by a sweep of the
 * whole subnet
 */
bool sm_part_gave_up(const struct sm *sm);
/* sm_part_end() - End a partial sweep, if one is running; the published database stays in use */
void sm_part_end(struct sm *sm);
/* sm_part_discovered() - Complete the discovery of a partial sweep. To be called when all links are known */
void sm_part_discovered(struct sm *sm);
/* sm_part_each_port() - Call @fn for the ports whose links came up */
void sm_part_each_port(struct sm *sm, void (*fn)(struct sm *, struct sm_port *, ns_t), ns_t now);
/* sm_part_each_switch() - Call @fn for the switches that the sweep looked at */
void sm_part_each_switch(struct sm *sm, void (*fn)(struct sm *, struct sm_node *, ns_t), ns_t now);
int sm_part_route(struct sm *sm, ns_t now);
/* sm_part_publish() - Forget the tables that were read for clients of the SA, if they belong to switches that this sweep has read */
void sm_part_publish(struct sm *sm, ns_t now);

/* outside.c */
/* sm_outside_begin() - Reset the counts of all external ports at the beginning of a sweep */
void sm_outside_begin(struct sm *sm);
void sm_outside_fini(struct sm *sm);
/*
 * sm_outside_of() - Return the number of the external port through which the nodes behind @from are
 * reached; 0: none. @from may be NULL
 */
uint16_t sm_outside_of(struct sm *sm, const struct sm_port *from);
/*
 * sm_outside_admit() - Tell whether the sweep accepts a node with @nports ports, and count the
 * node. Nodes that are left out are counted in .left_out of the sweep. The log gets one line for
 * each external port whose limit is exceeded, and one line if the limit of the subnet is exceeded
 */
bool sm_outside_admit(struct sm *sm, const struct sm_port *from, unsigned int nports);
/*
 * sm_outside_lost() - Count an SMP that a node did not answer. The node is behind external port @outside (0:
 * none). Return: true if the caller should log the loss
 */
bool sm_outside_lost(struct sm *sm, uint16_t outside);
/*
 * sm_fault() - Count a fault of a node, and log it unless the log has too many lines about faults behind the same
 * external port already
 */
void sm_fault(struct sm *sm, uint16_t outside, ns_t now, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * sm_outside_useless() - For smpq_cfg.useless: tell whether an SMP need not be sent, because its
 * node does not answer, or because the sweep has given up the nodes behind the node's external port
 */
bool sm_outside_useless(void *ctx, const struct smp_cmd *cmd, ns_t now);

/* sweep.c */
/* sm_smpq_cfg() - Return the configuration that all SMP queues of @sm share */
struct smpq_cfg sm_smpq_cfg(struct sm *sm, void (*idle)(void *ctx, ns_t now));
void sm_sweep_init(struct sm *sm);
void sm_sweep_fini(struct sm *sm);
/* sm_sweep_request() - Start a heavy sweep at @at */
void sm_sweep_request(struct sm *sm, ns_t at);
/*
 * sm_sweep_again() - Start a sweep of the whole subnet at @at. If a sweep is running, start another one after it, but
 * not before @at
 */
void sm_sweep_again(struct sm *sm, ns_t at);
/* sm_sweep_suspect() - As sm_sweep_again(), but the sweep need only read the switch @node_guid */
void sm_sweep_suspect(struct sm *sm, uint64_t node_guid, ns_t at);
void sm_sweep_advance(struct sm *sm, ns_t now);
/*
 * sm_light_over() - End a light sweep, all of whose answers have come. Start the sweep that the answers require, if
 * any
 */
void sm_light_over(struct sm *sm, ns_t now);
/* light.c */
void sm_light_start(struct sm *sm, ns_t now);
/* sweep.c */
/* sm_sweep_abort() - End the running sweep, and schedule no other */
void sm_sweep_abort(struct sm *sm);

/* elect.c */
void sm_elect_init(struct sm *sm);
void sm_elect_fini(struct sm *sm);
/*
 * sm_elect_finish() - Decide which SM is master, when the stage ELECT has all answers. Return: true if this SM
 * continues as master
 */
bool sm_elect_finish(struct sm *sm, ns_t now);
void sm_set_state(struct sm *sm, enum smp_sm_state st, ns_t now);
/* sm_elect_recv() - Handle a Get or Set of SMInfo; @mad becomes the response. Return: false to drop the request */
bool sm_elect_recv(struct sm *sm, uint8_t *mad, ns_t now);

/* learn.c */
void sm_learn_init(struct sm *sm);
void sm_learn_fini(struct sm *sm);
/* sm_learn_reset() - End all reads of tables, and call done() of all requests that wait for them */
void sm_learn_reset(struct sm *sm, ns_t now);

/* audit.c */
void sm_audit_init(struct sm *sm);
void sm_audit_fini(struct sm *sm);
/* sm_audit_pause() - Forget the reads in flight; called when a sweep begins or the database is freed */
void sm_audit_pause(struct sm *sm);
/* sm_audit_published() - Audit the tables of a new database */
void sm_audit_published(struct sm *sm, ns_t now);

/* mkey.c */
/* sm_mkey_sort_out() - Leave ports with another M_Key out of the new database. Return: false if the SM's own port has another M_Key */
bool sm_mkey_sort_out(struct sm *sm);
/*
 * sm_mkey_blamed() - Tell whether @n does not answer because it has another M_Key. If so, the function counts and
 * logs the fault
 */
bool sm_mkey_blamed(struct sm *sm, const struct sm_node *n);
/*
 * sm_mkey_renew() - Stop the lease period of the M_Key at the port with @lid, which has sent a trap
 * about a wrong M_Key
 */
void sm_mkey_renew(struct sm *sm, uint16_t lid, ns_t now);

/* lid.c */
int sm_lid_seed(struct sm *sm, const struct sm_lid_entry *e, size_t n);
/*
 * sm_rereg_owe() - Record that a port has to register again, for example because its memberships
 * ended without its knowledge. The next sweeps set ClientReregister until the port acknowledges it
 */
void sm_rereg_owe(struct sm *sm, uint64_t port_guid);
/*
 * sm_mkey_said() - Store @said: whether the log has a line that the port has another M_Key.
 * Return: the value that was stored before
 */
bool sm_mkey_said(struct sm *sm, uint64_t port_guid, bool said);
/*
 * sm_lid_tell() - Have all CAs register again (ClientReregister) if a LID changed between @old and the new database,
 * because paths that the CAs have stored may then be wrong. A client without subscriptions, such as Linux's SA
 * client, notices a changed LID only by ClientReregister, and then queries its paths again. To be called after the
 * new database is published, because before that the SA answers with old LIDs.
 */
void sm_lid_tell(struct sm *sm, const struct sm_db *old, ns_t now);

/* group.c, mcast.c */
int sm_groups_init(struct sm *sm);
void sm_groups_fini(struct sm *sm);
void sm_groups_clear(struct sm *sm, ns_t now);
/*
 * sm_group_needed() - Tell whether a group must exist: it is administrative, or has a FullMember or
 * SendOnlyFullMember
 */
bool sm_group_needed(const struct sm_group *g);
void sm_mcast_update(struct sm *sm, struct sm_group *g, ns_t now);
/* sm_mcast_clear() - Clear the MFT entries of an MLID that no group has any more */
void sm_mcast_clear(struct sm *sm, uint16_t mlid, ns_t now);
void sm_mcast_wait(struct sm *sm, sm_group_done_fn *done, void *ctx, void *mem, ns_t now);
void *sm_mcast_wait_alloc(void);
/*
 * sm_mcast_start() - Compute the trees of all groups again, and write the MFTs. sm_mcast_idle() tells whether
 * all MFTs are written
 */
void sm_mcast_start(struct sm *sm, ns_t now);
bool sm_mcast_idle(const struct sm *sm);
/*
 * sm_mcast_differs() - Tell whether another program changed a position of an MFT block. @read: the entries
 * that the switch has now. Return: false also while the SM itself is writing the position
 */
bool sm_mcast_differs(const struct sm *sm, const struct sm_fdb *f, unsigned int block,
		      unsigned int pos, const uint16_t read[SMP_MFT_PER_BLOCK]);
/* sm_mcast_repair() - Write a position of an MFT block again, by a job, so as not to overtake the write of a join */
void sm_mcast_repair(struct sm *sm, struct sm_fdb *f, unsigned int block, unsigned int pos,
		     ns_t now);
void sm_mcast_cancel(struct sm *sm, int status, ns_t now);

/* partition_apply.c */
void sm_partition_groups(struct sm *sm, ns_t now);
/*
 * sm_partition_revise() - End the memberships of ports whose P_Key table in @db no longer contains
 * the P_Key of the group
 */
void sm_partition_revise(struct sm *sm, const struct sm_db *db, ns_t now);
/*
 * sm_partition_pkeys() - Collect the P_Keys that @p should have, and the P_Key for index 0. At most
 * @max are written to @ret. Return: the number of all these P_Keys, even if it is more than @max
 */
size_t sm_partition_pkeys(const struct sm *sm, const struct sm_port *p, uint16_t *ret, size_t max,
			  uint16_t *ret_index0);

#endif
