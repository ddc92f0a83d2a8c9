/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/mroute.h>
#include <linux/netconf.h>
#include <net/if.h>
#include <stdlib.h>

#include "netdev/rtnl_msg.h"
#include "netdev/tap.h"
#include "netdev_env.h"

/* ----- decoding */

static struct nlmsghdr *link_msg(char *buf)
{
	static const uint8_t mac[6] = { 2, 1, 2, 3, 4, 5 };
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, RTM_NEWLINK, 0, sizeof(struct ifinfomsg), &body);
	struct ifinfomsg *ifi = body;

	ifi->ifi_index = 7;
	ifi->ifi_flags = IFF_UP | IFF_RUNNING;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "uib0");
	mnl_attr_put_u32(nlh, IFLA_MTU, 2044);
	mnl_attr_put_u8(nlh, IFLA_OPERSTATE, 6);
	mnl_attr_put_u8(nlh, IFLA_CARRIER, 1);
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, mac);
	return nlh;
}

static void test_rtnl_link_event(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct rtnl_event ev;

	(void)state;
	assert_int_equal(rtnl_event_decode(&ev, link_msg(buf)), 0);
	assert_int_equal(ev.type, RTNL_LINK_NEW);
	assert_int_equal(ev.ifindex, 7);
	assert_int_equal(ev.link.flags, IFF_UP | IFF_RUNNING);
	assert_int_equal(ev.link.mtu, 2044);
	assert_int_equal(ev.link.operstate, 6);
	assert_int_equal(ev.link.carrier, 1);
	assert_true(ev.link.has_mac);
	assert_int_equal(ev.link.mac[5], 5);
	assert_string_equal(ev.link.name, "uib0");
}

static void test_rtnl_link_event_odd_attributes(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = link_msg(buf);
	struct rtnl_event ev;

	(void)state;
	/*
	 * Three attributes of wrong lengths: an address of 20 octets, a name that is too long, and
	 * a length of the transmit queue in two octets. The decoder must ignore them. It must keep
	 * the name and the address from link_msg(), and .txqlen must stay 0.
	 */
	mnl_attr_put(nlh, IFLA_ADDRESS, 20, "01234567890123456789");
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "a name much too long");
	mnl_attr_put_u16(nlh, IFLA_TXQLEN, 9);
	assert_int_equal(rtnl_event_decode(&ev, nlh), 0);
	assert_string_equal(ev.link.name, "uib0");
	assert_int_equal(ev.link.mac[5], 5);
	assert_int_equal(ev.link.txqlen, 0);
}

static struct nlmsghdr *addr_msg(char *buf, uint16_t type, uint8_t family)
{
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, type, 0, sizeof(struct ifaddrmsg), &body);
	struct ifaddrmsg *ifa = body;

	ifa->ifa_family = family;
	ifa->ifa_prefixlen = 24;
	ifa->ifa_index = 9;
	ifa->ifa_flags = 0x80;
	return nlh;
}

static void test_rtnl_addr_event(void **state)
{
	static const uint8_t local[4] = { 10, 4, 0, 1 }, peer[4] = { 10, 4, 0, 2 };
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = addr_msg(buf, RTM_DELADDR, AF_INET);
	struct rtnl_event ev;

	(void)state;
	assert_int_equal(rtnl_event_decode(&ev, nlh), -EBADMSG); /* no IP address */
	mnl_attr_put(nlh, IFA_ADDRESS, 4, peer);
	mnl_attr_put(nlh, IFA_LOCAL, 4, local);
	mnl_attr_put_u32(nlh, IFA_FLAGS, IFA_F_TENTATIVE | 0x100);
	assert_int_equal(rtnl_event_decode(&ev, nlh), 0);
	assert_int_equal(ev.type, RTNL_ADDR_DEL);
	assert_int_equal(ev.ifindex, 9);
	assert_int_equal(ev.addr.ip.family, RTNL_V4);
	assert_memory_equal(ev.addr.ip.addr, local, 4);
	assert_int_equal(ev.addr.plen, 24);
	assert_int_equal(ev.addr.flags, IFA_F_TENTATIVE | 0x100);
}

