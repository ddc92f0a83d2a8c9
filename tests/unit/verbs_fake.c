/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/verbs_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "unit/verbs_fake_priv.h"
#include "util/list.h"
#include "wire/ib_hdr.h"

struct fake fake;
struct fake_dev fake_devs[2];

/* --- faults */

static bool fails(void)
{
	fake.made++;
	if (!fake.fail_in || --fake.fail_in)
		return false;
	errno = ENOMEM;
	return true;
}

static void *make(const struct fake_dev *d, size_t size)
{
	void *o;

	if (d->gone) {
		errno = EIO;
		return NULL;
	}
	if (fails())
		return NULL;
	o = calloc(1, size);
	assert_non_null(o);
	fake.objects++;
	return o;
}

static int unmake(void *o)
{
	free(o);
	fake.objects--;
	return 0;
}

static struct fake_dev *dev_of(struct ibv_context *c)
{
	return container_of(c, struct fake_ctx, ctx)->dev;
}

/* --- devices */

static struct ibv_device **get_device_list(int *num)
{
	struct ibv_device **v = fails() ? NULL : calloc(3, sizeof(*v));

	if (!v)
		return NULL;
	fake.objects++;
	v[0] = &fake_devs[0].dev;
	v[1] = &fake_devs[1].dev;
	*num = 2;
	return v;
}

static void free_device_list(struct ibv_device **list)
{
	unmake(list);
}

static struct ibv_context *open_device(struct ibv_device *dev)
{
	struct fake_dev *d = container_of(dev, struct fake_dev, dev);
	struct fake_ctx *c = make(d, sizeof(*c));

	if (!c)
		return NULL;
	c->dev = d;
	c->ctx.device = dev;
	c->ctx.async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	c->ctx.ops.poll_cq = fake_poll_cq;
	c->ctx.ops.req_notify_cq = fake_req_notify_cq;
	c->ctx.ops.post_send = fake_post_send;
	c->ctx.ops.post_recv = fake_post_recv;
	assert_null(d->ctx);
	d->ctx = c;
	return &c->ctx;
}

static int close_device(struct ibv_context *c)
{
	struct fake_dev *d = dev_of(c);

	close(c->async_fd);
	assert_true(list_empty(&d->qps));
	d->ctx = NULL;
	return unmake(container_of(c, struct fake_ctx, ctx));
}

static int query_device(struct ibv_context *c, struct ibv_device_attr *ret)
{
	*ret = (struct ibv_device_attr){
		.phys_port_cnt = 1,
		.max_qp_wr = fake.max_qp_wr ? fake.max_qp_wr : 4096,
		.max_cqe = 8192,
		.max_ah = fake.max_ah ? fake.max_ah : 1024,
		.device_cap_flags = fake.csum ? IBV_DEVICE_UD_IP_CSUM : 0,
	};
	return dev_of(c)->gone ? EIO : 0;
}

static uint8_t speed_of(const struct smp_port_info *pi)
{
	return pi->speed_ext_active ? (uint8_t)(pi->speed_ext_active * 16) : pi->speed_active;
}

static int query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *ret)
{
	struct fake_dev *d = dev_of(c);
	const struct smp_port_info *pi = &hca_node(d->end->hca)->port[1].pi;

	if (d->gone)
		return EIO;
	assert_int_equal(port, 1);
	*ret = (struct ibv_port_attr){
		.state = pi->port_state,
		.max_mtu = pi->mtu_cap,
		.active_mtu = pi->neighbor_mtu,
		.gid_tbl_len = 1,
		.port_cap_flags = pi->cap_mask,
		.pkey_tbl_len = NODE_PKEYS,
		.lid = pi->lid,
		.sm_lid = pi->sm_lid,
		.lmc = pi->lmc,
		.sm_sl = pi->sm_sl,
		.active_width = pi->width_active,
		.active_speed = speed_of(pi),
		.link_layer = fake.link_layer,
		.flags = fake.grh_required ? IBV_QPF_GRH_REQUIRED : 0,
	};
	return 0;
}

