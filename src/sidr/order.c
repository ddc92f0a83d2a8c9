/* SPDX-License-Identifier: BSD-2-Clause */
#include "sidr/order.h"

void sidr_order_init(struct sidr_order *o, uint64_t random0, uint64_t random1)
{
	*o = (struct sidr_order){ .key = { random0, random1 }, .made = true, .again = true };
}

void sidr_order_offer(struct sidr_order *o, const ib_gid *gid)
{
	uint64_t place = hash_siphash(&o->key, gid->raw, sizeof(gid->raw)), distance;

	if (!o->begun) {
		o->begun = true;
		o->turn = place;
	}
	/*
	 * After a failure, distances are measured from the place after the server that failed, so
	 * this server comes last.
	 */
	distance = place - o->turn - o->failed;
	if (!o->offers || distance < o->near) {
		o->second = o->near;
		o->near = distance;
		o->gid = *gid;
		o->offers++;
	} else if (distance > o->near && (o->offers == 1 || distance < o->second)) {
		o->second = distance;
		o->offers++;
	}
}

bool sidr_order_choose(struct sidr_order *o, ib_gid *ret)
{
	uint64_t from = o->turn + o->failed;
	/* distance on the ring from @from to the server with which the round began */
	uint64_t end = o->first - from;
	bool more = o->offers > 1;

	o->turn = from + o->near;
	if (o->again || o->near >= end) {
		o->again = false;
		o->first = o->turn;
	} else {
		more = more && o->second < end;
	}
	o->failed = false;
	o->offers = 0;
	*ret = o->gid;
	return !more;
}

void sidr_order_failed(struct sidr_order *o)
{
	o->failed = true;
}

void sidr_order_restart(struct sidr_order *o)
{
	o->again = true;
}

void sidr_order_answered(struct sidr_order *o)
{
	o->answered = o->turn;
}

void sidr_order_good(struct sidr_order *o)
{
	o->turn = o->answered;
	o->failed = false;
	o->again = true;
}