static struct nlmsghdr *netconf_msg(char *buf, uint8_t family)
{
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, RTM_NEWNETCONF, 0, sizeof(struct netconfmsg), &body);

	((struct netconfmsg *)body)->ncm_family = family;
	return nlh;
}

static void test_rtnl_multicast_forwarding_event(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = netconf_msg(buf, AF_INET6);
	struct rtnl_event ev;

	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, 7);
	assert_int_equal(rtnl_event_decode(&ev, nlh),
			 -EOPNOTSUPP); /* the message has no attribute for multicast forwarding */
	mnl_attr_put_u32(nlh, NETCONFA_MC_FORWARDING, 1);
	assert_int_equal(rtnl_event_decode(&ev, nlh), 0);
	assert_int_equal(ev.type, RTNL_MC_FORWARDING);
	assert_int_equal(ev.ifindex, 7);
	assert_int_equal(ev.mc.family, RTNL_V6);
	assert_true(ev.mc.on);
	nlh = netconf_msg(buf, AF_INET);
	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, 7);
	mnl_attr_put_u32(nlh, NETCONFA_MC_FORWARDING, 0);
	assert_int_equal(rtnl_event_decode(&ev, nlh), 0);
	assert_int_equal(ev.mc.family, RTNL_V4);
	assert_false(ev.mc.on);
	nlh = netconf_msg(buf, AF_INET);
	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, (uint32_t)NETCONFA_IFINDEX_ALL);
	mnl_attr_put_u32(nlh, NETCONFA_MC_FORWARDING, 1);
	assert_int_equal(rtnl_event_decode(&ev, nlh), -EOPNOTSUPP);
	nlh->nlmsg_len = NLMSG_HDRLEN;
	assert_int_equal(rtnl_event_decode(&ev, nlh), -EBADMSG);
}

static void test_rtnl_every_truncation_refused_or_harmless(void **state)
{
	struct rtnl_event ev;

	(void)state;
	for (uint32_t cut = NLMSG_HDRLEN;; cut++) {
		char buf[512] __attribute__((aligned(4)));
		struct nlmsghdr *nlh = link_msg(buf);
		uint32_t whole = nlh->nlmsg_len;
		char *copy = calloc(1, NLMSG_ALIGN(cut)); /* padded to 4 octets, as in netlink */
		int err;

		if (cut > whole) {
			free(copy);
			break;
		}
		nlh->nlmsg_len = cut;
		/* Decode an exact copy, so that the sanitizer notices reads beyond its end. */
		memcpy(copy, buf, cut);
		err = rtnl_event_decode(&ev, (struct nlmsghdr *)copy);
		assert_int_equal(err, cut < NLMSG_LENGTH(sizeof(struct ifinfomsg)) ? -EBADMSG : 0);
		free(copy);
	}
}

static void test_rtnl_other_messages_of_no_interest(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = link_msg(buf);
	struct rtnl_event ev;

	(void)state;
	nlh->nlmsg_type = RTM_NEWNEIGH;
	assert_int_equal(rtnl_event_decode(&ev, nlh), -EOPNOTSUPP);
	assert_int_equal(rtnl_event_decode(&ev, addr_msg(buf, RTM_NEWADDR, AF_PACKET)), -EBADMSG);
}

/* ----- against the kernel */

