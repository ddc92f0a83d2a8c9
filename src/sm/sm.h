/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_SM_H
#define SM_SM_H

/*
 * DOC: The subnet manager
 *
 * An ordinary management application at one end port, by MADs only: it discovers the
 * subnet by directed-route SMPs, gives LIDs, computes and writes LFTs and MFTs,
 * P_Key tables and port parameters, arms and activates the ports, and sweeps again
 * when something changed. Several SMs of a subnet agree on one master by SMInfo
 * (priority, then the lower GUID; IBTA 14.4).
 *
 * The SA and others register as listeners: they hear when it becomes master or stops
 * being it, when a new database is published and what came and went with it.
 *
 * The owner of the port sets its capability bit IsSM (node_set_cap()) before
 * sm_start(), and clears it after sm_destroy().
 */

#include "mad/ep.h"
#include "sm/db.h"
#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/smp.h"

struct sm;
struct sm_group;
struct sm_partitions;

/* LIDs to give again to ports that come up without one. */
struct sm_lid_entry {
	uint64_t port_guid;
	uint16_t lid;
};

/*
 * OpenSM's: it takes nobody for an SM who has another, and its clients that want to be trusted use it.
 * With 0 the SA trusts nobody.
 */
#define SM_KEY_DEFAULT 1

/* Take sm_cfg_default() and change what differs. */
struct sm_cfg {
	uint8_t priority; /* 0 .. 15 */
	uint8_t lmc; /* 0 .. 7, of CA ports */
	uint8_t sm_sl;
	uint8_t subnet_timeout; /* PortInfo code */
	uint8_t life; /* PacketLifeTime code of paths and switches */
	uint8_t max_mtu_code; /* NeighborMTU is at most this */
	uint8_t oper_vls; /* PortInfo code, at most VLCap: 1 = VL0, 2 = VL0-1, 3 = VL0-3 */
	uint64_t prefix, sm_key, mkey;
	uint16_t mkey_lease; /* seconds; 0: for ever */
	uint8_t mkey_protect;
	bool no_enforce; /* switch ports do not check P_Keys */
	unsigned int max_smps; /* outstanding */
	unsigned int timeout_ms, retries; /* of an SMP */
	ns_t sweep_interval; /* light sweeps; NS_NEVER: none */
	ns_t poll_interval; /* a standby SM asks the master */
	unsigned int poll_misses; /* unanswered polls until it takes over */
	uint16_t max_mlids; /* groups at most, and at most what switches can */
	const struct sm_lid_entry *lids; /* copied by sm_create() */
	size_t nlids;
};

struct sm_cfg sm_cfg_default(void);

enum sm_stage {
	SM_STAGE_IDLE,
	SM_STAGE_DISCOVER, /* nodes, ports, links */
	SM_STAGE_ELECT, /* other SMs are asked */
	SM_STAGE_LIDS, /* LIDs and port parameters are written */
	SM_STAGE_PKEYS, /* P_Key tables, SLtoVL */
	SM_STAGE_ROUTE, /* LFTs are computed and written */
	SM_STAGE_MCAST, /* MFTs */
	SM_STAGE_ARM,
	SM_STAGE_ACTIVATE,
	SM_STAGE_UP, /* the database is published: SUBNET UP */
	SM_STAGE_LIGHT, /* a light sweep */
};

const char *sm_stage_name(enum sm_stage st);
const char *sm_state_name(enum smp_sm_state st);

/* One heavy sweep, as far as it got. */
struct sm_sweep {
	uint64_t number; /* from 1 */
	enum sm_stage stage; /* which it ended last */
	ns_t started, stage_started, ended; /* ended: 0 while it runs */
	uint32_t nodes, switches, end_ports, links, sms;
	uint32_t lids_assigned; /* end ports that got another LID than they had */
	uint32_t smps, timeouts; /* requests sent in it; and unanswered */
	uint32_t lft_blocks, mft_blocks, pkey_blocks, ports_set, armed, activated;
	uint32_t foreign_mkeys; /* end ports left alone: they have another M_Key */
	uint32_t errors; /* refused by their node; duplicates; what was left out */
};

