/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A bare relay between two TAPs, which shows the minimum cost of a data path in user space.
 *
 *	relay [-t] [-m MTU] MODE [NETNS:]TAP [NETNS:]TAP
 *
 *	whole	The relay passes each frame on as it was read. A super-frame is not cut, and keeps
 *		its virtio-net header.
 *	segment	The relay cuts super-frames into packets of at most MTU octets with complete
 *		checksums. Before it writes packets, it coalesces adjacent packets of a flow again,
 *		as an interface of uipoib does.
 *	crc	As segment. In addition, the relay replaces the Ethernet header of each packet by
 *		LRH, BTH, DETH and IPoIB's header of 4 octets. (As between ports of one subnet,
 *		there is no GRH.) It appends ICRC and VCRC. Then it verifies both CRCs, and puts the
 *		Ethernet header back.
 *
 * NETNS is the name of a namespace of `ip netns`, a path, or pid:N. The relay makes the TAPs, and
 * sets their MTU (2044 unless given). The user gives the TAPs addresses, and sets them up. The TAPs
 * disappear when the relay ends. The relay prints "ready" on stdout when the TAPs exist. At SIGTERM
 * or SIGINT it prints its counters as JSON on stderr, and ends. Exit status 2: wrong arguments; 1:
 * a TAP could not be made, or the relay could not run.
 *
 * The relay has one thread, or with -t one thread for each direction. The option -t is there to
 * measure how much a second processor could gain. The relay ignores addresses and neighbours: each
 * frame is written to the other TAP.
 */

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev/netns.h"
#include "netdev/tap.h"
#include "relay/way.h"

#define MTU_MIN 576
#define MTU_MAX 4092

struct relay {
	const struct way_mode *mode;
	unsigned int mtu;
	bool threads; /* each direction has a thread of its own */
	const char *names[2]; /* the TAPs, as in the arguments */
	struct tap tap[2];
	struct way way[2]; /* way[i] begins at tap[i] */
	int sigfd;
};

/* A thread that forwards the frames of one way or of both ways */
struct runner {
	struct relay *r;
	unsigned int first, end; /* the thread serves the ways from .first to .end - 1 */
	int epfd;
	int status; /* 0 after SIGTERM or SIGINT, or -errno */
};

/* --- the TAPs */

struct make_tap {
	const char *ifname;
	unsigned int mtu;
	int fd; /* -1 until the TAP is made */
	const char *what; /* the step that failed, for the error message */
};

static int set_mtu(const char *ifname, unsigned int mtu)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	struct ifreq ifr = { .ifr_mtu = (int)mtu };

	if (fd < 0)
		return -errno;
	memcpy(ifr.ifr_name, ifname, strlen(ifname));
	if (ioctl(fd, SIOCSIFMTU, &ifr))
		err = -errno;
	close(fd);
	return err;
}

/* Runs in the namespace of the TAP. */
static int make_tap(void *arg)
{
	struct make_tap *m = arg;
	int err = tap_open(m->ifname, &m->fd, &m->what);

	if (err)
		return err;
	m->what = "setting the MTU";
	return set_mtu(m->ifname, m->mtu);
}

/* Makes the TAP [NETNS:]NAME in its namespace. */
static int make_tap_in(struct make_tap *m, const char *name)
{
	const char *colon = strrchr(name, ':');
	char space[NETNS_SPEC_MAX + 1];
	struct netns_spec spec;
	int ns, err;

	m->ifname = colon ? colon + 1 : name;
	if (!colon)
		return make_tap(m);
	m->what = "opening the network namespace";
	if ((size_t)(colon - name) >= sizeof(space))
		return -EINVAL;
	memcpy(space, name, (size_t)(colon - name));
	space[colon - name] = '\0';
	err = netns_spec_parse(&spec, space);
	if (!err)
		err = netns_open(&spec, &ns);
	if (err)
		return err;
	m->what = "entering the network namespace";
	err = netns_call(ns, make_tap, m);
	close(ns);
	return err;
}

static int open_tap(struct relay *r, unsigned int i)
{
	struct make_tap m = { .mtu = r->mtu, .fd = -1 };
	int err = make_tap_in(&m, r->names[i]);

	if (!err) {
		m.what = "setting the offloads";
		err = tap_attach(&r->tap[i], TAP_ETHERNET, m.fd, TAP_OFFLOAD_DEFAULT);
	}
	if (!err) {
		m.what = "setting the carrier";
		err = tap_set_carrier(&r->tap[i], true);
	}
	if (err)
		fprintf(stderr, "relay: %s: %s: %s\n", r->names[i], m.what, strerror(-err));
	return err;
}

/* --- the loop */

static int watch(int epfd, int fd, uint32_t which)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = which };

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

#define SIGNALS 2 /* event of the signalfd; events 0 and 1 are those of the TAPs */

static int signals_open(struct relay *r)
{
	sigset_t set;

	/*
	 * A shell starts background programs with SIGINT ignored, and a signalfd does not report
	 * ignored signals, so restore the default action.
	 */
	signal(SIGINT, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r->sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return r->sigfd < 0 ? -errno : 0;
}

/* Set up a thread. Every thread watches the signalfd, and no thread reads it, so that one signal ends all threads. */
static int runner_open(struct runner *t)
{
	int err = 0;

	t->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epfd < 0)
		return -errno;
	for (unsigned int i = t->first; i < t->end && !err; i++)
		err = watch(t->epfd, t->r->tap[i].fd, i);
	return err ? err : watch(t->epfd, t->r->sigfd, SIGNALS);
}

