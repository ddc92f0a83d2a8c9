/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/kmod_rig.h"

#include <stdarg.h>

#include "uib.h"

unsigned long fake_jiffies;
struct workqueue_struct *uib_wq;

static unsigned int events[32], nsent;
static u8 sent[256];
static char logged[256];

/*
 * --- functions that the code of kmod calls; they replace ib_core, the per-CPU counters, the socket
 * and the send path
 */

bool ib_device_try_get(struct ib_device *dev)
{
	return true;
}

void ib_device_put(struct ib_device *dev)
{
}

void ib_dispatch_event(struct ib_event *ev)
{
	events[ev->event]++;
}

void fake_info(const struct ib_device *dev, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(logged, sizeof(logged), fmt, ap);
	va_end(ap);
}

u64 uib_counter_sum(const struct uib_dev *dev, enum uib_counter c)
{
	return dev->counters[c];
}

int uib_udp_open(struct uib_link *l)
{
	return 0;
}

void uib_udp_close(struct uib_link *l)
{
}

struct sk_buff *uib_udp_alloc(gfp_t gfp)
{
	return malloc(1);
}

int uib_udp_send(struct uib_link *l, const union uib_addr *to, struct sk_buff *skb)
{
	kfree_skb(skb);
	return 0;
}

void uib_udp_new_peer(struct uib_link *l)
{
}

void uib_burst_send(struct uib_dev *dev, struct uib_burst *b)
{
}

void uib_burst_free(struct uib_burst *b)
{
}

enum ib_wc_status uib_send(struct uib_qp *qp, const struct uib_swqe *w, const struct uib_sge *sge)
{
	assert(sge->length == sizeof(sent));
	memcpy(sent, (const void *)(uintptr_t)sge->addr, sizeof(sent));
	nsent++;
	return IB_WC_SUCCESS;
}

/* --- the device */

struct uib_dev *kmod_rig_new(void)
{
	struct uib_dev *dev = calloc(1, sizeof(*dev));

	assert(dev);
	fake_jiffies = 1000;
	nsent = 0;
	*logged = '\0';
	memset(events, 0, sizeof(events));
	dev->counters = calloc(UIB_C_MAX, sizeof(u64));
	assert(dev->counters);
	dev->ibdev.node_guid = cpu_to_be64(KMOD_RIG_GUID);
	snprintf(dev->ibdev.node_desc, sizeof(dev->ibdev.node_desc), "rig");
	dev->link.peer.in4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = 1 };
	dev->link.has_peer = true;
	dev->link.start_silence = msecs_to_jiffies(UIB_SILENCE_MS);
	uib_port_init(&dev->port, KMOD_RIG_GUID, IB_MTU_4096);
	uib_traps_init(dev);
	uib_samples_init(dev);
	uib_link_open(&dev->link);
	uib_link_start(&dev->link);
	return dev;
}

void kmod_rig_free(struct uib_dev *dev)
{
	free(dev->counters);
	free(dev);
}

bool kmod_rig_mad(struct uib_dev *dev, const void *in, void *ret)
{
	struct ib_mad mad, out;
	size_t size = sizeof(out);
	u16 index;
	int flags;

	memcpy(&mad, in, sizeof(mad));
	flags = uib_process_mad(&dev->ibdev, 0, UIB_PORT, NULL, NULL, &mad, &out, &size, &index);
	assert(!dev->port.lock.held && !dev->traps.lock.held && !dev->sampler.lock.held);
	if (!(flags & IB_MAD_RESULT_REPLY))
		return false;
	memcpy(ret, &out, sizeof(out));
	return true;
}

static void tick(struct delayed_work *w)
{
	if (!w->queued || (w->delay && --w->delay))
		return;
	w->queued = false;
	w->work.func(&w->work);
}

static void tick_hrtimer(struct hrtimer *t)
{
	if (!t->armed)
		return;
	t->delay -= 1000000000 / HZ;
	if (t->delay > 0)
		return;
	t->armed = false;
	t->function(t);
}

void kmod_rig_advance(struct uib_dev *dev, unsigned int ms)
{
	for (unsigned long n = max_t(unsigned long, msecs_to_jiffies(ms), 1); n; n--) {
		fake_jiffies++;
		tick_hrtimer(&dev->sampler.timer);
		tick(&dev->link.state_work);
		tick(&dev->link.keepalive_work);
		tick(&dev->link.retrain_work);
		tick(&dev->traps.work);
	}
}

void kmod_rig_count(struct uib_dev *dev, enum kmod_rig_counter c, uint64_t n)
{
	static const enum uib_counter map[KMOD_RIG_COUNTERS] = {
		[KMOD_RIG_XMIT_DATA] = UIB_C_XMIT_DATA,
		[KMOD_RIG_RCV_DATA] = UIB_C_RCV_DATA,
		[KMOD_RIG_XMIT_PKTS] = UIB_C_XMIT_PKTS,
		[KMOD_RIG_RCV_PKTS] = UIB_C_RCV_PKTS,
		[KMOD_RIG_MCAST_RCV] = UIB_C_MCAST_RCV,
		[KMOD_RIG_RCV_ERRORS] = UIB_C_RCV_ERRORS,
		[KMOD_RIG_RCV_MALFORMED] = UIB_C_RCV_MALFORMED,
		[KMOD_RIG_XMIT_MTU] = UIB_C_XMIT_MTU,
		[KMOD_RIG_LINK_DOWNED] = UIB_C_LINK_DOWNED,
		[KMOD_RIG_RCV_SL3] = UIB_C_RCV_SL + 3,
	};

	uib_count_add(dev, map[c], n);
}

void kmod_rig_hears(struct uib_dev *dev)
{
	union uib_addr from = dev->link.peer;

	if (uib_link_check_sender(&dev->link, &from) == UIB_C_NONE)
		uib_link_heard(&dev->link, &from);
}

const char *kmod_rig_log(void)
{
	return logged;
}

const char *kmod_rig_link(const struct uib_dev *dev)
{
	return uib_link_state_name(dev->link.state);
}

unsigned int kmod_rig_event(unsigned int type)
{
	return events[type];
}

const void *kmod_rig_sent(unsigned int *ret_n)
{
	*ret_n = nsent;
	return sent;
}
