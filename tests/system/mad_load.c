/* SPDX-License-Identifier: BSD-2-Clause */

/*
 *	mad_load KIND RATE SECONDS SEED	send RATE MADs of this kind a second, for SECONDS. On a busy machine the program
 *					continues until it has sent a quarter of the MADs
 *	mad_load probe SECONDS GID	measure how long it takes to look up the path to GID, and to join and leave groups
 *
 * The program uses port 1 of the node on which it runs, by /dev/infiniband/umad0, with libuipoib-umad.so preloaded. KIND
 * is smp, set, sa, join, trap, inform, rmpp or pma; no well-behaved program sends such MADs. The program prints the number
 * of MADs that it sent, or the figures of the probe in microseconds.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SYSFS "/sys/class/infiniband/uipoib0/ports/1/"
#define MAD 256
#define LIDS 24 /* larger than the number of LIDs in the labs */
/* most MADs that are sent without a pause; if more are due, some of them are never sent */
#define BURST 64
#define PROBES_MAX 100000
#define QP1_QKEY 0x80010000u

enum { SMP_LID, SMP_DR, SA, PMA, AGENTS };

static const struct {
	uint8_t qpn, mgmt_class, version;
} agents[AGENTS] = {
	[SMP_LID] = { 0, 0x01, 1 },
	[SMP_DR] = { 0, 0x81, 1 },
	[SA] = { 1, 0x03, 2 },
	[PMA] = { 1, 0x04, 1 },
};

/* Layout of the data that is read from and written to /dev/infiniband/umad. */
struct umad {
	struct ib_user_mad_hdr h;
	uint8_t mad[MAD];
};

static int fd;
static unsigned int id[AGENTS];
static uint16_t sm_lid;
static uint8_t own_gid[16];
static uint32_t tid;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static unsigned int any(unsigned int below)
{
	return (unsigned int)random() % below;
}

static void put(uint8_t *p, unsigned int octets, uint64_t v)
{
	for (unsigned int i = octets; i--; v >>= 8)
		p[i] = (uint8_t)v;
}

static void noise(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)any(256);
}

/* --- the device */

static void read_sysfs(const char *name, char *ret, size_t size)
{
	char path[128];
	ssize_t n;
	int f;

	snprintf(path, sizeof(path), SYSFS "%s", name);
	f = open(path, O_RDONLY);
	n = f < 0 ? -1 : read(f, ret, size - 1);
	if (n < 0)
		die(path);
	close(f);
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

static void device_open(void)
{
	char text[64];

	read_sysfs("sm_lid", text, sizeof(text));
	sm_lid = (uint16_t)strtoul(text, NULL, 0);
	read_sysfs("gids/0", text, sizeof(text));
	if (inet_pton(AF_INET6, text, own_gid) != 1)
		die("gids/0");
	fd = open("/dev/infiniband/umad0", O_RDWR | O_NONBLOCK);
	if (fd < 0 || ioctl(fd, IB_USER_MAD_ENABLE_PKEY))
		die("/dev/infiniband/umad0");
	for (unsigned int i = 0; i < AGENTS; i++) {
		struct ib_user_mad_reg_req r = { .qpn = agents[i].qpn,
						 .mgmt_class = agents[i].mgmt_class,
						 .mgmt_class_version = agents[i].version };

		if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r))
			die("IB_USER_MAD_REGISTER_AGENT");
		id[i] = r.id;
	}
}

static void address(struct umad *u, unsigned int agent, uint16_t lid)
{
	memset(&u->h, 0, sizeof(u->h));
	u->h.id = id[agent];
	u->h.qpn = htonl(agents[agent].qpn);
	u->h.qkey = htonl(agents[agent].qpn ? QP1_QKEY : 0);
	u->h.lid = htons(lid);
}

static void head(struct umad *u, unsigned int agent, uint8_t method, uint16_t attr, uint32_t mod)
{
	memset(u->mad, 0, sizeof(u->mad));
	u->mad[0] = 1;
	u->mad[1] = agents[agent].mgmt_class;
	u->mad[2] = agents[agent].version;
	u->mad[3] = method;
	put(u->mad + 8, 8, ++tid);
	put(u->mad + 16, 2, attr);
	put(u->mad + 20, 4, mod);
}

/* --- kinds of load: each makes one MAD */

enum { GET = 1, SET = 2, TRAP = 5, GET_TABLE = 0x12, GET_MULTI = 0x14, DELETE = 0x15 };

static uint16_t any_lid(void)
{
	return (uint16_t)(1 + any(LIDS));
}

static void route(uint8_t *mad)
{
	unsigned int hops = any(5);

	mad[7] = (uint8_t)hops;
	put(mad + 32, 2, 0xffff);
	put(mad + 34, 2, 0xffff);
	mad[128 + 1] = 1;
	for (unsigned int i = 2; i <= hops; i++)
		mad[128 + i] = (uint8_t)(1 + any(8));
}

