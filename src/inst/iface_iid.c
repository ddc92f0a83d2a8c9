/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/iface_iid.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "os/file.h"

#define MACHINE_ID "/etc/machine-id"

/*
 * Makes the secret of the machine from machine-id(5), which has 32 hexadecimal digits and which
 * programs should not show. If the file holds the text "uninitialized", there is no identifier.
 */
static int machine_secret(uint8_t ret[IPOIB_STABLE_SECRET])
{
	size_t len, n = 0;
	char *text;
	int err = file_read(MACHINE_ID, &text, &len);

	if (err)
		return err;
	while (n < len && isxdigit((unsigned char)text[n]))
		n++;
	if (n == 32)
		ipoib_machine_secret(ret, text, n);
	free(text);
	return n == 32 ? 0 : -ENOENT;
}

int iface_iid_secret(const struct conf_iface *c, uint8_t ret[IPOIB_STABLE_SECRET],
		     char err[INST_ERR_MAX])
{
	int status = 0;

	if (c->iid != CONF_IID_STABLE)
		return 0;
	memcpy(ret, c->secret, IPOIB_STABLE_SECRET);
	status = c->secret_given ? 0 : machine_secret(ret);
	if (status)
		snprintf(err, INST_ERR_MAX,
			 "interface %s@%s: ip6-secret: missing, expected because " MACHINE_ID
			 " has no identifier of the machine: %s",
			 c->name, c->host, strerror(-status));
	return status;
}

int iface_iid_init(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	uint8_t secret[IPOIB_STABLE_SECRET];
	char name[IFNAMSIZ + CONF_NAME_MAX];
	int status;

	i->iid.from = c->iid;
	if (c->iid != CONF_IID_STABLE)
		return 0;
	status = iface_iid_secret(c, secret, err);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%s@%s", c->name, c->host);
	ipoib_stable_secret(i->iid.secret, secret, i->port->ifc.guid, c->pkey, name);
	return 0;
}

bool iface_iid_own(const struct inst_iface *i, uint8_t ret[8])
{
	struct ipoib_link_info info;

	ipoib_link_info(i->ifc.ipoib, &info);
	if (i->iid.from == CONF_IID_STABLE)
		return false;
	if (i->iid.from == CONF_IID_LID)
		ipoib_iid_from_lid(ret, info.port.lid);
	else
		info.profile->iid(ret, ib_gid_guid(&info.lladdr.gid));
	return true;
}
