/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper/priv.h"
#include "os/fdpass.h"

/* A queue for each namespace, and one queue for requests that belong to no namespace */
#define NO_NS (NETDEV_NS_MAX + 1)
#define QUEUES NO_NS

struct helper_job {
	struct list link; /* link in helper_queue.jobs */
	netdev_done done; /* function for the answer; NULL if the job was cancelled */
	void *ctx;
	uint32_t seq; /* tag of the request, set when it is sent */
	size_t len; /* number of octets in .req */
	uint8_t req[]; /* beginning of a struct helper_req, whose remainder is zero */
};

void helper_jobs_init(struct netdev_helper *h)
{
	list_init(&h->ready);
}

static struct helper_job *first(const struct helper_queue *q)
{
	/*
	 * The analyser does not follow list_del(), so it believes that a freed job may still be the
	 * first.
	 */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return list_empty(&q->jobs) ? NULL : container_of(q->jobs.next, struct helper_job, link);
}

static void job_free(struct netdev_helper *h, struct helper_job *j)
{
	list_del(&j->link);
	free(j);
	h->njobs--;
}

void helper_jobs_fini(struct netdev_helper *h)
{
	for (unsigned int i = 0; h->queue && i < QUEUES; i++) {
		struct helper_job *j, *tmp;

		if (!h->queue[i].jobs.next)
			continue;
		list_for_each_safe (j, tmp, &h->queue[i].jobs, link)
			job_free(h, j);
	}
	free(h->queue);
	h->queue = NULL;
	h->nsent = 0;
}

static struct helper_queue *queue_of(struct netdev_helper *h, uint32_t ns)
{
	struct helper_queue *q;

	if (!ns || ns > QUEUES)
		return NULL;
	if (!h->queue)
		h->queue = calloc(QUEUES, sizeof(*h->queue));
	if (!h->queue)
		return NULL;
	q = &h->queue[ns - 1];
	if (!q->jobs.next) {
		list_init(&q->jobs);
		list_init(&q->ready);
	}
	return q;
}

/*
 * Puts @q into the list netdev_helper.ready if @q has a job, and no job of @q waits for an answer.
 * Otherwise removes @q from this list.
 */
static void update_ready(struct netdev_helper *h, struct helper_queue *q)
{
	list_del(&q->ready);
	if (!q->under_way && first(q))
		list_add_tail(&h->ready, &q->ready);
}

static int send_job(struct netdev_helper *h, struct helper_job *j)
{
	struct helper_req req = { 0 };

	memcpy(&req, j->req, j->len);
	req.seq = j->seq = ++h->seq;
	return fdpass_send(h->sock, &req, sizeof(req), NULL, 0);
}

static int pump(struct netdev_helper *h)
{
	while (h->nsent < HELPER_SENT_MAX && !list_empty(&h->ready)) {
		struct helper_queue *q = container_of(h->ready.next, struct helper_queue, ready);
		int err = send_job(h, first(q));

		if (err == -EAGAIN && h->nsent)
			return 0; /* the next answer makes this function run again */
		if (err)
			return err;
		q->under_way = true;
		h->sent[h->nsent++] = q;
		update_ready(h, q);
	}
	return 0;
}

/*
 * Finds the queue whose first job has the tag @seq of a response, and marks this job as answered.
 * NULL: the response answers no job
 */
static struct helper_queue *take_sent(struct netdev_helper *h, uint32_t seq)
{
	for (unsigned int i = 0; i < h->nsent; i++) {
		struct helper_queue *q = h->sent[i];

		if (first(q)->seq != seq)
			continue;
		h->sent[i] = h->sent[--h->nsent];
		q->under_way = false;
		return q;
	}
	return NULL;
}

