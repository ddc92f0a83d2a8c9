/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_SLICES_H
#define CTL_SLICES_H

/*
 * DOC: Answers with the rows of large tables
 *
 * A row takes several microseconds. An answer that may have thousands of rows is therefore sent in slices. All clients
 * together get one slice in 2 ms, and take turns, so their number does not matter to the packets that the instance
 * serves in between. A client that leaves 1 MiB of its answer unread gets no further rows until it reads.
 */

#include "ctl/req.h"

/* An answer that is sent in slices. The command sets .some and .done before ctl_slices_hold(). */
struct ctl_slices {
	struct ctl_hold hold;
	/*
	 * Sends the rows of about @n entries of a table; many free places count as an entry. Return:
	 * false if no entries are left
	 */
	bool (*some)(struct ctl_slices *s, unsigned int n);
	/* Called when no entries are left; ends the answer, or prepares another table */
	void (*done)(struct ctl_slices *s);
	struct ctl *ctl;
	struct list link; /* link in ctl.slices while entries are left */
};

/* ctl_slices_hold() - Answer a request in slices. @gone is called if the client disconnects (ctl_hold()) */
void ctl_slices_hold(struct ctl_slices *s, struct ctl_req *r, void (*gone)(struct ctl_hold *h));

/*
 * ctl_slices_begin() - Begin with a table. Its first slice is sent at once, unless there was a slice less than 2 ms ago.
 * So s->done() may have been called, and may have freed @s, when the function returns.
 */
void ctl_slices_begin(struct ctl_slices *s, ns_t now);

/* ctl_slices_stop() - Send no further slices of the table */
void ctl_slices_stop(struct ctl_slices *s);

#endif
