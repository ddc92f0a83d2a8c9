/* SPDX-License-Identifier: BSD-2-Clause */
#include "sidr/sidr.h"

#include "text/print.h"
#include "util/text.h"

/* Append the reason why a question failed. The reason does not contain the LID of the server. */
static void add_why(struct text *t, const struct sidr_result *r)
{
	char sa[SAC_STATUS_LEN], gid[PRINT_GID_LEN];

	switch (r->why) {
	case SIDR_OK:
		text_add(t, "SIDR: group %s", print_gid(gid, sizeof(gid), &r->group.dgid));
		break;
	case SIDR_NO_SERVICE:
		text_add(t, "the SA has no ServiceRecord of the service");
		break;
	case SIDR_SA:
		text_add(t, "ServiceRecord: %s", sac_status_print(sa, sizeof(sa), r->status));
		break;
	case SIDR_PATH:
		text_add(t, "PathRecord of the SIDR server: %s",
			 sac_status_print(sa, sizeof(sa), r->status));
		break;
	case SIDR_BUSY:
		text_add(t, "SIDR: cannot send, errno %d", -r->status);
		break;
	case SIDR_SILENT:
		text_add(t, "SIDR: no answer");
		break;
	case SIDR_REFUSED:
		text_add(t, "SIDR: Status %d (%s)", r->status,
			 print_sidr_status((unsigned int)r->status));
		break;
	case SIDR_VERSION:
		text_add(t, "SIDR: Ver %d, expected %d", r->status, SIDR_GROUP_VER);
		break;
	case SIDR_BAD_GROUP:
		text_add(t, "SIDR: no group of the partition (DLID 0x%04x, P_Key 0x%04x)",
			 r->group.dlid, r->group.pkey);
		break;
	case SIDR_DIFFERS:
		text_add(t, "SIDR: values differ from those of the group");
		break;
	}
}

char *sidr_result_print(char *buf, size_t size, const struct sidr_result *r)
{
	struct text t = { .buf = buf, .size = size };

	add_why(&t, r);
	if (r->server)
		text_add(&t, r->why == SIDR_SILENT ? " from LID %u" : ", from LID %u", r->server);
	return buf;
}