void helper_job_done(struct netdev_helper *h, const struct helper_rsp *rsp, int fds[HELPER_FDS_MAX])
{
	struct helper_queue *q = take_sent(h, rsp->seq);
	struct netdev_answer a = {
		.err = rsp->err,
		.text = rsp->text,
		.value = rsp->value,
		.fd = -1,
		.files = { -1, -1, -1, -1, -1 },
	};
	netdev_done done;
	void *ctx;

	if (!q) {
		fdpass_close(fds, HELPER_FDS_MAX);
		return;
	}
	done = first(q)->done;
	ctx = first(q)->ctx;
	job_free(h, first(q));
	update_ready(h, q);
	if (done) {
		a.fd = fds[0];
		a.files = (struct netdev_ns_files){ fds[1], fds[2], fds[3], fds[4], fds[5] };
		done(ctx, &a);
		return;
	}
	fdpass_close(fds, HELPER_FDS_MAX);
}

int netdev_helper_dispatch(struct netdev_helper *h)
{
	struct helper_rsp rsp;
	int fds[HELPER_FDS_MAX], err = 0;

	for (unsigned int n = 0; !err && n < HELPER_SENT_MAX; n++) {
		err = helper_receive(h, &rsp, fds);
		if (!err)
			helper_job_done(h, &rsp, fds);
	}
	if (!err || err == -EAGAIN)
		err = pump(h);
	return err == -EBADMSG ? 0 : err;
}

void netdev_cancel(struct netdev_helper *h, const void *ctx)
{
	for (unsigned int i = 0; h->queue && h->njobs && i < QUEUES; i++) {
		struct helper_queue *q = &h->queue[i];
		struct helper_job *j, *tmp;

		if (!q->jobs.next)
			continue;
		list_for_each_safe (j, tmp, &q->jobs, link) {
			if (j->ctx != ctx)
				continue;
			if (q->under_way && j == first(q))
				j->done = NULL;
			else
				job_free(h, j);
		}
		update_ready(h, q);
	}
}

/* ----- kinds of jobs */

/* Queues the request @req, of which @len octets are in use. */
static int post(struct netdev_helper *h, const struct helper_req *req, size_t len, netdev_done done,
		void *ctx)
{
	struct helper_queue *q = queue_of(h, req->ns);
	struct helper_job *j;
	int err;

	if (!q)
		return req->ns && req->ns <= QUEUES ? -ENOMEM : -EINVAL;
	if (h->njobs >= NETDEV_JOBS_MAX)
		return -ENOBUFS;
	j = calloc(1, sizeof(*j) + len);
	if (!j)
		return -ENOMEM;
	j->done = done;
	j->ctx = ctx;
	j->len = len;
	memcpy(j->req, req, len);
	list_add_tail(&q->jobs, &j->link);
	h->njobs++;
	update_ready(h, q);
	err = pump(h);
	if (!err || (q->under_way && j == first(q)))
		return 0;
	/* The caller gets the error and may post the job again, so drop this job. */
	job_free(h, j);
	update_ready(h, q);
	return err;
}

/* Number of octets of a request up to and including a member of its union */
#define LEN_WITH(member) \
	(offsetof(struct helper_req, member) + sizeof(((struct helper_req *)0)->member))

int netdev_post_ns_close(struct netdev_helper *h, uint32_t ns)
{
	struct helper_req req = { .op = HELPER_NS_CLOSE, .ns = ns };

	return post(h, &req, LEN_WITH(ns), NULL, NULL);
}

int netdev_post_tap_forget(struct netdev_helper *h, uint32_t ns, int ifindex, netdev_done done,
			   void *ctx)
{
	struct helper_req req = { .op = HELPER_TAP_FORGET, .ns = ns, .ifindex = ifindex };

	return post(h, &req, LEN_WITH(ifindex), done, ctx);
}

int netdev_post_link(struct netdev_helper *h, uint32_t ns, int ifindex,
		     const struct rtnl_link_conf *conf, netdev_done done, void *ctx)
{
	struct helper_req req = {
		.op = HELPER_LINK_SET,
		.ns = ns,
		.ifindex = ifindex,
		.link = *conf,
	};

	return post(h, &req, LEN_WITH(link), done, ctx);
}

int netdev_post_addr(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		     uint8_t plen, netdev_done done, void *ctx)
{
	struct helper_req req = {
		.op = HELPER_ADDR_ADD,
		.ns = ns,
		.ifindex = ifindex,
		.addr = { *ip, plen },
	};

	return post(h, &req, LEN_WITH(addr), done, ctx);
}

