/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_LIVE_H
#define WEB_LIVE_H

/*
 * DOC: Following an instance
 *
 * This file chooses the next question to the instance, and makes from the answers the model of the fabrics, sections
 * (interfaces, subnet managers, groups, partitions), and events for the clients. While there are no clients, it asks
 * nothing. The rate of the questions depends on the time that the answers take, so that they do not overload an
 * instance with a large fabric.
 */

#include "web/model.h"

#define WEB_LIVE_PERIOD NS_SEC(1) /* shortest time between two readings of the load */
#define WEB_LIVE_SHARE 20 /* a reading takes at most one part in so many of the time */
#define WEB_LIVE_SOON NS_MSEC(100) /* shortest time between two readings when links change */
#define WEB_LIVE_SECTIONS NS_SEC(5) /* sections are read again at least so often */
#define WEB_LIVE_MAP NS_SEC(60) /* the map is read again at least so often */
#define WEB_LIVE_IDLE NS_SEC(30) /* time after the last request at which following ends */
#define WEB_LIVE_PART 128 /* nodes of one answer */

enum web_section { WEB_INTERFACES, WEB_SMS, WEB_GROUPS, WEB_PARTITIONS, WEB_SECTIONS };

/* web_section_name() - As in events and in paths: "interfaces", "sms", "groups", "partitions" */
const char *web_section_name(enum web_section s);

struct web_live {
	struct web_model model;
	struct web_ring ring;
	struct web_live_section {
		char *text; /* an array, JSON; NULL: never read */
		bool dirty;
		ns_t at;
	} section[WEB_SECTIONS];
	enum {
		WEB_LIVE_REST, /* nothing is asked */
		WEB_LIVE_READS_SECTION,
		WEB_LIVE_READS_FABRICS,
		WEB_LIVE_READS_MAP,
		WEB_LIVE_READS_LOAD
	} doing;
	enum web_section which; /* section that is read */
	json_t *rows; /* rows of the map that is being read, as for web_model_build() */
	unsigned int fabric, from; /* part that is read */
	bool map_dirty, loaded; /* .loaded: the load of all links was read since the map */
	ns_t wanted; /* time of the last request; 0: none */
	ns_t map_at, began, load_due, soon;
};

/* web_live_init() - @first: for web_ring_init() */
void web_live_init(struct web_live *l, uint64_t first);
void web_live_fini(struct web_live *l);

/* web_live_want() - Report that there is a client. After a pause all data are read again */
void web_live_want(struct web_live *l, ns_t now);
/* web_live_ready() - True if a snapshot can be made */
bool web_live_ready(const struct web_live *l);

/*
 * web_live_next() - Return the question that should be asked now. The caller takes @ret_args, which may be NULL.
 * False: there is no question before web_live_due()
 */
bool web_live_next(struct web_live *l, ns_t now, const char **ret_cmd, json_t **ret_args);
/* web_live_due() - Return the time of the next question; NS_NEVER: there is none until web_live_want() is called */
ns_t web_live_due(const struct web_live *l, ns_t now);

/* web_live_answer() - The rows of the answer. @unix_ms: the same time as @now, in milliseconds of Unix time */
void web_live_answer(struct web_live *l, json_t *rows, ns_t now, long long unix_ms);

/* web_live_event() - A row of "monitor" */
void web_live_event(struct web_live *l, json_t *row, ns_t now);

/* web_live_snapshot() - The answer to /api/snapshot, allocated. 0 or -ENOMEM */
int web_live_snapshot(const struct web_live *l, const char *instance, char **ret, size_t *ret_len);

#endif