static int query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *ret)
{
	ib_gid gid = node_gid(&hca_node(dev_of(c)->end->hca)->port[port], (unsigned int)index);

	if (dev_of(c)->gone) {
		errno = EIO;
		return -1;
	}
	memcpy(ret->raw, gid.raw, sizeof(gid.raw));
	return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *c)
{
	struct ibv_pd *pd = make(dev_of(c), sizeof(*pd));

	if (pd)
		pd->context = c;
	return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	return unmake(pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct fake_dev *d = dev_of(pd->context);
	struct ibv_mr *mr = make(d, sizeof(*mr));

	if (!mr)
		return NULL;
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	*mr = (struct ibv_mr){
		.context = pd->context, .pd = pd, .addr = addr, .length = len, .lkey = 0x1234
	};
	d->mr = mr;
	return mr;
}

static int dereg_mr(struct ibv_mr *mr)
{
	dev_of(mr->context)->mr = NULL;
	return unmake(mr);
}

/* --- groups and address handles */

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
	struct fake_dev *d = dev_of(pd->context);
	struct hca_ah_attr attr = {
		.port = a->port_num,
		.sl = a->sl,
		.src_path_bits = a->src_path_bits,
		.dlid = a->dlid,
		.static_rate = a->static_rate,
		.has_grh = a->is_global,
		.tclass = a->grh.traffic_class,
		.hop_limit = a->grh.hop_limit,
		.flow_label = a->grh.flow_label,
	};
	struct fake_ah *ah;

	if (d->nah >= (fake.max_ah ? fake.max_ah : 1024)) {
		errno = ENOMEM;
		return NULL;
	}
	ah = make(d, sizeof(*ah));
	if (!ah)
		return NULL;
	memcpy(attr.dgid.raw, a->grh.dgid.raw, sizeof(attr.dgid.raw));
	if (hca_ah_create(d->end->hca, &attr, &ah->hah)) {
		unmake(ah);
		errno = EINVAL;
		return NULL;
	}
	ah->ah.context = pd->context;
	d->nah++;
	return &ah->ah;
}

static int destroy_ah(struct ibv_ah *h)
{
	struct fake_ah *ah = container_of(h, struct fake_ah, ah);

	hca_ah_destroy(ah->hah);
	dev_of(h->context)->nah--;
	return unmake(ah);
}

static int attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct fake_qp *q = fake_qp_of(qp);
	ib_gid mgid;
	int err;

	memcpy(mgid.raw, gid->raw, sizeof(mgid.raw));
	err = fails() ? -ENOMEM : hca_attach(q->hq, &mgid, lid);
	q->groups += !err;
	return -err;
}

static int detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct fake_qp *q = fake_qp_of(qp);
	ib_gid mgid;
	int err;

	memcpy(mgid.raw, gid->raw, sizeof(mgid.raw));
	err = hca_detach(q->hq, &mgid, lid);
	q->groups -= !err;
	return -err;
}

/* --- completion channels and CQs */

static struct ibv_comp_channel *create_comp_channel(struct ibv_context *c)
{
	struct fake_channel *ch = make(dev_of(c), sizeof(*ch));

	if (!ch)
		return NULL;
	ch->ch.context = c;
	ch->ch.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	return &ch->ch;
}

static int destroy_comp_channel(struct ibv_comp_channel *h)
{
	assert_int_equal(h->refcnt, 0);
	close(h->fd);
	return unmake(container_of(h, struct fake_channel, ch));
}

static struct ibv_cq *create_cq(struct ibv_context *c, int cqe, void *ctx,
				struct ibv_comp_channel *ch, int vector)
{
	struct fake_cq *cq = make(dev_of(c), sizeof(*cq) + (size_t)cqe * sizeof(cq->wc[0]));

	if (!cq)
		return NULL;
	cq->cq = (struct ibv_cq){ .context = c, .channel = ch, .cq_context = ctx, .cqe = cqe };
	ch->refcnt++;
	return &cq->cq;
}

/*
 * Drop the events of this CQ that were not read, as the library does. Events that were read must
 * have been acknowledged.
 */