int netdev_post_addr_del(struct netdev_helper *h, uint32_t ns, int ifindex,
			 const struct rtnl_ip *ip, uint8_t plen, netdev_done done, void *ctx)
{
	struct helper_req req = {
		.op = HELPER_ADDR_DEL,
		.ns = ns,
		.ifindex = ifindex,
		.addr = { *ip, plen },
	};

	return post(h, &req, LEN_WITH(addr), done, ctx);
}

int netdev_post_neigh_use(struct netdev_helper *h, uint32_t ns, int ifindex,
			  const struct rtnl_ip *ip, netdev_done done, void *ctx)
{
	struct helper_req req = {
		.op = HELPER_NEIGH_USE,
		.ns = ns,
		.ifindex = ifindex,
		.addr = { .ip = *ip },
	};

	return post(h, &req, LEN_WITH(addr), done, ctx);
}

int netdev_post_neigh_del(struct netdev_helper *h, uint32_t ns, int ifindex,
			  const uint8_t (*hw)[RTNL_HW_MAX], unsigned int n, netdev_done done,
			  void *ctx)
{
	struct helper_req req = { .op = HELPER_NEIGH_DEL, .ns = ns, .ifindex = ifindex };

	if (!n || n > NETDEV_HWS_MAX)
		return -EINVAL;
	req.hws.n = n;
	memcpy(req.hws.hw, hw, n * sizeof(*hw));
	return post(h, &req, offsetof(struct helper_req, hws.hw) + n * sizeof(*hw), done, ctx);
}

int netdev_post_neigh_del_all(struct netdev_helper *h, uint32_t ns, int ifindex, netdev_done done,
			      void *ctx)
{
	struct helper_req req = { .op = HELPER_NEIGH_DEL, .ns = ns, .ifindex = ifindex };

	return post(h, &req, offsetof(struct helper_req, hws.hw), done, ctx);
}

int netdev_post_socket(struct netdev_helper *h, uint32_t ns, int type, netdev_done done, void *ctx)
{
	struct helper_req req = { .op = HELPER_NS_SOCKET, .ns = ns, .socket_type = type };

	return post(h, &req, LEN_WITH(socket_type), done, ctx);
}

int netdev_post_ns_follow(struct netdev_helper *h, uint32_t ns, uint32_t gen, netdev_done done,
			  void *ctx)
{
	struct helper_req req = { .op = HELPER_NS_FOLLOW, .ns = ns, .gen = gen };

	return post(h, &req, LEN_WITH(gen), done, ctx);
}

int netdev_post_tap_return(struct netdev_helper *h, uint32_t ns, const struct netdev_tap_conf *conf,
			   netdev_done done, void *ctx)
{
	struct helper_req req = { .op = HELPER_TAP_RETURN, .ns = ns, .tap = *conf };

	return post(h, &req, LEN_WITH(tap), done, ctx);
}

int netdev_post_tap_place(struct netdev_helper *h, uint32_t ns, uint32_t number,
			  const struct netdev_tap_conf *conf, netdev_done done, void *ctx)
{
	struct helper_req req = {
		.op = HELPER_TAP_PLACE,
		.ns = ns,
		.ifindex = (int32_t)number,
		.tap = *conf,
	};

	return post(h, &req, LEN_WITH(tap), done, ctx);
}

int netdev_post_tap_park(struct netdev_helper *h, uint32_t ns, uint32_t number, netdev_done done,
			 void *ctx)
{
	struct helper_req req = { .op = HELPER_TAP_PARK, .ns = ns, .ifindex = (int32_t)number };

	return post(h, &req, LEN_WITH(ifindex), done, ctx);
}

int netdev_post_rdma_nodes(struct netdev_helper *h, const char *port, netdev_done done, void *ctx)
{
	struct helper_req req = { .op = HELPER_RDMA_NODES, .ns = NO_NS };

	if (strlen(port) > NETNS_SPEC_MAX)
		return -EINVAL;
	memcpy(req.spec, port, strlen(port) + 1);
	return post(h, &req, LEN_WITH(spec), done, ctx);
}
