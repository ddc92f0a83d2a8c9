/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_SM_H
#define SM_SM_H

/*
 * DOC: The subnet manager
 *
 * The SM is an ordinary management application at one end port, and works by MADs alone. It
 * discovers the subnet by directed-route SMPs, and assigns LIDs. It computes and writes LFTs, MFTs,
 * P_Key tables and port parameters. It also arms and activates the ports. When something has
 * changed, it sweeps again. Several SMs of a subnet elect one master by SMInfo (the highest
 * priority, then the lowest GUID; IBTA 14.4).
 *
 * The SA and other modules register as listeners. Listeners are called when this SM becomes master
 * or stops being master, when a new database is published, and when ports and groups appear and
 * disappear.
 *
 * The owner of the port must set the capability bit IsSM (node_set_cap()) before sm_start(), and
 * clear it after sm_destroy().
 */

#include "mad/ep.h"
#include "subnet/db.h"
#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/smp.h"

struct sm;
struct sm_group;
struct sm_partitions;
struct sm_engine;

/* LID that the SM assigns to a port if the port comes up without a LID. */
struct sm_lid_entry {
	uint64_t port_guid;
	uint16_t lid;
};

/*
 * Default SM_Key, which is OpenSM's. OpenSM ignores SMs that have another SM_Key, and OpenSM's
 * tools send this SM_Key so that the SA trusts them. If the SM_Key is 0, the SA trusts no request.
 */
#define SM_KEY_DEFAULT 1

/* Configuration of an SM. Callers start from sm_cfg_default() and change some values. */
struct sm_cfg {
	uint8_t priority; /* priority in the election of the master, 0 .. 15 */
	uint8_t lmc; /* LMC of CA ports, 0 .. 7 */
	uint8_t sm_sl;
	uint8_t subnet_timeout; /* code of PortInfo:SubnetTimeOut */
	uint8_t life; /* PacketLifeTime code of paths and switches */
	uint8_t max_mtu_code; /* largest code of NeighborMTU */
	/* code of PortInfo:OperationalVLs, limited by VLCap: 1 = VL0, 2 = VL0-1, 3 = VL0-3 */
	uint8_t oper_vls;
	uint64_t prefix, sm_key, mkey;
	uint16_t mkey_lease; /* M_Key lease in seconds; 0: the lease never ends */
	uint8_t mkey_protect;
	const struct sm_engine *routing; /* routing engine, route/route.h; NULL: minhop */
	bool partial_sweeps; /* true: if only links between switches changed, the SM makes a partial sweep (sm/partial.c) */
	bool no_enforce; /* true if switch ports shall not check P_Keys */
	unsigned int max_smps; /* largest number of SMPs in flight */
	unsigned int timeout_ms, retries; /* time-out and retries of an SMP */
	ns_t sweep_interval; /* interval of light sweeps; NS_NEVER: none */
	ns_t poll_interval; /* interval at which a standby SM polls the master */
	unsigned int poll_misses; /* unanswered polls after which a standby SM discovers again */
	/* largest number of SMPs a second that read tables back (sm/audit.c); 0: no audit */
	unsigned int audit_rate;
	uint16_t max_mlids; /* largest number of groups, further limited by the MFTs */
	/* LIDs for ports that come up without a LID; sm_create() copies the array */
	const struct sm_lid_entry *lids;
	size_t nlids;
	/*
	 * is_external() tells whether a port is external, which means that another party controls
	 * the nodes behind it. A sweep accepts at most .outside_nodes nodes behind each such port (sm/outside.c).
	 * NULL: no port is external
	 */
	bool (*is_external)(void *ctx, uint64_t node_guid, uint8_t port);
	void *is_external_ctx;
	/*
	 * largest number of nodes behind one external port; these nodes together may have at most 8
	 * times as many ports
	 */
	uint32_t outside_nodes;
};

struct sm_cfg sm_cfg_default(void);

enum sm_stage {
	SM_STAGE_IDLE,
	SM_STAGE_DISCOVER, /* nodes, ports and links are found */
	SM_STAGE_ELECT, /* SMInfo of other SMs is read */
	SM_STAGE_LIDS, /* LIDs and port parameters are written */
	SM_STAGE_PKEYS, /* P_Key and SLtoVL tables are written */
	SM_STAGE_ROUTE, /* LFTs are computed and written */
	SM_STAGE_MCAST, /* MFTs are computed and written */
	SM_STAGE_ARM,
	SM_STAGE_ACTIVATE,
	SM_STAGE_UP, /* the database is published: SUBNET UP */
};

const char *sm_stage_name(enum sm_stage st);
const char *sm_state_name(enum smp_sm_state st);

/* Progress and counts of one heavy or partial sweep. */
struct sm_sweep {
	uint64_t number; /* number of the sweep, from 1 */
	bool partial; /* true if the sweep read changed links only */
	enum sm_stage stage; /* stage that was completed last */
	/*
	 * times of the start and end of the sweep and of the start of the stage; .ended is 0 while
	 * the sweep runs
	 */
	ns_t started, stage_started, ended;
	uint32_t nodes, switches, end_ports, links, sms;
	/* number of end ports that got another LID than the sweep found on them */
	uint32_t lids_assigned;
	/* .smps: requests that the sweep sent; .timeouts: requests that were not answered */
	uint32_t smps, timeouts;
	uint32_t lft_blocks, mft_blocks, pkey_blocks, ports_set, armed, activated;
	/* number of end ports that were not changed because they have another M_Key than this SM's */
	uint32_t foreign_mkeys;
	/* requests that nodes refused, duplicate GUIDs, and other faults found in the sweep */
	uint32_t errors;
	uint32_t left_out; /* nodes that answered but exceed a limit of sm/outside.c */
};

