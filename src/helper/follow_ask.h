/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HELPER_FOLLOW_ASK_H
#define HELPER_FOLLOW_ASK_H

/*
 * The daemon asks the helper process whether the name of a host's namespace still names the same
 * namespace (netdev_post_ns_follow()). This file decides when the daemon asks, and interprets the
 * answers. This file does no I/O and reads no clock.
 *
 * The helper process is asked when a name was added or removed in the folder that contains the
 * namespace's file, for example /run/netns. It is also asked every ten seconds, because not every
 * change shows in the folder: a namespace can be unmounted from its name, and another namespace can
 * be mounted over the name. While the namespace is gone, the helper process is asked every second,
 * because a namespace is mounted on its name some time after the name was added. A question waits
 * for the answer to the previous question. If a namespace is deleted and made again repeatedly, the
 * intervals between questions grow, up to ten seconds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/ns.h"

enum follow_change {
	FOLLOW_SAME, /* the answer reports no change */
	FOLLOW_LOST, /* the name no longer names the namespace that was open */
	FOLLOW_CAME, /* a namespace was opened, and its files came with the answer */
};

struct follow {
	/* number that the helper process gave to the namespace that was opened last */
	uint32_t gen;
	bool present; /* true while the namespace exists, as far as the answers show */
	bool asked; /* a question was sent to the helper process and is not answered yet */
	bool event; /* a name was added to or removed from the folder since the last question */
	/*
	 * number of losses in a row; begins at 1 again if the lost namespace had existed for at
	 * least a minute
	 */
	unsigned int losses;
	ns_t came; /* time at which the namespace was opened */
	ns_t not_before; /* earliest time of the next question to the helper process */
	/* time of the next question to the helper process, even if the folder does not change */
	ns_t look_at;
};

/*
 * follow_init() - Begin to follow a namespace that is open, and to which the helper process gave
 * the number 1
 */
void follow_init(struct follow *f, ns_t now);

/* follow_event() - Note that a name was added to or removed from the folder */
void follow_event(struct follow *f);

/*
 * follow_next() - Return the time of the next question to the helper process, which may be in the
 * past; NS_NEVER if an answer is awaited
 */
ns_t follow_next(const struct follow *f);

/*
 * follow_asked() - Record that a question is sent now
 *
 * When a namespace was replaced, the first answer is that the old namespace is gone, and the next answer has the
 * files of the new namespace. So the daemon closes the files of the old namespace before it receives the files
 * of the new namespace. The order matters when the daemon has reached its limit of open files.
 * Return: number of the namespace to ask about; 0 while no namespace is present
 */
uint32_t follow_asked(struct follow *f);

/**
 * follow_answered() - Process an answer
 * @gen:	value of the answer. 0: the namespace in the question is gone; above 0: the helper's
 *		number of the namespace that is open; -errno: the helper process could not tell, for
 *		example because it has too many files open
 */
enum follow_change follow_answered(struct follow *f, int gen, ns_t now);

#endif
