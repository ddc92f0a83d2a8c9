/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "sac/op.h"

/*
 * An outage is a time without a working SA. Requests get no answer, or the answer is that the SA is
 * too busy, or that no SA runs on the port with the SM LID. (Linux answers so if no program serves
 * the SA class.) Such answers are not refusals: memberships and paths stay, and requests are
 * repeated. The log does not get a line for each request. It gets one line for each kind of failure
 * in an outage (no answer, too busy, no SA). When the outage is over, it gets one line with the
 * number of failed requests.
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
		/*
		 * IBTA 15.2.5, table 192: an SA must support every request that this client sends.
		 * So a port that does not support a request has no SA.
		 */
		return -ENXIO;
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

/*
 * Ends an outage. If a request was answered by a port without an SA, all requests that failed in
 * the outage are repeated at once. Otherwise the requests keep their back-off, because the SA may
 * be overloaded.
 */
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
	sac_services_hurry(s, now);
}

void sac_outage_note(struct sac *s, int status, ns_t now)
{
	if (sac_status_is_outage(status))
		outage_begin(s, status, now);
	else if (s->outage.failed && status != -ECANCELED)
		outage_end(s, now);
}