struct sm_events {
	/*
	 * The SM enters state DISCOVERING, STANDBY, MASTER or NOT_ACTIVE. If the SM leaves MASTER,
	 * its groups are gone before the call.
	 */
	void (*state)(void *ctx, enum smp_sm_state st, ns_t now);
	/* A stage has ended. When this stage is SM_STAGE_UP, sm_db() returns the new database. */
	void (*stage)(void *ctx, const struct sm_sweep *sw, ns_t now);
	/* Called after SM_STAGE_UP for each end port that has appeared (trap 64) or disappeared (trap 65). */
	void (*port)(void *ctx, const ib_gid *gid, bool in_service, ns_t now);
	/*
	 * A group was created (trap 66) or deleted (trap 67). A deleted group is readable until the
	 * call returns.
	 */
	void (*group)(void *ctx, const struct sm_group *g, bool created, ns_t now);
	/* A trap was received and answered by TrapRepress. The SA forwards it to subscribers. */
	void (*notice)(void *ctx, const struct mad_notice *n, ns_t now);
};

/*
 * Listener for events of the SM. Each function of .ops may be NULL. Listeners are called in the
 * order in which sm_listen() added them, and must not destroy the SM.
 */
struct sm_listener {
	struct list link;
	const struct sm_events *ops;
	void *ctx;
};

/**
 * sm_create() - Make a subnet manager for the port of @ep
 * @ep, @timers, @log:	borrowed
 * @cfg:	copied
 *
 * Registers for subnet management on QP0. The SM does nothing before sm_start().
 * Return: 0; -EBUSY: the endpoint has an SM; -EINVAL: a value of @cfg is out of range; -ENOMEM
 */
int sm_create(struct sm **ret, struct mad_ep *ep, const struct sm_cfg *cfg, struct timers *timers,
	      const struct log_sink *log);

/*
 * sm_destroy() - Destroy an SM without telling other SMs; a standby SM notices the missing master by polling.
 * NULL is accepted
 */
void sm_destroy(struct sm *sm);

/* sm_start() - Begin to discover. The SM then becomes master and reports SM_STAGE_UP, or enters state STANDBY */
void sm_start(struct sm *sm, ns_t now);

/* sm_kick() - Request a heavy sweep, now or after the sweep that is running */
void sm_kick(struct sm *sm, const char *reason, ns_t now);

/**
 * sm_set_lid() - Give an end port another LID
 *
 * The next sweep writes the LID. A further sweep then sends ClientReregister to all CAs, so that
 * the CAs query their paths to the port again.
 *
 * Return: 0; -EAGAIN: not master, or no database yet; -EINVAL: not a unicast LID, or not aligned
 * for the port's LMC; -ENOENT: no such end port; -EEXIST: another port has the LID, or had it and
 * is absent; -ENOMEM
 */
int sm_set_lid(struct sm *sm, uint64_t port_guid, uint16_t lid, ns_t now);

/**
 * sm_set_partitions() - Replace the partition table (before sm_start() or at run time)
 * @ps:		the SM becomes its owner
 *
 * At run time, a group of the old table that is not in @ps is deleted (trap 67) as soon as it has
 * no FullMember or SendOnlyFullMember. A sweep rewrites the P_Key tables of CA and switch ports. If
 * a port has lost the P_Key of a group, the sweep ends the membership of the port in this group.
 */
void sm_set_partitions(struct sm *sm, struct sm_partitions *ps, ns_t now);
const struct sm_partitions *sm_partitions(const struct sm *sm);

void sm_listen(struct sm *sm, struct sm_listener *l);
void sm_unlisten(struct sm_listener *l);

/* sm_db() - Return the published database; NULL before the first SUBNET UP and while not master */
const struct sm_db *sm_db(const struct sm *sm);

struct sm_other { /* another SM of the subnet, as the last sweep found it */
	uint64_t port_guid;
	struct smp_sm_info info;
};

struct sm_status {
	struct smp_sm_info self; /* SMInfo that Get(SMInfo) returns */
	enum sm_stage stage; /* stage of the running sweep, or SM_STAGE_IDLE */
	uint64_t master_guid; /* port GUID of the master; 0: not known */
	uint64_t generation;
	/*
	 * engine that computed the last routes; not sm_cfg.routing if the configured engine cannot
	 * route the topology
	 */
	const char *routing;
	struct sm_sweep last; /* last complete heavy or partial sweep */
	uint64_t heavy_sweeps, partial_sweeps, light_sweeps, traps, smps, timeouts;
	/* blocks of tables that other programs had changed, and that the audit wrote again */
	uint64_t repairs;
	/* traps above the rate limit of their port; answered with TrapRepress, but passed to no listener */
	uint64_t traps_many;
	const struct sm_other *others; /* other SMs; valid until the next event is handled */
	uint32_t nothers;
};
void sm_status(const struct sm *sm, struct sm_status *ret);

/* Parts of the SM that the SA uses. */
struct mad_ep *sm_ep(const struct sm *sm);
struct timers *sm_timers(const struct sm *sm);
const struct log_sink *sm_log(const struct sm *sm);
const struct sm_cfg *sm_config(const struct sm *sm);

#endif
