/* SPDX-License-Identifier: BSD-2-Clause */
#include "ca/ca.h"

#include <errno.h>

#include "util/list.h"

static const char *const event_names[] = {
	[CA_EVENT_PORT_ACTIVE] = "port active", [CA_EVENT_PORT_ERR] = "port error",
	[CA_EVENT_LID_CHANGE] = "LID change",	[CA_EVENT_PKEY_CHANGE] = "P_Key change",
	[CA_EVENT_SM_CHANGE] = "SM change",	[CA_EVENT_CLIENT_REREGISTER] = "client reregister",
	[CA_EVENT_GID_CHANGE] = "GID change",	[CA_EVENT_DEVICE_FATAL] = "device fatal",
	[CA_EVENT_DEVICE_BACK] = "device back",
};
static_assert(ARRAY_SIZE(event_names) == CA_EVENT_DEVICE_BACK + 1, "every event has a name");

const char *ca_event_name(enum ca_event ev)
{
	return (unsigned int)ev < ARRAY_SIZE(event_names) ? event_names[ev] : "?";
}

int ca_pkey_find(struct ca *ca, uint16_t pkey)
{
	uint16_t low = pkey & 0x7fff, entry;
	int limited = -ENOENT;

	for (unsigned int i = 0; low && i <= UINT16_MAX; i++) {
		if (ca_pkey_query(ca, (uint16_t)i, &entry))
			break; /* @i is past the end of the P_Key table */
		if ((entry & 0x7fff) != low)
			continue;
		if (entry & IB_PKEY_FULL)
			return (int)i;
		if (limited < 0)
			limited = (int)i;
	}
	return limited;
}