static void smp(struct umad *u, uint8_t method, uint16_t attr, uint32_t mod)
{
	unsigned int agent = any(2) ? SMP_DR : SMP_LID;

	address(u, agent, agent == SMP_DR ? 0xffff : any_lid());
	head(u, agent, method, attr, mod);
	noise(u->mad + 24, 8);
	noise(u->mad + 64, 64);
	if (agent == SMP_DR)
		route(u->mad);
}

static void make_smp(struct umad *u)
{
	smp(u, any(4) ? GET : (uint8_t)any(256), (uint16_t)(0x10 + any(0x22)), any(256));
	if (any(8) == 0)
		noise(u->mad + 3, 40);
}

/* Make a Set of an attribute of subnet management, most often PortInfo, for a random port, which perhaps does not exist. */
static void make_set(struct umad *u)
{
	static const uint16_t attrs[] = { 0x15, 0x15, 0x15, 0x14, 0x16, 0x17,
					  0x18, 0x19, 0x1b, 0x02, 0x12, 0x20 };

	smp(u, SET, attrs[any(sizeof(attrs) / sizeof(*attrs))], any(10));
}

static void make_sa(struct umad *u)
{
	static const uint16_t attrs[] = { 0x01, 0x02, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x18,
					  0x20, 0x30, 0x31, 0x33, 0x35, 0x36, 0x38, 0x3a, 0xf3 };

	address(u, SA, sm_lid);
	head(u, SA, any(2) ? GET : GET_TABLE, attrs[any(sizeof(attrs) / sizeof(*attrs))], 0);
	put(u->mad + 36, 8, any(4) ? 0 : 1);
	put(u->mad + 48, 8, any(3) ? 0 : (uint64_t)1 << any(64));
	noise(u->mad + 56, 200);
}

/* Make a request for an MCMemberRecord (IBTA 15.2.5.17) with all components that the SA needs to create a group */
static void member(struct umad *u, uint8_t method, uint32_t group)
{
	uint8_t *rec = u->mad + 56;

	address(u, SA, sm_lid);
	head(u, SA, method, 0x38, 0);
	put(u->mad + 48, 8, 0x130c7);
	put(rec, 4, 0xff12a01c);
	memcpy(rec + 4, own_gid + 10, 6);
	put(rec + 12, 4, group);
	memcpy(rec + 16, own_gid, 16);
	put(rec + 32, 4, 0x0b1b);
	put(rec + 40, 2, 0xffff);
	rec[48] = 0x21; /* scope 2, JoinState FullMember */
}

static void make_join(struct umad *u)
{
	member(u, any(4) ? SET : DELETE, any(1u << 20));
	if (any(4) == 0)
		noise(u->mad + 56 + 32, 16); /* random parameters, which are refused */
}

static void make_trap(struct umad *u)
{
	static const uint16_t traps[] = { 64, 65, 66, 67, 128, 129, 144, 145, 256, 257, 258, 259 };

	address(u, SMP_LID, sm_lid);
	head(u, SMP_LID, TRAP, 0x02, 0);
	noise(u->mad + 64, 64);
	put(u->mad + 64, 4, 0x81000002); /* generic notice, urgent, from a switch */
	put(u->mad + 68, 2, traps[any(sizeof(traps) / sizeof(*traps))]);
	put(u->mad + 70, 2, any_lid());
}

static void make_inform(struct umad *u)
{
	uint8_t *info = u->mad + 56;

	address(u, SA, sm_lid);
	head(u, SA, SET, 0x03, 0);
	put(info + 16, 2, any(2) ? 0xffff : any_lid());
	put(info + 18, 2, any_lid());
	info[22] = 1;
	info[23] = any(4) != 0;
	put(info + 24, 2, 0xffff);
	put(info + 26, 2, any(2) ? 64 + any(4) : any(1000));
	put(info + 28, 4, 0x113);
	put(info + 32, 4, 0xffffff);
}

/* Make the first segment of a long request, or a segment that belongs to no transfer. */
static void make_rmpp(struct umad *u)
{
	address(u, SA, sm_lid);
	head(u, SA, GET_MULTI, 0x3a, 0);
	u->mad[24] = 1;
	u->mad[25] = (uint8_t)(any(8) ? 1 : 1 + any(4));
	u->mad[26] = (uint8_t)(any(8) ? 0x03 : any(256));
	put(u->mad + 28, 4, any(8) ? 1 : any(1u << 30));
	put(u->mad + 32, 4, any(1u << 30));
	noise(u->mad + 36, 220);
}

static void make_pma(struct umad *u)
{
	static const uint16_t attrs[] = { 0x01, 0x10, 0x11, 0x12, 0x15, 0x16,
					  0x17, 0x18, 0x19, 0x1d, 0x1e, 0x36 };

	address(u, PMA, any_lid());
	head(u, PMA, any(4) ? SET : GET, attrs[any(sizeof(attrs) / sizeof(*attrs))], 0);
	noise(u->mad + 64, 192);
}

