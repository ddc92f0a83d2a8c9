/* SPDX-License-Identifier: BSD-2-Clause */
#include "reload/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "helper/helper.h"
#include "inst/iface.h"
#include "netdev/netns.h"
#include "os/fdpass.h"
#include "os/file.h"
#include "proto/proto.h"
#include "reload/msg.h"

/*
 * Longest time for which the supervisor waits until the instance sends the descriptors of a namespace or accepts a
 * message. The time is limited, because no signal is handled meanwhile
 */
#define PATIENCE_MS 20000

/* A host of an interface that is added */
struct host {
	const struct conf_iface *like; /* the first of the host's interfaces */
	struct netdev_ns_info info;
	uint32_t ns;
};

struct make {
	const struct reload_job *job;
	struct netdev_helper *helper; /* NULL: no interface is added */
	struct host *host;
	unsigned int nhosts;
	int sock; /* socket to the main process */
	bool shut; /* the main process takes no more messages, and its answer says why */
	char *err;
	size_t err_len;
};

static int fail(struct make *m, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct make *m, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->err, m->err_len, fmt, ap);
	va_end(ap);
	return status;
}

static bool comes(const struct conf_diff_row *r)
{
	return r->fate == CONF_ADDED || r->fate == CONF_REPLACED;
}

static bool goes(const struct conf_diff_row *r)
{
	return r->fate == CONF_REMOVED || r->fate == CONF_REPLACED;
}

/* --- namespaces of the running instance */

/* Tell whether the instance already has the host of @f, in the namespace that @f names */
static bool runs(const struct make *m, const struct conf_iface *f)
{
	const struct conf *c = m->job->was;

	for (size_t i = 0; i < c->nifaces; i++)
		if (!strcmp(c->iface[i].host, f->host) &&
		    !strcmp(conf_netns(&c->iface[i]), conf_netns(f)))
			return true;
	return false;
}

/*
 * Asks the main process for the descriptors of the namespaces of one of its hosts. SECURITY.md
 * ("A reload") says what an attacker who controls the main process gains by another descriptor.
 */