static void test_rtnl_links_and_errors(void **state)
{
	struct rtnl_link_conf mtu = { .set = RTNL_SET_MTU, .mtu = 100000 };
	struct rtnl_link l;
	struct rtnl nl;
	int fds[2];

	(void)state;
	env_need_tap();
	env_enter_new();
	assert_int_equal(rtnl_open(&nl), 0);
	assert_int_equal(tap_open("t0", &fds[0], NULL), 0);
	assert_int_equal(tap_open("t1", &fds[1], NULL), 0);
	assert_int_equal(rtnl_link_get(&nl, 0, "t1", &l), 0);
	assert_string_equal(l.name, "t1");
	assert_int_equal(rtnl_link_get(&nl, 0, "t2", &l), -ENODEV);
	assert_int_equal(rtnl_link_get(&nl, 4711, NULL, &l), -ENODEV);
	assert_int_equal(rtnl_link_get(&nl, 0, "a-name-of-20-letters", &l), -ENODEV);
	assert_int_equal(rtnl_link_set(&nl, l.ifindex, &mtu), -EINVAL);
	assert_non_null(strstr(nl.err, "mtu")); /* the kernel's own error message */
	assert_int_equal(rtnl_link_get(&nl, 0, "lo", &l), 0);
	assert_string_equal(nl.err, "");
	close(fds[0]);
	close(fds[1]);
	rtnl_close(&nl);
	rtnl_close(&nl);
}

/* ----- the socket's queue was full, so the kernel dropped events */

#define LINKS_MAX 128
/*
 * Upper bound for the number of links in one piece of a dump. A piece has at most 32 KiB. The
 * message about a link has more than 1000 octets; this bound assumes 512.
 */
#define PIECE_LINKS 64

/* State of the links t0, t1, ... according to the events that were read */
struct told {
	bool known[LINKS_MAX], up[LINKS_MAX];
	unsigned int n; /* number of links that were reported at least once */
	unsigned int links; /* number of links that the last call of rtnl_events_read() reported */
};

static void on_told(const struct rtnl_event *ev, void *arg)
{
	struct told *t = arg;
	unsigned int k;

	if (ev->type != RTNL_LINK_NEW || sscanf(ev->link.name, "t%u", &k) != 1 || k >= LINKS_MAX)
		return;
	t->links++;
	t->n += !t->known[k];
	t->known[k] = true;
	t->up[k] = ev->link.flags & IFF_UP;
}

/* A namespace with .n TAPs, and an event socket that has lost some events about t0 */
struct lossy {
	struct rtnl nl;
	struct rtnl_events events;
	int tap[LINKS_MAX], ifindex;
	unsigned int n;
};

static void set_t0(struct lossy *y, uint32_t set)
{
	struct rtnl_link_conf c = { .set = set | RTNL_SET_TXQLEN };

	for (unsigned int i = 0; i < 100; i++) {
		c.txqlen = 100 + i;
		assert_int_equal(rtnl_link_set(&y->nl, y->ifindex, &c), 0);
	}
}

