/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_BY_PKEY_H
#define INST_BY_PKEY_H

/*
 * DOC: An interface for each P_Key of a port
 *
 * A section of the configuration can have a profile that names interfaces by P_Key (struct
 * ipoib_profile.ifname). Such a section makes an interface for each P_Key in the table of its port.
 * If the section has a list of P_Keys, only the P_Keys that are also in this list get an interface.
 * When its P_Key enters the table, an interface gets a TAP of the section and joins the broadcast
 * group. The network device appears in the host only after the join, so a partition whose broadcast
 * group does not exist has no device. When the P_Key leaves the table, the interface ends, and its
 * TAP is free for another P_Key.
 *
 * A daemon without privileges cannot make TAPs, so the helper process makes all TAPs of a section when the daemon
 * starts (helper/spare.c).
 */

#include "ifc/pkeys.h"
#include "inst/inst.h"

enum by_pkey_tap_state {
	/* the TAP is in the parking namespace, and all its frames have been read */
	BY_PKEY_TAP_FREE,
	BY_PKEY_TAP_USED, /* in use by an interface */
	/* the helper process is moving the TAP back to the parking namespace */
	BY_PKEY_TAP_RETURNS,
	/*
	 * the TAP is in the parking namespace, but may still have frames that the host sent; these
	 * frames are read and dropped
	 */
	BY_PKEY_TAP_DRAINS,
	BY_PKEY_TAP_LOST, /* another program deleted the TAP, or moved it to another namespace */
};

struct by_pkey_tap {
	struct by_pkey *of;
	struct tap tap; /* the TAP; the interface that uses it has a copy of this struct */
	uint32_t number; /* number of the TAP in requests to the helper process */
	enum by_pkey_tap_state state;
	bool asked; /* true if the helper process was asked to park the TAP */
};

struct by_pkey {
	struct list link; /* link in inst.by_pkeys */
	struct inst *inst;
	struct inst_host *host;
	struct inst_port *port;
	/*
	 * configuration of the section; its member .netns is NULL, because the string is freed with
	 * the struct conf of the file
	 */
	struct conf_iface conf;
	unsigned int ca; /* number of the port's CA on the host: N in the device name uipoibN */
	struct ifc_pkeys pkeys;
	struct by_pkey_tap *tap; /* array of conf.devices TAPs */
	/* timer that repeats requests for which the queue of the helper process was full */
	struct timer again;
	/* timer for reading the frames that wait in TAPs of the state BY_PKEY_TAP_DRAINS */
	struct timer drain;
	bool stopped; /* true after by_pkey_stop(): no further interface gets a TAP */
};

/**
 * by_pkey_add() - Make the TAPs of a section, and follow the P_Keys of its port
 *
 * Return: 0 or -errno, with a message in @err
 */
int by_pkey_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX]);

/*
 * by_pkey_init() - Initialize the members that the other functions need, in a zeroed struct whose .inst, .host, .port
 * and .conf are set
 */
void by_pkey_init(struct by_pkey *b);
/*
 * by_pkey_stop() - Stop following the P_Key table of the port. Existing interfaces stay, and no
 * more interfaces get a TAP
 */
void by_pkey_stop(struct by_pkey *b);
/* by_pkey_destroy() - Free a section whose interfaces have all ended */
void by_pkey_destroy(struct by_pkey *b);

/*
 * by_pkey_release() - Move the TAP @t, which its interface no longer needs, back to the parking
 * namespace
 * @tap:	copy of the TAP that the interface has used; the function stores its counters in @t
 */
void by_pkey_release(struct by_pkey_tap *t, const struct tap *tap);

/*
 * by_pkey_up() - Tell whether at least one interface of the section is up, and every other
 * interface waits in vain. An interface waits in vain if its broadcast group does not exist or all
 * TAPs are in use. @why as in inst_up()
 */
bool by_pkey_up(const struct by_pkey *b, char why[INST_ERR_MAX]);

#endif
