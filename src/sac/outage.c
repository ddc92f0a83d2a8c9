/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "sac/op.h"

/*
 * There are times without an SA: its host answers for nobody (what Linux does for a class that no program serves),
 * it is too busy, or it is silent. That is nobody's refusal: what was agreed stays, requests go on. It is said when
 * it begins and, with what it cost, when it is over, not once for each of hundreds of requests.
 */

bool sac_status_is_outage(int status)
{
	return status == -ETIMEDOUT || status == -ENXIO || status == -EBUSY;
}

int sac_outage_status(int mad_status)
{
	switch (mad_status) {
	case MAD_STATUS_BAD_VERSION:
	case MAD_STATUS_BAD_METHOD:
	case MAD_STATUS_BAD_ATTR:
		return -ENXIO; /* all that we ask for is mandatory (IBTA 15.2.5, table 192) */
	case MAD_STATUS_BUSY:
		return -EBUSY;
	default:
		return mad_status;
	}
}

static void outage_begin(struct sac *s, int status, ns_t now)
{
	char text[SAC_STATUS_LEN];

	bool *said = status == -ENXIO	? &s->outage.absent
		     : status == -EBUSY ? &s->outage.busy
					: &s->outage.silent;

	if (!s->outage.failed++)
		s->outage.since = now;
	if (!*said)
		sac_log(s, LOG_LVL_WARN, "sa: SM LID %u: %s; asking on", s->port.sm_lid,
			sac_status_print(text, sizeof(text), status));
	*said = true;
}

/* Only what had its refusal from somebody else hurries: who is slow or lossy is not asked more often. */
static void outage_end(struct sac *s, ns_t now)
{
	bool absent = s->outage.absent;

	sac_log(s, LOG_LVL_INFO, "sa: SM LID %u answers again; %u requests were in vain in %llu ms",
		s->port.sm_lid, s->outage.failed,
		(unsigned long long)(now - s->outage.since) / NS_MSEC(1));
	s->outage = (struct sac_outage){ 0 };
	if (!absent)
		return;
	sac_groups_hurry(s, now);
	sac_inform_hurry(s, now);
	sac_paths_hurry(s);
}

void sac_outage_note(struct sac *s, int status, ns_t now)
{
	if (sac_status_is_outage(status))
		outage_begin(s, status, now);
	else if (s->outage.failed && status != -ECANCELED)
		outage_end(s, now);
}