static void lossy_make(struct lossy *y, unsigned int n)
{
	int size = 2048;
	struct rtnl_link l;

	env_need_tap();
	env_enter_new();
	*y = (struct lossy){ .n = n };
	assert_int_equal(rtnl_open(&y->nl), 0);
	for (unsigned int k = 0; k < n; k++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "t%u", k);
		assert_int_equal(tap_open(name, &y->tap[k], NULL), 0);
	}
	assert_int_equal(rtnl_link_get(&y->nl, 0, "t0", &l), 0);
	y->ifindex = l.ifindex;
	assert_int_equal(rtnl_events_open(&y->events.fd), 0);
	assert_int_equal(setsockopt(y->events.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	set_t0(y, RTNL_SET_UP);
}

static void lossy_free(struct lossy *y)
{
	close(y->events.fd);
	for (unsigned int k = 0; k < y->n; k++)
		close(y->tap[k]);
	rtnl_close(&y->nl);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/*
 * Read events until none is left. Returns the number of calls that this took. Each call may report
 * at most PIECE_LINKS links.
 */
static unsigned int read_all(struct lossy *y, struct told *t)
{
	unsigned int calls = 0;

	do {
		t->links = 0;
		assert_true(rtnl_events_read(&y->events, on_told, t) >= 0);
		assert_in_range(t->links, 0, PIECE_LINKS);
		calls++;
	} while (readable(y->events.fd));
	return calls;
}

static void test_rtnl_after_a_loss_all_links_are_told_in_pieces(void **state)
{
	struct told t = { .n = 0 };
	struct lossy y;

	(void)state;
	lossy_make(&y, LINKS_MAX);
	assert_true(read_all(&y, &t) > 2);
	assert_int_equal(t.n, LINKS_MAX);
	assert_true(t.up[0] && !t.up[1]);
	/* A second loss of events must be noticed like the first one. */
	set_t0(&y, RTNL_SET_DOWN);
	t = (struct told){ .n = 0 };
	read_all(&y, &t);
	assert_int_equal(t.n, LINKS_MAX);
	assert_false(t.up[0]);
	lossy_free(&y);
}

/*
 * After a loss, the kernel drops all events until the reader has emptied the socket's queue. A
 * change that happens before that must be reported nevertheless.
 */
static void test_rtnl_a_change_before_the_queue_is_empty_is_told(void **state)
{
	struct rtnl_link_conf down = { .set = RTNL_SET_DOWN };
	struct told t = { .n = 0 };
	char one[RTNL_BUF];
	struct lossy y;

	(void)state;
	lossy_make(&y, 1);
	assert_int_equal(recv(y.events.fd, one, sizeof(one), 0), -1);
	assert_int_equal(errno, ENOBUFS);
	y.events.stale = 1;
	assert_true(recv(y.events.fd, one, sizeof(one), 0) > 0);
	assert_true(readable(y.events.fd));
	assert_int_equal(rtnl_link_set(&y.nl, y.ifindex, &down), 0);
	read_all(&y, &t);
	assert_true(t.known[0] && !t.up[0]);
	lossy_free(&y);
}

/* Send a message as the kernel would, from the other end of the socket. */
static void tell(int fd, uint16_t type, uint16_t flags)
{
	struct {
		struct nlmsghdr nlh;
		int32_t error;
	} m = { .nlh = { sizeof(m), type, flags, 0, 0 } };

	assert_int_equal(send(fd, &m, sizeof(m), 0), sizeof(m));
}

static unsigned int asked_for(int fd)
{
	struct nlmsghdr nlh[8];

	assert_true(recv(fd, nlh, sizeof(nlh), MSG_DONTWAIT) > 0);
	assert_int_equal(recv(fd, nlh + 1, sizeof(*nlh), MSG_DONTWAIT), -1);
	return nlh->nlmsg_type;
}

static void test_rtnl_each_dump_follows_the_last_and_an_incomplete_one_is_repeated(void **state)
{
	struct rtnl_events e = { .stale = 7 };
	struct told t = { .n = 0 };
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
	e.fd = fd[0];
	assert_int_equal(rtnl_events_read(&e, on_told, &t), 0);
	assert_int_equal(asked_for(fd[1]), RTM_GETLINK);
	tell(fd[1], NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR);
	assert_int_equal(rtnl_events_read(&e, on_told, &t), 0);
	assert_int_equal(asked_for(fd[1]), RTM_GETLINK);
	for (int i = 0; i < 2; i++) {
		tell(fd[1], NLMSG_DONE, NLM_F_MULTI);
		assert_int_equal(rtnl_events_read(&e, on_told, &t), 0);
		assert_int_equal(asked_for(fd[1]), RTM_GETNETCONF);
	}
	tell(fd[1], NLMSG_ERROR, 0); /* the answer of a kernel without IPv6 */
	assert_int_equal(rtnl_events_read(&e, on_told, &t), 0);
	assert_int_equal(e.stale | e.dumping, 0);
	close(fd[0]);
	close(fd[1]);
}

/*
 * The kernel cannot continue a dump, and ends it by an NLMSG_DONE with an error. The caller must
 * get this error.
 */
static void test_rtnl_dump_that_the_kernel_gives_up_is_an_error(void **state)
{
	struct {
		struct nlmsghdr nlh;
		int32_t error;
	} m = { .nlh = { sizeof(m), NLMSG_DONE, NLM_F_MULTI, 1, 0 }, .error = -EMSGSIZE };
	struct rtnl_events e = { .dumping = 1 };
	struct rtnl nl;
	struct told t = { .n = 0 };
	int fd[2], stop = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
	rtnl_attach(&nl, fd[0]);
	nl.seq = 1;
	assert_int_equal(send(fd[1], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(rtnl_take(&nl, NULL, NULL, &stop), -EMSGSIZE);
	e.fd = fd[0];
	assert_int_equal(send(fd[1], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(rtnl_events_read(&e, on_told, &t), -EMSGSIZE);
	close(fd[0]);
	close(fd[1]);
}

/*
 * Another process of the namespace sends answers that look like those of the kernel. These answers
 * must be ignored.
 */
static void test_rtnl_answers_of_other_processes_are_ignored(void **state)
{
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr e;
	} m = { .nlh = { sizeof(m), NLMSG_ERROR, 0, 1, 0 }, .e = { .error = -EPERM } };
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(to);
	struct rtnl nl, other;
	struct rtnl_link link;

	(void)state;
	assert_int_equal(rtnl_open(&nl), 0);
	assert_int_equal(rtnl_open(&other), 0);
	assert_int_equal(getsockname(nl.fd, (struct sockaddr *)&to, &len), 0);
	assert_int_equal(sendto(other.fd, &m, sizeof(m), 0, (struct sockaddr *)&to, sizeof(to)),
			 sizeof(m));
	assert_int_equal(rtnl_link_get(&nl, 0, "lo", &link), 0);
	assert_string_equal(link.name, "lo");
	rtnl_close(&nl);
	rtnl_close(&other);
}

static void on_mc(const struct rtnl_event *ev, void *arg)
{
	int *told = arg;

	if (ev->type == RTNL_MC_FORWARDING)
		told[ev->mc.family] = ev->mc.on;
}

/*
 * The host's kernel has begun to forward IPv4 multicast from and to t0, but the event about this
 * change was lost. The change must be reported after the loss.
 */
static void test_R70_rtnl_after_a_loss_multicast_forwarding_is_told(void **state)
{
	int told[2] = { -1, -1 }, one = 1, mrt;
	struct vifctl vif = { .vifc_flags = VIFF_USE_IFINDEX, .vifc_threshold = 1 };
	struct lossy y;

	(void)state;
	lossy_make(&y, 1);
	vif.vifc_lcl_ifindex = y.ifindex;
	mrt = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_IGMP);
	assert_true(mrt >= 0);
	assert_int_equal(setsockopt(mrt, IPPROTO_IP, MRT_INIT, &one, sizeof(one)), 0);
	assert_int_equal(setsockopt(mrt, IPPROTO_IP, MRT_ADD_VIF, &vif, sizeof(vif)), 0);
	do
		assert_true(rtnl_events_read(&y.events, on_mc, told) >= 0);
	while (readable(y.events.fd));
	assert_int_equal(told[RTNL_V4], 1);
	assert_int_equal(told[RTNL_V6], 0);
	close(mrt);
	lossy_free(&y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rtnl_link_event),
		cmocka_unit_test(test_rtnl_link_event_odd_attributes),
		cmocka_unit_test(test_rtnl_addr_event),
		cmocka_unit_test(test_rtnl_multicast_forwarding_event),
		cmocka_unit_test(test_rtnl_every_truncation_refused_or_harmless),
		cmocka_unit_test(test_rtnl_other_messages_of_no_interest),
		cmocka_unit_test(test_rtnl_links_and_errors),
		cmocka_unit_test(test_rtnl_after_a_loss_all_links_are_told_in_pieces),
		cmocka_unit_test(test_rtnl_a_change_before_the_queue_is_empty_is_told),
		cmocka_unit_test(
			test_rtnl_each_dump_follows_the_last_and_an_incomplete_one_is_repeated),
		cmocka_unit_test(test_rtnl_dump_that_the_kernel_gives_up_is_an_error),
		cmocka_unit_test(test_rtnl_answers_of_other_processes_are_ignored),
		cmocka_unit_test(test_R70_rtnl_after_a_loss_multicast_forwarding_is_told),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}
