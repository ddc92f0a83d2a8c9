/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

/*
 * DOC: Finding out why IP over a port does not work
 *
 * A probe examines one port, step by step. It asks the port itself, the node at the other end of
 * its cable, the subnet manager, and the subnet administrator. It then examines the broadcast group
 * of an IPoIB link, and a peer if the user names one. All requests are Gets, so the probe changes
 * nothing in the fabric. Each request depends on the earlier answers. Then the answers are
 * evaluated, together with the state of the kernel's IPoIB interface.
 *
 * The probe sends nothing itself: probe_next() returns a request, and probe_recv() or probe_lost()
 * takes the result. The caller provides the transport, which also repeats requests.
 */

#include "check/check.h"
#include "survey/survey.h"

enum probe_kind {
	/* the port */
	PROBE_NO_ANSWER, /* the port itself does not answer */
	PROBE_DISABLED,
	PROBE_NO_LINK,
	PROBE_SILENT_LINK,
	PROBE_NOT_ACTIVE,
	PROBE_NO_LID,
	PROBE_NO_SM,
	PROBE_LINK_MTU,
	/* the managers */
	PROBE_SM_SILENT,
	PROBE_SM_HIDDEN,
	PROBE_SM_NOT_MASTER,
	PROBE_SM_SLOW,
	PROBE_SA_SILENT,
	PROBE_SA_REFUSES,
	PROBE_SA_SLOW,
	PROBE_SA_OTHER_LID,
	/* the partition */
	PROBE_PKEY_UNKNOWN,
	PROBE_PKEY_MISSING,
	PROBE_PKEY_LIMITED,
	/* the broadcast group */
	PROBE_GROUP_ABSENT,
	PROBE_GROUP_SCOPE,
	PROBE_GROUP_MTU,
	PROBE_GROUP_RATE,
	PROBE_GROUP_SL,
	PROBE_GROUP_QKEY,
	PROBE_GROUP_FIELD,
	/* the interface of the kernel */
	PROBE_IF_DOWN,
	PROBE_IF_NOT_MEMBER,
	PROBE_IF_NO_CARRIER,
	PROBE_IF_CONNECTED,
	PROBE_IF_MTU,
	/* the peer */
	PROBE_NEIGH_NONE,
	PROBE_NEIGH_FAILED,
	PROBE_NEIGH_STALE,
	PROBE_PEER_UNKNOWN,
	PROBE_PATH_REFUSED,
	PROBE_PATH_MTU,
	PROBE_PEER_SILENT,
	PROBE_PEER_OTHER,
	PROBE_PEER_PKEY,
	PROBE_PEER_MTU,
	PROBE_PEER_NOT_MEMBER,
	PROBE_KINDS,
};
const struct chk_kind_info *probe_kind_info(enum probe_kind kind);

/* State of the kernel's IPoIB interface on the probed port */
struct probe_if {
	char name[16]; /* "" if there is no interface */
	bool up; /* the administrator has set the interface up */
	bool carrier;
	bool connected; /* connected mode; false: datagram mode */
	unsigned int mtu;
	uint16_t pkey; /* P_Key with bit 15; 0: unknown */
	ib_gid broadcast; /* MGID of the broadcast group; zero: unknown */
};

/* State of the kernel's neighbour entry for the peer's IP address */
enum probe_neigh_state {
	PROBE_NEIGH_UNASKED, /* the kernel was not asked for the entry */
	PROBE_NEIGH_ABSENT, /* there is no entry; if .has_peer, the address that the user gave was used as a GID */
	PROBE_NEIGH_UNRESOLVED, /* the kernel has sent its requests, and has no answer yet, or has given up */
	PROBE_NEIGH_KNOWN, /* probe_cfg.peer is the GID in the neighbour's link-layer address */
};

struct probe_cfg {
	/*
	 * P_Key of the link, with or without bit 15; 0: take the P_Key of the kernel's interface,
	 * or the first P_Key of the port if there is no interface
	 */
	uint16_t pkey;
	bool has_peer;
	ib_gid peer;
	char address[48]; /* the peer as the user gave it */
	enum probe_neigh_state neigh;
	struct probe_if ifc;
	uint64_t mkey; /* M_Key of the requests to subnet management agents */
	/*
	 * SM_Key for queries about members of groups, because an SA answers such queries only with
	 * the right SM_Key; 0: do not ask for members
	 */
	uint64_t sm_key;
	/*
	 * time after which a request without an answer counts as lost, even if the transport has not reported the
	 * loss
	 */
	ns_t patience;
};

#define PROBE_FINDINGS_MAX 64
#define PROBE_FACTS_MAX 32
struct probe_finding {
	enum probe_kind kind;
	char what[CHK_WHAT_MAX]; /* a sentence without a full stop; names are not escaped */
};

/* A value that the probe has read and that is shown to the user, whether or not the value is a fault */
struct probe_fact {
	const char *name; /* a word, as in JSON: "port" */
	char text[240];
};

struct probe_report {
	struct probe_finding finding[PROBE_FINDINGS_MAX];
	struct probe_fact fact[PROBE_FACTS_MAX];
	unsigned int n, nfacts;
	unsigned int faults, notes; /* numbers of faults and of notes in finding[] */
	unsigned int sent, lost; /* numbers of requests */
};

struct probe;

/* probe_create() - Begin a probe. Return: NULL if out of memory */
struct probe *probe_create(const struct probe_cfg *cfg);
void probe_free(struct probe *p);

/*
 * probe_next() - Return: true: *@ret must be sent now; false: there is nothing to send until a MAD arrives or until
 * probe_deadline()
 */
bool probe_next(struct probe *p, struct survey_mad *ret, ns_t now);
/*
 * probe_recv() - Process a received MAD. If it comes from the SA, it may be longer than 256 octets. A MAD that does
 * not answer the open request is ignored
 */
void probe_recv(struct probe *p, const void *mad, size_t len, ns_t now);
/*
 * probe_lost() - Record that the transport has given up a request, of which @mad has at least the
 * 24 octets of the header
 */
void probe_lost(struct probe *p, const void *mad, size_t len, ns_t now);
/*
 * probe_deadline() - Return the time at which probe_next() must be called even if no MAD arrives; NS_NEVER: there is
 * no such time
 */
ns_t probe_deadline(const struct probe *p);
bool probe_done(const struct probe *p);
/* probe_judge() - Judge the answers, after probe_done() */
void probe_judge(const struct probe *p, struct probe_report *ret);

#endif
