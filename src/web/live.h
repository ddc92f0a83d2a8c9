/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_LIVE_H
#define WEB_LIVE_H

/*
 * DOC: Following an instance
 *
 * This file chooses the next question to the instance. From the answers it makes the model of the
 * fabrics, the sections (interfaces, subnet managers, groups, partitions), and events for the
 * clients. While there are no clients, no questions are asked. The rate of the questions depends on
 * the time that the answers take, so that the questions do not overload an instance with a large
 * fabric.
 */

#include "web/model.h"

#define WEB_LIVE_PERIOD NS_SEC(1) /* shortest time between two readings of the load */
#define WEB_LIVE_SHARE 20 /* reading the load takes at most 1/20 of the time */
/* shortest time between two readings if an event, such as a change of a link, causes the second */
#define WEB_LIVE_SOON NS_MSEC(100)
#define WEB_LIVE_SECTIONS NS_SEC(5) /* longest time until the sections are read again */
#define WEB_LIVE_MAP NS_SEC(60) /* longest time until the map is read again */
/* time without a client after which the server stops asking the instance */
#define WEB_LIVE_IDLE NS_SEC(30)
#define WEB_LIVE_PART 128 /* largest number of nodes in one answer */

enum web_section { WEB_INTERFACES, WEB_SMS, WEB_GROUPS, WEB_PARTITIONS, WEB_SECTIONS };

/*
 * web_section_name() - Return: the name of a section, which is used in events and in HTTP paths:
 * "interfaces", "sms", "groups" or "partitions"
 */
const char *web_section_name(enum web_section s);

struct web_live {
	struct web_model model;
	struct web_ring ring;
	struct web_live_section {
		/*
		 * the rows of the section as text, a JSON array; NULL: the section was never read
		 */
		char *text;
		bool dirty;
		ns_t at;
	} section[WEB_SECTIONS];
	enum {
		WEB_LIVE_REST, /* no question is under way */
		WEB_LIVE_READS_SECTION,
		WEB_LIVE_READS_FABRICS,
		WEB_LIVE_READS_MAP,
		WEB_LIVE_READS_LOAD
	} doing;
	enum web_section which; /* section that is being read */
	json_t *rows; /* rows of the map that is being read, as for web_model_build() */
	/* index of the fabric that is read, and of the first node of the part that is read */
	unsigned int fabric, from;
	/*
	 * map_dirty: the map must be read again; loaded: the load of all links was read since the
	 * map was read
	 */
	bool map_dirty, loaded;
	/* time of the last web_live_want(), which reports that there is a client; 0: none */
	ns_t wanted;
	ns_t map_at, began, load_due, soon;
};

/*
 * web_live_init() - Make a struct without data; @first is the number of the first event, as for
 * web_ring_init()
 */
void web_live_init(struct web_live *l, uint64_t first);
void web_live_fini(struct web_live *l);

/* web_live_want() - Report a client. After WEB_LIVE_IDLE without one, all data are read again */
void web_live_want(struct web_live *l, ns_t now);
/* web_live_ready() - Tell whether all data for a snapshot have been read */
bool web_live_ready(const struct web_live *l);

/*
 * web_live_next() - Return the question that should be asked now. The caller takes @ret_args, which
 * may be NULL. Return: false if no question is due before the time that web_live_due() returns
 */
bool web_live_next(struct web_live *l, ns_t now, const char **ret_cmd, json_t **ret_args);
/* web_live_due() - Return the time of the next question; NS_NEVER: there is none until web_live_want() is called */
ns_t web_live_due(const struct web_live *l, ns_t now);

/*
 * web_live_answer() - Process @rows, the answer to the question that web_live_next() returned.
 * @unix_ms: the same time as @now, in milliseconds of Unix time
 */
void web_live_answer(struct web_live *l, json_t *rows, ns_t now, long long unix_ms);

/* web_live_event() - Process a row of the command "monitor", which reports an event */
void web_live_event(struct web_live *l, json_t *row, ns_t now);

/*
 * web_live_snapshot() - Make the answer to /api/snapshot, which the caller frees. Return: 0 or
 * -ENOMEM
 */
int web_live_snapshot(const struct web_live *l, const char *instance, char **ret, size_t *ret_len);

#endif