static int destroy_cq(struct ibv_cq *h)
{
	struct fake_cq *cq = container_of(h, struct fake_cq, cq);
	struct fake_channel *ch = container_of(h->channel, struct fake_channel, ch);
	unsigned int n = 0;

	assert_int_equal(cq->events, cq->acked);
	assert_int_equal(cq->users, 0);
	for (unsigned int i = 0; i < ch->n; i++)
		if (ch->event[i] != cq)
			ch->event[n++] = ch->event[i];
	ch->n = n;
	h->channel->refcnt--;
	return unmake(cq);
}

static int get_cq_event(struct ibv_comp_channel *h, struct ibv_cq **ret, void **ret_ctx)
{
	struct fake_channel *ch = container_of(h, struct fake_channel, ch);
	uint64_t one;

	/*
	 * The descriptor must be non-blocking, because otherwise a call without a pending event
	 * would block.
	 */
	assert_true(fcntl(h->fd, F_GETFL) & O_NONBLOCK);
	while (read(h->fd, &one, sizeof(one)) == sizeof(one)) {
		struct fake_cq *cq;

		if (!ch->n)
			continue; /* the event was of a CQ that was destroyed */
		cq = ch->event[0];
		memmove(ch->event, ch->event + 1, --ch->n * sizeof(ch->event[0]));
		cq->events++;
		*ret = &cq->cq;
		*ret_ctx = cq->cq.cq_context;
		return 0;
	}
	return -1;
}

static void ack_cq_events(struct ibv_cq *h, unsigned int n)
{
	container_of(h, struct fake_cq, cq)->acked += n;
}

/* --- asynchronous events */

void fake_async(unsigned int side, enum ibv_event_type type)
{
	struct fake_ctx *c = fake_devs[side].ctx;
	uint64_t one = 1;

	if (!c)
		return;
	assert_true(c->nasync < ARRAY_SIZE(c->async));
	c->async[c->nasync++] =
		(struct ibv_async_event){ .event_type = type, .element.port_num = 1 };
	assert_int_equal(write(c->ctx.async_fd, &one, sizeof(one)), sizeof(one));
}

static int get_async_event(struct ibv_context *h, struct ibv_async_event *ret)
{
	struct fake_ctx *c = container_of(h, struct fake_ctx, ctx);
	uint64_t one;

	if (read(h->async_fd, &one, sizeof(one)) != sizeof(one))
		return -1;
	*ret = c->async[0];
	memmove(c->async, c->async + 1, --c->nasync * sizeof(c->async[0]));
	return 0;
}

static void ack_async_event(struct ibv_async_event *ev)
{
}

/* --- the kernel's P_Key table */

static unsigned int side_of(const char *device)
{
	return device[4] == '1';
}

static int pkeys_open(const char *device, uint8_t port)
{
	int fd;

	if (fails())
		return -ENOMEM;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fake_devs[side_of(device)].pkeys_fd = fd;
	return fd;
}

static int pkey_read(int fd, unsigned int index, uint16_t *ret)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct fake_dev *d = &fake_devs[i];

		if (d->pkeys_fd != fd)
			continue;
		*ret = hca_node(d->end->hca)->port[1].pkeys[index];
		return d->gone ? -EIO : 0;
	}
	return -EBADF;
}

static int driver_read(const char *device, char *ret, size_t size)
{
	if (!fake.driver)
		return -ENOENT;
	snprintf(ret, size, "%s", fake.driver);
	return 0;
}

static int umad_open(const char *device, uint8_t port)
{
	return fails() ? -ENOMEM : fake_umad_open(&fake_devs[side_of(device)]);
}

static int umad_register(int fd, uint8_t mgmt_class, uint8_t version, const uint64_t methods[2])
{
	if (fails())
		return -ENOMEM;
	return mgmt_class && mgmt_class == fake.busy_class ? -EBUSY : mgmt_class;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_dev *d = dev_of(pd->context);
	struct fake_qp *q = make(d, sizeof(*q));

	if (!q)
		return NULL;
	fake_qp_init(d, q, pd, attr);
	return &q->qp;
}

static int destroy_qp(struct ibv_qp *qp)
{
	struct fake_qp *q = fake_qp_of(qp);

	if (q->groups)
		return EBUSY;
	fake_qp_fini(q);
	return unmake(q);
}

