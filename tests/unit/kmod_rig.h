/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_KMOD_RIG_H
#define TESTS_UNIT_KMOD_RIG_H

/*
 * Those parts of kmod (the kernel module) that implement the link, the port and the agents of a
 * device. They are compiled for user space with tests/kernel/kernel.h; the parts that implement the
 * verbs are left out. The rig takes the place of the socket, the work queue and ib_core.
 */

#include <stdbool.h>
#include <stdint.h>

struct uib_dev;

#define KMOD_RIG_GUID 0x0002c90300000101ull

struct uib_dev *kmod_rig_new(void);
void kmod_rig_free(struct uib_dev *dev);

/*
 * kmod_rig_mad() - Call process_mad() with the MAD @in. Returns false if there is no answer;
 * otherwise @ret gets the 256 octets of the answer
 */
bool kmod_rig_mad(struct uib_dev *dev, const void *in, void *ret);

/*
 * kmod_rig_advance() - Let @ms milliseconds pass, but at least one jiffy (4 ms), and run the work
 * items and timers that become due in this time
 */
void kmod_rig_advance(struct uib_dev *dev, unsigned int ms);

/* kmod_rig_count() - Add @n to a counter of the port */
enum kmod_rig_counter {
	KMOD_RIG_XMIT_DATA,
	KMOD_RIG_RCV_DATA,
	KMOD_RIG_XMIT_PKTS,
	KMOD_RIG_RCV_PKTS,
	KMOD_RIG_MCAST_RCV,
	KMOD_RIG_RCV_ERRORS,
	KMOD_RIG_RCV_MALFORMED,
	KMOD_RIG_XMIT_MTU,
	KMOD_RIG_LINK_DOWNED,
	KMOD_RIG_RCV_SL3,
	KMOD_RIG_COUNTERS,
};
void kmod_rig_count(struct uib_dev *dev, enum kmod_rig_counter c, uint64_t n);

/* kmod_rig_hears() - Let a keepalive of the peer arrive */
void kmod_rig_hears(struct uib_dev *dev);

/* kmod_rig_link() - Return the state of the link, as debugfs shows it */
const char *kmod_rig_link(const struct uib_dev *dev);

/* kmod_rig_log() - Return the last line that the device has logged; "" if there is none */
const char *kmod_rig_log(void);

/*
 * kmod_rig_event() - Return how often the device has raised the asynchronous event @type (enum
 * ib_event_type)
 */
unsigned int kmod_rig_event(unsigned int type);

/*
 * kmod_rig_sent() - Return the last trap that the SMA sent. @ret_n gets the number of traps that
 * the SMA has sent
 */
const void *kmod_rig_sent(unsigned int *ret_n);

#endif