struct sm_events {
	/* DISCOVERING, STANDBY, MASTER, NOT_ACTIVE. Groups are gone when it is not MASTER any more. */
	void (*state)(void *ctx, enum smp_sm_state st, ns_t now);
	/* A stage ended; with SM_STAGE_UP the new sm_db() is in place. */
	void (*stage)(void *ctx, const struct sm_sweep *sw, ns_t now);
	/* After SM_STAGE_UP: an end port came (trap 64) or went (trap 65). */
	void (*port)(void *ctx, const ib_gid *gid, bool in_service, ns_t now);
	/* Trap 66, 67. A deleted group is still readable during the call. */
	void (*group)(void *ctx, const struct sm_group *g, bool created, ns_t now);
	/* Every trap that was received and repressed: the SA forwards it to subscribers. */
	void (*notice)(void *ctx, const struct mad_notice *n, ns_t now);
};

/* Any function may be NULL. Called in the order of sm_listen(); a call may not destroy the SM. */
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
 * Registers for subnet management on QP0. It does nothing before sm_start().
 * Return: 0; -EBUSY the endpoint has an SM; -EINVAL a value of @cfg is out of range; -ENOMEM
 */
int sm_create(struct sm **ret, struct mad_ep *ep, const struct sm_cfg *cfg, struct timers *timers,
	      const struct log_sink *log);

/* Silent: a standby takes over by polling. NULL is accepted. */
void sm_destroy(struct sm *sm);

/* sm_start() - Begin to discover; SM_STAGE_UP follows, or STANDBY */
void sm_start(struct sm *sm, ns_t now);

/* sm_kick() - Ask for a heavy sweep: now, or again after the one that runs */
void sm_kick(struct sm *sm, const char *reason, ns_t now);

/**
 * sm_set_lid() - Give an end port another LID
 *
 * A sweep writes it, and has all end ports register again: nothing else tells them that paths to it have changed.
 * Return: 0; -EAGAIN not master, or no database yet; -EINVAL no unicast LID, or not for the port's LMC; -ENOENT
 * no such end port; -EEXIST the LID is another port's, which may be away; -ENOMEM
 */
int sm_set_lid(struct sm *sm, uint64_t port_guid, uint16_t lid, ns_t now);

/**
 * sm_set_partitions() - Take another partition table (before sm_start() or at run time)
 * @ps:		taken over
 *
 * At run time: groups of partitions that are gone are deleted (trap 67), memberships of ports that are no
 * longer members end, and a sweep rewrites the tables of CA and switch ports (I26).
 */
void sm_set_partitions(struct sm *sm, struct sm_partitions *ps, ns_t now);
const struct sm_partitions *sm_partitions(const struct sm *sm);

void sm_listen(struct sm *sm, struct sm_listener *l);
void sm_unlisten(struct sm_listener *l);

/* sm_db() - The published database; NULL before the first SUBNET UP and while not master */
const struct sm_db *sm_db(const struct sm *sm);

struct sm_other { /* another SM of the subnet, as last seen */
	uint64_t port_guid;
	struct smp_sm_info info;
};

struct sm_status {
	struct smp_sm_info self; /* what Get(SMInfo) answers */
	enum sm_stage stage; /* running now; SM_STAGE_IDLE */
	uint64_t master_guid; /* who is master as far as known; 0 */
	uint64_t generation;
	struct sm_sweep last; /* last complete heavy sweep */
	uint64_t heavy_sweeps, light_sweeps, traps, smps, timeouts;
	uint64_t traps_many; /* more than their source may send: repressed, not passed on */
	const struct sm_other *others; /* valid until time moves on */
	uint32_t nothers;
};
void sm_status(const struct sm *sm, struct sm_status *ret);

/* What the SA needs of its master. */
struct mad_ep *sm_ep(const struct sm *sm);
struct timers *sm_timers(const struct sm *sm);
const struct log_sink *sm_log(const struct sm *sm);
const struct sm_cfg *sm_config(const struct sm *sm);

#endif