const struct verbs_lib fake_lib = {
	.get_device_list = get_device_list,
	.free_device_list = free_device_list,
	.open_device = open_device,
	.close_device = close_device,
	.query_device = query_device,
	.query_port = query_port,
	.query_gid = query_gid,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_mr = reg_mr,
	.dereg_mr = dereg_mr,
	.create_comp_channel = create_comp_channel,
	.destroy_comp_channel = destroy_comp_channel,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.get_cq_event = get_cq_event,
	.ack_cq_events = ack_cq_events,
	.create_qp = create_qp,
	.modify_qp = fake_modify_qp,
	.query_qp = fake_query_qp,
	.destroy_qp = destroy_qp,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.attach_mcast = attach_mcast,
	.detach_mcast = detach_mcast,
	.get_async_event = get_async_event,
	.ack_async_event = ack_async_event,
	.pkeys_open = pkeys_open,
	.pkey_read = pkey_read,
	.driver_read = driver_read,
	.umad_open = umad_open,
	.umad_register = umad_register,
};

/* --- the rig */

static void on_event(struct wire_end *e, uint8_t port, enum node_event ev, ns_t now)
{
	static const struct {
		enum node_event node;
		enum ibv_event_type verbs;
	} map[] = {
		{ NODE_EV_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE },
		{ NODE_EV_PORT_ERR, IBV_EVENT_PORT_ERR },
		{ NODE_EV_LID_CHANGE, IBV_EVENT_LID_CHANGE },
		{ NODE_EV_PKEY_CHANGE, IBV_EVENT_PKEY_CHANGE },
		{ NODE_EV_SM_CHANGE, IBV_EVENT_SM_CHANGE },
		{ NODE_EV_CLIENT_REREGISTER, IBV_EVENT_CLIENT_REREGISTER },
		{ NODE_EV_GID_CHANGE, IBV_EVENT_GID_CHANGE },
	};
	struct fake_dev *d = e->ctx;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		if (map[i].node == ev)
			fake_async((unsigned int)(d - fake_devs), map[i].verbs);
}

static void on_ready(struct wire_end *e, struct hca_qp *qp)
{
}

void fake_up(struct ca_suite_env *env)
{
	struct wire *w = wire_up(env, on_event, on_ready);

	fake = (struct fake){ .take = FAKE_FOR_EVER, .link_layer = IBV_LINK_LAYER_INFINIBAND };
	for (unsigned int i = 0; i < 2; i++) {
		struct fake_dev *d = &fake_devs[i];

		*d = (struct fake_dev){ .end = &w->end[i], .env = env, .pkeys_fd = -1, .umad = -1 };
		d->dev.node_type = IBV_NODE_CA;
		d->dev.transport_type = IBV_TRANSPORT_IB;
		snprintf(d->dev.name, sizeof(d->dev.name), "fake%u", i);
		snprintf(d->dev.dev_name, sizeof(d->dev.dev_name), "uverbs%u", i);
		list_init(&d->qps);
		w->end[i].ctx = d;
	}
}

void fake_down(struct ca_suite_env *env)
{
	for (unsigned int i = 0; i < 2; i++)
		fake_umad_close(&fake_devs[i]);
	assert_int_equal(fake.objects, 0);
	wire_down(env);
}

bool fake_work(struct ca_suite_env *env)
{
	bool moved = false;

	for (unsigned int i = 0; i < 2; i++) {
		moved |= fake_umad_work(&fake_devs[i]);
		moved |= fake_qps_send(&fake_devs[i]);
	}
	moved |= wire_carry(env);
	for (unsigned int i = 0; i < 2; i++)
		moved |= fake_qps_receive(&fake_devs[i]);
	return moved;
}

void fake_remove(unsigned int side)
{
	struct fake_dev *d = &fake_devs[side];

	d->gone = true;
	fake_umad_close(d);
	fake_async(side, IBV_EVENT_DEVICE_FATAL);
}

void fake_restore(unsigned int side)
{
	fake_devs[side].gone = false;
}
