/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIDR_SIDR_H
#define SIDR_SIDR_H

/*
 * DOC: A client that learns the addresses of an IBARP group by SIDR
 *
 * Draft-pelissier-ipoib-encaparp-00 section 6.2: SIDR gives the SL, DLID, TClass, FlowLabel,
 * HopLmt, DGID, P_Key and Q_Key with which an IBARP request is multicast. A question has three
 * steps, and each step needs the answer to the previous step:
 *
 *	SERVICE		the SA returns the port that offers the ServiceID in the partition (ServiceRecord)
 *	PATH		the SA returns the path to this port (PathRecord)
 *	REQUEST		that port answers a SIDR_REQ
 *
 * A question is repeated until it is answered. It is asked again when the SA client was restarted
 * (ClientReregister, another SM or LID), because then another server may answer, or the group may
 * have another MLID. If several ports offer the service, each attempt asks the next port
 * (sidr/order.h), 1 s after the failure of the previous attempt. When all ports have failed, the
 * next round begins 1 s later. This delay doubles with each further round, up to 16 s.
 *
 * The SIDR_REQ is sent with the P_Key of the partition. If the SA knows no path with this P_Key,
 * the SIDR_REQ is sent with the default P_Key: the server may be a subnet manager, which need not
 * be a member of the partition. Redirection (Status 4) counts as a refusal.
 */

#include "cm/cm.h"
#include "sac/sac.h"
#include "sidr/order.h"

#define SIDR_BACKOFF_MIN NS_SEC(1)
#define SIDR_BACKOFF_MAX NS_SEC(16)

enum sidr_why {
	SIDR_OK,
	SIDR_NO_SERVICE, /* the SA has no ServiceRecord for this ServiceID and P_Key */
	SIDR_SA, /* the question for the ServiceRecord failed; status as in sac.h */
	SIDR_PATH, /* the question for the PathRecord failed; status as in sac.h */
	SIDR_BUSY, /* the request could not be made; status is a negative errno */
	SIDR_SILENT, /* the server does not answer */
	SIDR_REFUSED, /* status is the Status of the SIDR_REP */
	SIDR_VERSION, /* status is the Ver of the private data */
	SIDR_BAD_GROUP, /* DGID and DLID are not those of a group, or the P_Key is not that of the partition */
	/* the values differ from those with which the group was joined, see sidr_again() */
	SIDR_DIFFERS,
};

struct sidr_result {
	enum sidr_why why;
	int status;
	uint16_t server; /* LID of the server; 0: none was chosen yet */
	/* The values in the answer; valid with SIDR_OK, SIDR_VERSION and SIDR_BAD_GROUP. */
	struct sidr_group group;
};

enum sidr_state {
	SIDR_STATE_IDLE, /* there is no question */
	SIDR_STATE_WAIT_PORT, /* the port cannot reach an SA; SAC_EV_RESTART ends this state */
	SIDR_STATE_START, /* the timer will begin the first step, which ends this state */
	SIDR_STATE_SERVICE,
	SIDR_STATE_PATH,
	SIDR_STATE_REQUEST,
	SIDR_STATE_BACKOFF, /* the next attempt is delayed; the timer ends this state */
	SIDR_STATE_DONE, /* answered; SAC_EV_RESTART, sidr_again() and sidr_refresh() end this state */
};

/* A question. The caller zeroes the struct and sets @done; everything else is private. */
struct sidr_ask {
	/* Called after every attempt, never inside a call to a function of this file. @r is borrowed */
	void (*done)(struct sidr_ask *a, const struct sidr_result *r, ns_t now);
	enum sidr_state state;
	struct cm *cm;
	struct sac *sac;
	uint64_t service_id;
	/* pkey: P_Key of the link; via: P_Key with which the SIDR_REQ is sent */
	uint16_t pkey, via;
	/* number of rounds in which all servers failed; begin() and sidr_good() set it to 0 */
	unsigned int rounds;
	unsigned int attempts; /* number of attempts since the caller zeroed the struct */
	uint16_t server; /* LID of the server that was chosen last; 0: none */
	ib_gid server_gid;
	struct sidr_order order;
	bool last; /* true if the present server is the last server of the round */
	struct timer timer;
	struct sac_user user;
	struct sac_service_query query;
	struct sac_path_wait path;
	struct cm_request request;
};

/*
 * sidr_start() - Ask for the group of service @service_id in the partition of @pkey, until sidr_stop()
 * @pkey:	P_Key of the link, with bit 15
 *
 * If the result is SIDR_OK, the answer has passed these checks: Ver is 1, DGID is an MGID, DLID is
 * an MLID, and the P_Key has the same low 15 bits as @pkey.
 */
void sidr_start(struct cm *cm, struct sac *sac, struct sidr_ask *a, uint64_t service_id,
		uint16_t pkey, ns_t now);
/* sidr_stop() - Drop the question; no effect if there is no question */
void sidr_stop(struct sidr_ask *a);
/*
 * sidr_again() - Report that the values of the last answer are wrong, such as a DLID that is not the group's MLID.
 * The next server is asked after the back-off, as after a failure. No effect except in SIDR_STATE_DONE
 */
void sidr_again(struct sidr_ask *a, ns_t now);
/*
 * sidr_refresh() - Repeat the question at once, because the values of the last answer are no longer
 * right. The server of the last answer is asked first. No effect in any state but SIDR_STATE_DONE
 */
void sidr_refresh(struct sidr_ask *a, ns_t now);
/*
 * sidr_good() - Report that the values of the last answer are right, so that the next back-off
 * begins with 1 s again. The call cancels the effect of an earlier sidr_again(). Call this function
 * only if an answer has come since sidr_start() and since the last restart of the SA client
 */
void sidr_good(struct sidr_ask *a);

const char *sidr_state_name(enum sidr_state st);

#define SIDR_RESULT_LEN 96
/*
 * sidr_result_print() - Write a result as text, such as "SIDR: Status 1 (ServiceID not supported)
 * from LID 7"; at most @size octets with the NUL
 */
char *sidr_result_print(char *buf, size_t size, const struct sidr_result *r);

#endif