static int ask_host(struct make *m, const char *host, int *ret_net, int *ret_user)
{
	json_t *args = json_pack("{s:s}", "host", host);
	struct proto_client c;
	int status = proto_connect(&c, m->job->name);

	c.timeout_ms = PATIENCE_MS;
	if (!status)
		status = proto_call(&c, "exec", args, NULL, NULL, m->err, m->err_len, NULL);
	else
		status = fail(m, PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
	json_decref(args);
	if (!status && c.fds[0] < 0)
		status = fail(m, PROTO_EXIT_FAILED, "host '%s': the instance gave no namespace",
			      host);
	if (!status) {
		*ret_net = c.fds[0];
		*ret_user = c.fds[1];
		c.fds[0] = c.fds[1] = -1;
	}
	proto_close(&c);
	return status;
}

/*
 * Starts the new helper. If the instance's first helper is in a user namespace of its own, the new helper starts in
 * this user namespace.
 */
static int start_helper(struct make *m)
{
	int net = -1, user = -1, status = 0;

	/*
	 * The instance sends no descriptor of a namespace that was deleted, so try the next host.
	 * Only a named namespace can be deleted, and a host in a named namespace is in no user
	 * namespace. So skipping such a host skips no user namespace.
	 */
	for (size_t i = 0; i < m->job->was->nifaces && net < 0; i++)
		status = ask_host(m, m->job->was->iface[i].host, &net, &user);
	if (status)
		return status;
	status = netdev_helper_start_in(user, &m->helper);
	fdpass_close((const int[]){ net, user }, 2);
	return status ? fail(m, PROTO_EXIT_ENV, "starting a helper: %s", strerror(-status)) : 0;
}

static int refused(struct make *m, const struct conf_iface *c, int status)
{
	const char *why = netdev_helper_error(m->helper);

	return fail(m, PROTO_EXIT_ENV, "interface %s@%s: %s", c->name, c->host,
		    *why ? why : strerror(-status));
}

/*
 * Tell whether a named namespace exists, so that opening it by its name does not make a new one.
 * Return: false also if @netns names a process (pid:N, /proc/N), because the number may belong to
 * another process by now
 */
static bool is_there(const char *netns)
{
	struct netns_spec s;

	return !netns_spec_parse(&s, netns) && s.kind != NETNS_PID &&
	       strncmp(s.path, "/proc/", 6) != 0 && !access(s.path, F_OK);
}

static int adopt(struct make *m, struct host *h)
{
	int net, user, status = ask_host(m, h->like->host, &net, &user);

	if (status)
		return status;
	status = netdev_ns_adopt(m->helper, net, &h->ns);
	fdpass_close((const int[]){ net, user }, 2);
	return status ? refused(m, h->like, status) : 0;
}

/*
 * Opens the namespace of a host. A named namespace may have been deleted and made again, so it is
 * opened by its name, as at the start. For any other host that the instance already has, the new
 * helper gets the descriptor that the instance has. So a namespace that is configured as pid:N is
 * not opened by the process number, which may belong to another process by now.
 */
static int open_host(struct make *m, struct host *h)
{
	const char *netns = h->like->netns;
	int status;

	if (netns ? is_there(netns) : !*h->like->host)
		status = netdev_ns_open(m->helper, netns, &h->ns, &h->info);
	else if (runs(m, h->like))
		return adopt(m, h);
	else if (!netns)
		status = netdev_ns_create(m->helper, &h->ns);
	else if (!strncmp(netns, "pid:", 4) || *netns == '/')
		status = netdev_ns_open(m->helper, netns, &h->ns, &h->info);
	else
		return fail(m, PROTO_EXIT_USAGE,
			    "interface %s@%s: netns: '%s' does not exist, expected the name of a "
			    "network "
			    "namespace, because a reload makes none that has a name",
			    h->like->name, h->like->host, netns);
	return status ? refused(m, h->like, status) : 0;
}

/* --- messages to the main process */

static int send_msg(struct make *m, const struct reload_msg *msg, const int *fds, unsigned int n)
{
	int status = fdpass_send(m->sock, msg, sizeof(*msg), fds, n);

	/*
	 * ECONNRESET comes first, and EPIPE later, if the main process has closed the socket before it read all
	 * messages.
	 */
	m->shut = status == -EPIPE || status == -ECONNRESET;
	return status ? fail(m, PROTO_EXIT_FAILED, "the instance: %s", strerror(-status)) : 0;
}

static int send_host(struct make *m, const struct host *h)
{
	struct reload_msg msg = { .kind = RELOAD_HOST };
	int fd[RELOAD_FDS] = { -1, -1, -1, -1, -1, -1, -1 }, packed[RELOAD_FDS];
	struct netdev_ns_files f;
	unsigned int n = 0;
	int status = netdev_ns_fds(m->helper, h->ns, &fd[RELOAD_FD_NET], &fd[RELOAD_FD_USER]);

	if (!status)
		status = netdev_ns_files(m->helper, h->ns,
					 NETDEV_FILE_RTNL | NETDEV_FILE_EVENTS |
						 NETDEV_FILE_GROUPS | NETDEV_FILE_DUMP,
					 &f);
	if (!status) {
		fd[RELOAD_FD_RTNL] = f.rtnl;
		fd[RELOAD_FD_EVENTS] = f.events;
		fd[RELOAD_FD_IGMP] = f.igmp;
		fd[RELOAD_FD_IGMP6] = f.igmp6;
		fd[RELOAD_FD_DUMP] = f.dump;
	}
	msg.host.ns = h->ns;
	msg.host.follows = h->info.follows;
	snprintf(msg.host.name, sizeof(msg.host.name), "%s", h->like->host);
	snprintf(msg.host.netns, sizeof(msg.host.netns), "%s", conf_netns(h->like));
	for (unsigned int k = 0; k < RELOAD_FDS; k++) {
		if (fd[k] < 0)
			continue;
		msg.host.fds |= 1u << k;
		packed[n++] = fd[k];
	}
	status = status ? refused(m, h->like, status) : send_msg(m, &msg, packed, n);
	fdpass_close(fd, RELOAD_FDS);
	return status;
}

static int send_add(struct make *m, unsigned int host, const struct conf_iface *c)
{
	struct reload_msg msg = { .kind = RELOAD_ADD };
	uint8_t secret[CONF_SECRET_LEN] = { 0 };
	char why[INST_ERR_MAX];
	int fd, status = iface_iid_secret(c, secret, why);

	if (status)
		return fail(m, PROTO_EXIT_USAGE, "%s", why);
	msg.add.conf = *c;
	msg.add.conf.netns = NULL;
	msg.add.conf.profile = NULL;
	/*
	 * Send the secret, because the main process cannot compute it: the secret may come from the
	 * machine's identifier, which the main process cannot read.
	 */
	memcpy(msg.add.conf.secret, secret, sizeof(secret));
	msg.add.conf.secret_given = true;
	snprintf(msg.add.profile, sizeof(msg.add.profile), "%s", c->profile->name);
	msg.add.host = host;
	status = netdev_tap_named(m->helper, m->host[host].ns, iface_kind(c), c->name,
				  c->iid == CONF_IID_STABLE, &fd, &msg.add.number);
	if (status)
		return refused(m, c, status);
	status = send_msg(m, &msg, &fd, 1);
	close(fd);
	return status;
}

static int send_remove(struct make *m, const struct conf_iface *c)
{
	struct reload_msg msg = { .kind = RELOAD_REMOVE };

	memcpy(msg.remove.name, c->name, sizeof(msg.remove.name));
	memcpy(msg.remove.host, c->host, sizeof(msg.remove.host));
	return send_msg(m, &msg, NULL, 0);
}

static int send_partitions(struct make *m, const struct reload_text *t)
{
	struct reload_msg msg = { .kind = RELOAD_PARTITIONS };
	int fd = file_seal(t->text, t->len), status;

	if (fd < 0)
		return fail(m, PROTO_EXIT_FAILED, "partitions %s: %s", t->file, strerror(-fd));
	memcpy(msg.partitions.fabric, t->fabric, sizeof(msg.partitions.fabric));
	snprintf(msg.partitions.file, sizeof(msg.partitions.file), "%s", t->file);
	status = send_msg(m, &msg, &fd, 1);
	close(fd);
	return status;
}

/* Seals the helper, and passes its socket to the main process. */
static int send_helper(struct make *m, pid_t *ret_helper)
{
	struct reload_msg msg = { .kind = RELOAD_HELPER };
	int sock, status = netdev_helper_seal(m->helper);

	if (status)
		return fail(m, PROTO_EXIT_ENV, "sealing the helper: %s", strerror(-status));
	sock = netdev_helper_detach(m->helper, ret_helper);
	m->helper = NULL;
	status = send_msg(m, &msg, &sock, 1);
	close(sock);
	return status;
}

/* --- a whole reload */

static unsigned int host_of(struct make *m, const struct conf_iface *c)
{
	unsigned int k = 0;

	while (k < m->nhosts && strcmp(m->host[k].like->host, c->host) != 0)
		k++;
	return k;
}

static int add_hosts(struct make *m)
{
	const struct conf_diff *d = m->job->diff;
	int status = 0;

	for (size_t i = 0; !status && i < d->nrows; i++) {
		struct host *h = &m->host[m->nhosts];

		if (!comes(&d->row[i]) || host_of(m, d->row[i].is) < m->nhosts)
			continue;
		h->like = d->row[i].is;
		status = open_host(m, h);
		if (!status)
			status = send_host(m, h);
		m->nhosts++;
	}
	return status;
}

static int send_all(struct make *m, pid_t *ret_helper)
{
	const struct conf_diff *d = m->job->diff;
	struct reload_msg end = { .kind = RELOAD_END };
	int status = 0;

	if (d->n[CONF_ADDED] + d->n[CONF_REPLACED])
		status = start_helper(m);
	if (!status)
		status = add_hosts(m);
	for (size_t i = 0; !status && i < m->job->ntexts; i++)
		status = send_partitions(m, &m->job->texts[i]);
	for (size_t i = 0; !status && i < d->nrows; i++) {
		if (goes(&d->row[i]))
			status = send_remove(m, d->row[i].was);
		if (!status && comes(&d->row[i]))
			status = send_add(m, host_of(m, d->row[i].is), d->row[i].is);
	}
	if (!status && m->helper)
		status = send_helper(m, ret_helper);
	return status ? status : send_msg(m, &end, NULL, 0);
}

/*
 * Send the new hosts, TAPs and partitions to the instance. If the instance accepts no more
 * messages, its answer, which is read later, contains the reason. This function reports any other
 * failure in m->err.
 */
static int hand_over(struct make *m, pid_t *ret_helper, struct proto_client *c)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(m, PROTO_EXIT_FAILED, "the instance: %s", strerror(errno));
	fcntl(pair[1], F_SETFL, O_NONBLOCK);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	status = proto_send_fd(c, "reload apply", NULL, pair[1]);
	close(pair[1]);
	m->sock = pair[0];
	if (status)
		status = fail(m, PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
	else
		status = send_all(m, ret_helper);
	close(pair[0]);
	return m->shut ? 0 : status;
}

int reload_make(const struct reload_job *job, pid_t *ret_helper, struct proto_client *ret_answer,
		char *err, size_t err_len)
{
	struct make m = {
		.job = job,
		.host = calloc(job->diff->nrows + 1, sizeof(*m.host)),
		.err = err,
		.err_len = err_len,
	};
	struct proto_client c;
	int status;

	*ret_helper = 0;
	if (!m.host)
		return fail(&m, PROTO_EXIT_FAILED, "out of memory");
	status = proto_connect(&c, job->name);
	if (status)
		status = fail(&m, PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
	else
		status = hand_over(&m, ret_helper, &c);
	if (m.helper)
		netdev_helper_stop(m.helper);
	free(m.host);
	if (status)
		proto_close(&c);
	else
		*ret_answer = c;
	return status;
}

/* --- the answer */

static void note_missing(const struct conf_diff *d, bool *missing, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "missing")),
		   *host = json_string_value(json_object_get(row, "host"));

	for (size_t i = 0; name && host && i < d->nrows; i++)
		if (comes(&d->row[i]) && !strcmp(d->row[i].is->name, name) &&
		    !strcmp(d->row[i].is->host, host))
			missing[i] = true;
}

/*
 * The answer ends with an end object, which tells whether the instance has made all changes. Before
 * it, there is one row for each interface that the instance could not add.
 */
int reload_answer(struct proto_client *c, const struct conf_diff *d, bool *missing, char *err,
		  size_t err_len)
{
	int status;
	json_t *msg;

	while (!(status = proto_recv(c, 0, &msg))) {
		const json_t *end = json_object_get(msg, "end");
		const char *why = json_string_value(json_object_get(end, "error"));

		status = (int)json_integer_value(json_object_get(end, "status"));
		if (status)
			snprintf(err, err_len, "%s", why ? why : "");
		else
			note_missing(d, missing, json_object_get(msg, "row"));
		json_decref(msg);
		if (end)
			return status;
	}
	if (status == -ETIMEDOUT)
		return -EAGAIN;
	snprintf(err, err_len, "the instance: %s", strerror(-status));
	return PROTO_EXIT_FAILED;
}