static const struct kind {
	const char *name;
	void (*make)(struct umad *u);
} kinds[] = {
	{ "smp", make_smp },   { "set", make_set },   { "sa", make_sa },
	{ "join", make_join }, { "trap", make_trap }, { "inform", make_inform },
	{ "rmpp", make_rmpp }, { "pma", make_pma },
};

static void drain(void)
{
	static uint8_t buf[sizeof(struct umad)];

	while (read(fd, buf, sizeof(buf)) > 0 || errno == ENOSPC)
		if (errno == ENOSPC)
			/*
			 * An answer of more than one MAD does not fit into buf, and stays at the
			 * head of the queue. The program needs no answers, so all may stay there.
			 */
			return;
}

static int load(const struct kind *k, unsigned int rate, unsigned int seconds)
{
	uint64_t began = now_us(), end = began + seconds * 1000000ull, sent = 0, due, done = 0;
	uint64_t least = (uint64_t)rate * seconds / 4;
	struct umad u;

	for (uint64_t t = began; t < end || sent < least; t = now_us()) {
		due = (t - began) * rate / 1000000;
		if (due - done > BURST)
			done = due - BURST;
		for (; done < due; done++) {
			k->make(&u);
			sent += write(fd, &u, sizeof(u)) == sizeof(u);
		}
		drain();
		usleep(1000);
	}
	printf("%s %llu\n", k->name, (unsigned long long)sent);
	return 0;
}

/* --- the probe */

struct figures {
	unsigned int n, lost;
	unsigned int refusal; /* the last MAD status that was not 0 */
	uint64_t us[PROBES_MAX];
};

/* Return the MAD status of the answer; -1: no answer came within six seconds. */
static int ask(struct umad *u)
{
	static struct umad answer;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint32_t mine;

	u->h.timeout_ms = 1000;
	u->h.retries = 5;
	memcpy(&mine, u->mad + 12, 4);
	if (write(fd, u, sizeof(*u)) != sizeof(*u))
		die("write");
	for (;;) {
		uint32_t its;
		ssize_t n;

		poll(&p, 1, -1);
		n = read(fd, &answer, sizeof(answer));
		if (n < 0 && errno != EAGAIN)
			die("read");
		memcpy(&its, answer.mad + 12, 4);
		if (n >= (ssize_t)sizeof(answer.h) + 24 && its == mine)
			return answer.h.status ? -1 : answer.mad[4] << 8 | answer.mad[5];
	}
}

static void measure(struct figures *f, struct umad *u)
{
	uint64_t t = now_us();
	int status = ask(u);

	if (status > 0)
		f->refusal = (unsigned int)status;
	if (status)
		f->lost++;
	else if (f->n < PROBES_MAX)
		f->us[f->n++] = now_us() - t;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void say(const char *what, struct figures *f)
{
	qsort(f->us, f->n, sizeof(*f->us), by_value);
	printf("%s %u lost %u median %llu max %llu", what, f->n, f->lost,
	       f->n ? (unsigned long long)f->us[f->n / 2] : 0,
	       f->n ? (unsigned long long)f->us[f->n - 1] : 0);
	if (f->refusal)
		printf(" refused 0x%04x", f->refusal);
	printf("\n");
}

static void path(struct umad *u, const uint8_t dgid[16])
{
	uint8_t *rec = u->mad + 56;

	address(u, SA, sm_lid);
	head(u, SA, GET, 0x35, 0);
	put(u->mad + 48, 8, 0x100c);
	memcpy(rec + 8, dgid, 16);
	memcpy(rec + 24, own_gid, 16);
	rec[49] = 0x81;
}

static int probe(unsigned int seconds, const char *gid)
{
	static struct figures paths, joins;
	uint64_t end = now_us() + seconds * 1000000ull;
	uint32_t group = 1u << 30;
	uint8_t dgid[16];
	struct umad u;

	if (inet_pton(AF_INET6, gid, dgid) != 1)
		die(gid);
	while (now_us() < end) {
		path(&u, dgid);
		measure(&paths, &u);
		member(&u, SET, ++group);
		measure(&joins, &u);
		member(&u, DELETE, group);
		ask(&u);
		usleep(20000);
	}
	say("paths", &paths);
	say("joins", &joins);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "probe")) {
		device_open();
		return probe((unsigned int)atoi(argv[2]), argv[3]);
	}
	for (size_t i = 0; argc == 5 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		srandom((unsigned int)atoi(argv[4]));
		device_open();
		return load(&kinds[i], (unsigned int)atoi(argv[2]), (unsigned int)atoi(argv[3]));
	}
	fprintf(stderr, "mad_load KIND RATE SECONDS SEED | probe SECONDS GID\n");
	return 2;
}
