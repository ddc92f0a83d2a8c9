/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_CASE_H
#define CONFORM_CASE_H

/*
 * A case judges one clause, or one aspect of a clause. There are three kinds:
 *
 *	run()	makes something happen, waits for the DUT's reaction, and judges the reaction
 *	watch()	sees every packet of the DUT in the whole run, and judges those to which its clause applies
 *	neither	the clause repeats what the cases in .after judge already, so it passes if they pass
 *
 * A case judges by the check functions below. With the first check that fails, the verdict is FAIL. If there were
 * checks and none failed, the case passes. A case without any check is INCONCLUSIVE, so no case can pass by doing
 * nothing.
 */

#include "conform/conform.h"
#include "world/group.h"

struct run;

struct conform_case {
	/* id of the clause in CONFORMANCE.md; "/WORD" follows if the clause has several cases */
	const char *id;
	const char *title; /* judged behaviour, as a short sentence */
	const char *section; /* section of the document */
	const char *text; /* the demand of the clause, in the words of the document */
	/*
	 * Ids of the cases, separated by blanks, that must have passed before this case can be
	 * judged. For a case with watch() in this list it is enough that it has not failed. If this
	 * case fails, and a case in the list has failed, too, the report names the case in the list
	 * as the probable cause.
	 */
	const char *after;
	void (*run)(struct run *r);
	void (*watch)(struct run *r, const struct seen *s);
	/* the case takes minutes; its verdict is NA unless the user asked for slow cases */
	bool slow;
};

struct conform_chapter {
	const char *name;
	const struct conform_case *v;
	size_t n;
};

/*
 * A clause or case (.id), and the reason (.why) why the clause has no case or the case does not
 * apply. A table of such entries ends with an entry whose .id is NULL.
 */
struct conform_reason {
	const char *id, *why;
};

/*
 * A link profile: the chapters with which a DUT of this profile is judged, and the exceptions. All
 * differences between profiles are members of this struct; no code asks which profile a DUT has.
 */
struct conform_profile {
	const char *name;
	const struct world_wire *wire;
	/* the chapters in the order in which they run; ends with NULL */
	const struct conform_chapter *const *chapters;
	/* cases of these chapters that do not apply to the profile; may be NULL */
	const struct conform_reason *exempt;
	/* clauses of the profile's own document that have no case; may be NULL */
	const struct conform_reason *unseen;
	/*
	 * called before the DUT is attached; adds to the subnet the groups or settings that the
	 * profile needs; may be NULL
	 */
	void (*prepare)(struct world *w);
};

/* The context of a case */
struct run {
	struct world *w;
	struct conform_result *res;
	uint64_t since; /* log number of the first packet that expect() considers */
	bool hooked; /* true after the case has made the user's hook program do a step */
	ns_t hooked_at; /* time at which this step was begun */
	/*
	 * longest time that the latest step of the hook program may take; HOOK_TIME unless the case
	 * sets it
	 */
	ns_t hook_time;
	bool decided;
};

/* --- functions that give verdicts; only the first verdict of a case counts */

/*
 * check() - Judge one condition. Return: @ok
 * @s:	the packet to which the condition applies, or NULL
 */
bool check(struct run *r, bool ok, const struct seen *s, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * check_octets() - Judge whether the @n octets of packet @s that begin at @at are equal to @want.
 * If the octets differ, the report shows the expected packet, too.
 * @at:	address in s->raw, or in s->payload
 * @what:	name of the field
 */
bool check_octets(struct run *r, const struct seen *s, const uint8_t *at, const void *want,
		  size_t n, const char *what);
bool check_be16(struct run *r, const struct seen *s, const uint8_t *at, uint16_t want,
		const char *what);
bool check_be32(struct run *r, const struct seen *s, const uint8_t *at, uint32_t want,
		const char *what);
/*
 * check_own_address() - Judge whether the link-layer address at @at is the address of the interface
 * that sent packet @s: its GID, and the source QP of @s as the QPN. check_own_address() ignores the
 * first octet of the address.
 */
bool check_own_address(struct run *r, const struct seen *s, const uint8_t *at, const char *what);
/* check_dgid() - Judge whether the packet has a GRH with this DGID */
bool check_dgid(struct run *r, const struct seen *s, const ib_gid *want, const char *what);
/*
 * missing() - Report that an expected packet did not come. The verdict is NA if the hook program has
 * reported that the DUT's system cannot do the step. It is INCONCLUSIVE if the step failed or has
 * not ended in time, if the link is down, or if the run was interrupted. Otherwise it is FAIL.
 */
void missing(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void not_applicable(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void inconclusive(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- acting and waiting */

/*
 * Longest time that a case waits for the effect of a step of the hook program, which may have to
 * start another program on a slow machine
 */
#define HOOK_TIME NS_SEC(60)

/*
 * hook() - Start the user's hook program, which makes the DUT do a step. The function does not wait
 * for the end of the step. Return: false if there is no hook program, or if it cannot be started;
 * then the verdict is INCONCLUSIVE, and the caller must return
 */
bool hook(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * hook_ended() - Wait until the hook program has ended its latest step. Return: false if the step
 * did not end within @timeout; the verdict is then INCONCLUSIVE
 */
bool hook_ended(struct run *r, ns_t timeout);
/*
 * expect() - Wait for a packet that the DUT has sent since mark(), or since the case began. Return:
 * NULL if no packet that @match accepts came within @timeout
 */
const struct seen *expect(struct run *r, seen_match *match, const void *arg, ns_t timeout);
/* mark() - Let expect() consider only packets that arrive after this call */
void mark(struct run *r);
/*
 * seen_since() - Find a packet that the DUT has sent since mark() and that @match accepts. Return:
 * NULL if there is none
 */
const struct seen *seen_since(struct run *r, seen_match *match, const void *arg);
/*
 * ping_for() - Ping the DUT from a peer, at most three times, until the DUT sends a packet that
 * @match accepts. Return: NULL if no such packet came within 9 s
 */
const struct seen *ping_for(struct run *r, const struct world_peer *p, size_t ip_len, uint16_t seq,
			    seen_match *match, const void *arg);
/* ping6_for() - Like ping_for(), but always by IPv6, even if the link carries IPv4 */
const struct seen *ping6_for(struct run *r, const struct world_peer *p, size_t ip_len, uint16_t seq,
			     seen_match *match, const void *arg);
/*
 * arp_request_for() - Ping the DUT from a peer that is new to the DUT. The DUT has to send an ARP
 * request for the peer's address before it can answer the ping
 * @name:	name of the profile's ARP, for the message if the DUT sends no ARP request
 */
const struct seen *arp_request_for(struct run *r, const struct world_peer *p, const char *name);
/* answer_of() - Ping the DUT from a peer, as ping_for() does. Return: the answer, or its first fragment */
const struct seen *answer_of(struct run *r, const struct world_peer *p, size_t ip_len);
/*
 * settle() - Make sure that the DUT will send nothing more in answer to earlier packets: ping the
 * DUT from a peer that it knows, and wait for the answer. If the answer has come, all earlier
 * answers have come, too, because packets and answers keep their order. Return: false if no answer
 * came; then the case has a verdict
 */
bool settle(struct run *r);

#endif