static int forward(struct relay *r, unsigned int i)
{
	int err = r->mode->forward(&r->way[i]);

	if (!err || err == -EAGAIN || err == -ENOBUFS)
		return 0;
	fprintf(stderr, "relay: %s: %s\n", r->names[i], strerror(-err));
	return err;
}

/* Returns 0 after SIGTERM or SIGINT, or -errno. */
static int run(struct runner *t)
{
	for (;;) {
		struct epoll_event ev[SIGNALS + 1];
		int n = epoll_wait(t->epfd, ev, SIGNALS + 1, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			int err;

			if (ev[i].data.u32 == SIGNALS)
				return 0;
			err = forward(t->r, ev[i].data.u32);
			if (err)
				return err;
		}
	}
}

/* The thread of the second way. If this thread fails, it ends the first thread, too, by SIGTERM. */
static void *run_thread(void *arg)
{
	struct runner *t = arg;

	t->status = run(t);
	if (t->status)
		kill(getpid(), SIGTERM);
	return NULL;
}

static int run_all(struct relay *r)
{
	struct runner first = { .r = r, .end = r->threads ? 1 : 2 };
	struct runner second = { .r = r, .first = 1, .end = 2 };
	pthread_t thread;
	int err = signals_open(r);

	if (!err)
		err = runner_open(&first);
	if (!err && r->threads)
		err = runner_open(&second);
	if (!err && r->threads)
		err = -pthread_create(&thread, NULL, run_thread, &second);
	if (err) {
		fprintf(stderr, "relay: waiting for the TAPs: %s\n", strerror(-err));
		return err;
	}
	puts("ready");
	fflush(stdout);
	err = run(&first);
	if (!r->threads)
		return err;
	if (err)
		kill(getpid(), SIGTERM);
	pthread_join(thread, NULL);
	return err ? err : second.status;
}

static void print_counters(const struct relay *r)
{
	json_t *o = json_object(), *ways = json_array();

	json_object_set_new(o, "mode", json_string(r->mode->name));
	json_object_set_new(o, "mtu", json_integer(r->mtu));
	for (unsigned int i = 0; i < 2; i++) {
		json_t *way = count_json(&r->way[i].count);

		json_object_set_new(way, "from", json_string(r->names[i]));
		json_object_set_new(way, "to", json_string(r->names[!i]));
		json_array_append_new(ways, way);
	}
	json_object_set_new(o, "ways", ways);
	json_dumpf(o, stderr, JSON_INDENT(2));
	fputc('\n', stderr);
	json_decref(o);
}

/*
 * Make a way for each direction. The TAPs have to be open before, because a way is initialized with
 * the offloads of its TAP.
 */
static int make_ways(struct relay *r)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct pkt_pool *pool = pkt_pool_create(WAY_PKTS, WAY_BUFS);

		if (!pool) {
			fprintf(stderr, "relay: out of memory\n");
			return -ENOMEM;
		}
		way_init(&r->way[i], r->mode, r->mtu, pool, &r->tap[i], &r->tap[!i]);
	}
	return 0;
}

static int relay(struct relay *r)
{
	int err = 0;

	for (unsigned int i = 0; i < 2 && !err; i++)
		err = open_tap(r, i);
	if (!err)
		err = make_ways(r);
	if (err)
		return err;
	err = run_all(r);
	print_counters(r);
	return err;
}

/* --- arguments */

static int usage(const char *format, const char *what)
{
	fprintf(stderr, "relay: ");
	fprintf(stderr, format, what);
	fprintf(stderr, "\nusage: relay [-t] [-m MTU] whole|segment|crc [NETNS:]TAP [NETNS:]TAP\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct relay r = { .mtu = 2044, .tap = { { .fd = -1 }, { .fd = -1 } } };
	char *end;
	int c;

	opterr = 0;
	while ((c = getopt(argc, argv, "+tm:")) != -1) {
		unsigned long mtu;

		r.threads |= c == 't';
		if (c == 't')
			continue;
		if (c != 'm')
			return usage("'%s' is no option with its value", argv[optind - 1]);
		mtu = strtoul(optarg, &end, 10);
		if (end == optarg || *end || mtu < MTU_MIN || mtu > MTU_MAX)
			return usage("MTU '%s' is not a number from 576 to 4092", optarg);
		r.mtu = (unsigned int)mtu;
	}
	if (argc - optind != 3)
		return usage("a mode and two TAPs are expected%s", "");
	r.mode = way_mode_find(argv[optind]);
	if (!r.mode)
		return usage("mode '%s' is not whole, segment or crc", argv[optind]);
	if (!strcmp(argv[optind + 1], argv[optind + 2]))
		return usage("both TAPs are '%s'", argv[optind + 1]);
	r.names[0] = argv[optind + 1];
	r.names[1] = argv[optind + 2];
	return relay(&r) ? 1 : 0;
}
