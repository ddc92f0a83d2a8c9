/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_CASE_H
#define CONFORM_CASE_H

/*
 * A case judges one clause, or one side of it. There are three kinds:
 *
 *	run()	makes something happen, waits for what the DUT does about it, and judges that
 *	watch()	sees every packet of the DUT in the whole run, and judges those to which its clause applies
 *	neither	the clause says what other cases judge already, those in .after: it passes if they pass
 *
 * A case judges by check() and its relatives. The first check that fails decides: FAIL. If none failed and there was
 * one at least, the case passes. A case without any check is INCONCLUSIVE, so no case can pass by doing nothing.
 */

#include "conform/conform.h"
#include "world/group.h"

struct run;

struct conform_case {
	const char *id; /* the clause of CONFORMANCE.md, and "/WORD" if it has several cases */
	const char *title; /* what is judged, in one line */
	const char *section; /* of the document */
	const char *text; /* what the document demands */
	/*
	 * Ids of the cases that have to pass before this one can be judged, separated by blanks. If a watch() is among
	 * them it must not have failed, and then its failure explains this one's.
	 */
	const char *after;
	void (*run)(struct run *r);
	void (*watch)(struct run *r, const struct seen *s);
	bool slow; /* takes minutes: NA unless the user wants such cases */
};

struct conform_chapter {
	const char *name;
	const struct conform_case *v;
	size_t n;
};

/* A clause or case, and a reason. Tables end with an entry whose .id is NULL. */
struct conform_reason {
	const char *id, *why;
};

/* What a link profile is judged by. A row of data: no code asks which profile a DUT has. */
struct conform_profile {
	const char *name;
	const struct world_wire *wire;
	const struct conform_chapter *const
		*chapters; /* in the order in which they run, ends with NULL */
	const struct conform_reason *
		exempt; /* cases of these chapters that do not apply, because the profile does otherwise; may be NULL */
	const struct conform_reason
		*unseen; /* clauses of its own document without a case; may be NULL */
	void (*prepare)(
		struct world
			*w); /* makes what is in the subnet before the DUT comes; may be NULL */
};

/* The context of a case */
struct run {
	struct world *w;
	struct conform_result *res;
	uint64_t since; /* first packet that expect() considers */
	bool hooked; /* a step of the hook was begun */
	ns_t hooked_at; /* when */
	ns_t hook_time; /* how long the step may take, HOOK_TIME if the case says nothing */
	bool decided;
};

/* --- verdicts; only the first one counts */

/*
 * check() - Judge something; returns @ok
 * @s:	the packet that it is about, or NULL
 */
bool check(struct run *r, bool ok, const struct seen *s, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * check_octets() - The @n octets of @s from @at on must be @want; the report shows the packet that was expected
 * @at:		in s->raw, or in s->payload
 * @what:	name of the field
 */
bool check_octets(struct run *r, const struct seen *s, const uint8_t *at, const void *want,
		  size_t n, const char *what);
bool check_be16(struct run *r, const struct seen *s, const uint8_t *at, uint16_t want,
		const char *what);
bool check_be32(struct run *r, const struct seen *s, const uint8_t *at, uint32_t want,
		const char *what);
/*
 * check_own_address() - The link-layer address at @at must be that of the interface that sent @s, whose QPN is the source
 * QP. Its first octet is not looked at.
 */
bool check_own_address(struct run *r, const struct seen *s, const uint8_t *at, const char *what);
/* check_dgid() - The packet must have a GRH with this DGID */
bool check_dgid(struct run *r, const struct seen *s, const ib_gid *want, const char *what);
/* Something that did not come: FAIL, or INCONCLUSIVE if the hook could not do its step or the link is down */
void missing(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void not_applicable(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void inconclusive(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- acting and waiting */

/* How long a case waits for what a step makes the DUT do: the hook may have to start a program in a slow machine */
#define HOOK_TIME NS_SEC(60)

/* hook() - Make the DUT do something. False: it cannot; the case is INCONCLUSIVE and returns */
bool hook(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* hook_ended() - Wait for the end of the step begun last. False: it does not end; the case is INCONCLUSIVE */
bool hook_ended(struct run *r, ns_t timeout);
/* expect() - Wait for a packet of the DUT that it has sent since mark(), or since the case began. NULL: none */
const struct seen *expect(struct run *r, seen_match *match, const void *arg, ns_t timeout);
/* mark() - From now on, expect() considers only packets that are still to come */
void mark(struct run *r);
/* seen_since() - Whether the DUT has sent such a packet since mark() */
const struct seen *seen_since(struct run *r, seen_match *match, const void *arg);
/* ping_for() - Ping the DUT from a peer, at most three times, until it sends a certain packet; NULL: in vain within 9 s */
const struct seen *ping_for(struct run *r, const struct world_peer *p, size_t ip_len, uint16_t seq,
			    seen_match *match, const void *arg);
/* ping6_for() - The same by IPv6, whatever the link carries */
const struct seen *ping6_for(struct run *r, const struct world_peer *p, size_t ip_len, uint16_t seq,
			     seen_match *match, const void *arg);
/*
 * arp_request_for() - Ping the DUT from a peer of which it knows nothing; to answer it has to ask for the peer's address
 * @name:	name of the profile's ARP, for the message if it does not ask
 */
const struct seen *arp_request_for(struct run *r, const struct world_peer *p, const char *name);
/* answer_of() - The answer to a ping of a peer, or its first fragment, waited for in the same way */
const struct seen *answer_of(struct run *r, const struct world_peer *p, size_t ip_len);
/*
 * settle() - Ping the DUT from a peer that it knows, and wait for the answer. What the DUT has not sent by then in answer
 * to an earlier packet it will not send: packets and answers keep their order. False: no answer; the case has a verdict
 */
bool settle(struct run *r);

#endif
