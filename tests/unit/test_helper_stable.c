/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "netdev/tap.h"
#include "netdev_env.h"
#include "unit/helper_answer.h"

/*
 * Tests the secrets of stable interface identifiers (RFC 7217). After netdev_helper_seal(), an
 * attacker may control the main process. The tests check for which interfaces the helper sets a
 * secret when such a main process requests it. Also tests the writer, the process that writes the
 * secrets.
 */

static const uint8_t secret[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };

struct rig {
	struct netdev_helper *h;
	uint32_t ns;
	int net_fd, user_fd;
};

static void begin(struct rig *r)
{
	env_need_tap();
	*r = (struct rig){ 0 };
	assert_int_equal(netdev_helper_start(0, &r->h), 0);
	assert_int_equal(netdev_ns_create(r->h, &r->ns), 0);
	assert_int_equal(netdev_ns_fds(r->h, r->ns, &r->net_fd, &r->user_fd), 0);
}

static void end(struct rig *r)
{
	close(r->net_fd);
	if (r->user_fd >= 0)
		close(r->user_fd);
	netdev_helper_stop(r->h);
}

static struct netdev_tap_conf conf(const char *name, bool stable)
{
	struct netdev_tap_conf c = { .mtu = 2044, .stable = stable };

	snprintf(c.ifname, sizeof(c.ifname), "%s", name);
	memcpy(c.stable_secret, secret, sizeof(secret));
	return c;
}

static int create(struct rig *r, const char *name, bool stable)
{
	struct netdev_tap_conf c = conf(name, stable);
	int fd, ifindex;

	assert_int_equal(netdev_tap_create(r->h, r->ns, &c, &fd, &ifindex), 0);
	return fd;
}

static int spare(struct rig *r, bool stable, uint32_t *ret_number)
{
	int fd;

	assert_int_equal(
		netdev_tap_spare(r->h, r->ns, TAP_ETHERNET, "ib0_1_", stable, &fd, ret_number), 0);
	return fd;
}

static int place(struct rig *r, uint32_t number, const char *name, bool stable)
{
	struct netdev_tap_conf c = conf(name, stable);
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_tap_place(r->h, r->ns, number, &c, helper_answered, &d), 0);
	return helper_await(r->h, &d);
}

/*
 * Place a TAP. On a busy machine the writer may take longer than the helper waits, so repeat the
 * request after such a time-out.
 */
static int place_at_last(struct rig *r, uint32_t number, const char *name)
{
	int res;

	do
		res = place(r, number, name, true);
	while (res == -ETIMEDOUT || res == -EBUSY);
	return res;
}

static int give_back(struct rig *r, const char *name, bool stable)
{
	struct netdev_tap_conf c = conf(name, stable);
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_tap_return(r->h, r->ns, &c, helper_answered, &d), 0);
	return helper_await(r->h, &d);
}

/* ----- secrets and interfaces in the kernel */

static int read_secret(void *arg)
{
	char path[96], text[64] = "";
	int fd;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/stable_secret", (const char *)arg);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	return got > 0;
}

/*
 * Tell whether an interface has a secret. If an interface has no secret, a read of the kernel's
 * file fails.
 */
static bool has_secret(struct rig *r, const char *name)
{
	int res = netns_call(r->net_fd, read_secret, (void *)name);

	assert_true(res >= 0);
	return res;
}

static int open_mine(void *arg)
{
	return tap_open("mine", arg, NULL);
}

/* ----- processes */

static pid_t parent_of(const char *pid, char ret_name[32])
{
	char path[300], line[128];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "r");
	*ret_name = 0;
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Name: %31s", ret_name);
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	}
	if (f)
		fclose(f);
	return parent;
}

/*
 * Return the pid of a child of process @parent, or 0 if there is none. The child must have the name
 * @name, unless @name is NULL
 */
static pid_t child_of(pid_t parent, const char *name)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	assert_non_null(d);
	while (!found && (e = readdir(d))) {
		char its[32];

		if (parent_of(e->d_name, its) == parent && (!name || !strcmp(its, name)))
			found = atoi(e->d_name);
	}
	closedir(d);
	return found;
}

static pid_t writer(void)
{
	pid_t helper = child_of(getpid(), "uipoib-helper");

	assert_true(helper > 0);
	/* do not compare the name, because the child may not have set its name yet */
	return child_of(helper, NULL);
}

/*
 * Return the pid of the writer. Fail if there is none, because kill() with pid 0 would kill the
 * test's own process group
 */
static pid_t writer_that_is_there(void)
{
	pid_t pid = writer();

	assert_true(pid > 0);
	return pid;
}

/* ----- the tests */

static void test_stable_secret_of_a_spare_tap(void **state)
{
	uint32_t number;
	struct rig r;
	int fd;

	(void)state;
	begin(&r);
	fd = spare(&r, true, &number);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	assert_true(place_at_last(&r, number, "ib0_1_14") > 0);
	assert_true(has_secret(&r, "ib0_1_14"));
	close(fd);
	end(&r);
}

static void test_stable_secret_is_refused_for_a_tap_that_was_made_without(void **state)
{
	uint32_t number, other;
	struct rig r;
	int fd[2];

	(void)state;
	begin(&r);
	fd[0] = spare(&r, false, &number);
	fd[1] = spare(&r, true, &other);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	assert_int_equal(place(&r, number, "ib0_1_14", true), -EPERM);
	/* The refused request must have changed nothing. */
	assert_true(place(&r, number, "ib0_1_14", false) > 0);
	assert_false(has_secret(&r, "ib0_1_14"));
	close(fd[0]);
	close(fd[1]);
	end(&r);
}

/*
 * A request names an interface by its name, and this name can be that of another program's
 * interface. The helper must not set a secret for such an interface.
 */
static void test_stable_secret_of_a_stranger_stays_as_it_is(void **state)
{
	uint32_t number;
	struct rig r;
	int fd[2], strange[2], res;

	(void)state;
	begin(&r);
	fd[0] = spare(&r, true, &number);
	fd[1] = create(&r, "uib0", true);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	assert_int_equal(netns_call(r.net_fd, open_mine, &strange[0]), 0);
	assert_int_equal(netns_call(r.net_fd, env_rename_uib0, NULL), 0);
	assert_int_equal(netns_call(r.net_fd, env_open_uib0, &strange[1]), 0);
	assert_true(place_at_last(&r, number, "ib0_1_14") > 0);
	assert_true(place(&r, number, "mine", true) < 0);
	/*
	 * The TAP has another name now, and another program's interface has the TAP's old name. The
	 * helper must recognize its TAP, and must not set the secret of the other interface.
	 */
	do
		res = give_back(&r, "uib0", true);
	while (res == -ETIMEDOUT || res == -EBUSY);
	assert_true(res > 0);
	assert_true(give_back(&r, "mine", true) < 0);
	assert_false(has_secret(&r, "mine"));
	assert_false(has_secret(&r, "uib0"));
	assert_true(has_secret(&r, "other"));
	for (unsigned int k = 0; k < 2; k++) {
		close(fd[k]);
		close(strange[k]);
	}
	end(&r);
}

/*
 * The helper must have a writer only if a TAP can get a secret after netdev_helper_seal(). Each
 * turn of the loop tests one TAP with a new helper. The first TAP is in its namespace and has its
 * secret already. The second is a spare TAP that never gets a secret. Only the third can get one
 * after the seal: it is a spare TAP that was made for a secret.
 */
static void test_stable_writer_exists_only_for_taps_that_come_after_the_seal(void **state)
{
	static const struct {
		bool spare, stable, writer;
	} v[] = { { false, true, false }, { true, false, false }, { true, true, true } };

	(void)state;
	for (unsigned int k = 0; k < sizeof(v) / sizeof(v[0]); k++) {
		uint32_t number;
		struct rig r;
		int fd;

		begin(&r);
		fd = v[k].spare ? spare(&r, v[k].stable, &number) : create(&r, "uib0", v[k].stable);
		assert_int_equal(netdev_helper_seal(r.h), 0);
		assert_int_equal(writer() > 0, v[k].writer);
		close(fd);
		end(&r);
	}
}

/*
 * If a namespace was also opened by a name that cannot be followed, the helper never gives this
 * namespace up for a new one. So the TAPs stay in the namespace, and no writer is needed.
 */
static void test_stable_writer_is_not_made_for_a_namespace_that_is_not_followed(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct netdev_ns_info info;
		char name[40], spec[64];
		struct rig r;
		uint32_t ns;
		int fd;

		(void)state;
		if (geteuid() || access("/run", W_OK))
			skip();
		begin(&r);
		snprintf(name, sizeof(name), "uipoib-test-w%d", (int)getpid());
		assert_int_equal(netdev_ns_open(r.h, name, &r.ns, &info), 0);
		assert_true(info.follows);
		fd = create(&r, "uib0", true);
		if (again) {
			int own;

			assert_int_equal(netdev_ns_fds(r.h, r.ns, &own, NULL), 0);
			snprintf(spec, sizeof(spec), "/proc/%d/fd/%d", (int)getpid(), own);
			assert_int_equal(netdev_ns_open(r.h, spec, &ns, &info), 0);
			assert_int_equal(ns, r.ns);
			close(own);
		}
		assert_int_equal(netdev_helper_seal(r.h), 0);
		assert_int_equal(writer() > 0, !again);
		close(fd);
		end(&r);
	}
}

/*
 * The writer is stopped, as by a debugger or by a busy kernel. The helper must not wait for the
 * writer for ever.
 */
static void test_stable_writer_that_does_not_answer_holds_up_nobody(void **state)
{
	uint32_t number[2];
	struct rig r;
	pid_t pid;
	int fd[2];

	(void)state;
	begin(&r);
	for (unsigned int k = 0; k < 2; k++)
		fd[k] = spare(&r, true, &number[k]);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	pid = writer_that_is_there();
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(place(&r, number[0], "ib0_1_14", true), -ETIMEDOUT);
	assert_int_equal(place(&r, number[0], "ib0_1_14", true), -EBUSY);
	assert_true(place(&r, number[1], "ib0_1_15", false) > 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_true(place_at_last(&r, number[0], "ib0_1_14") > 0);
	assert_true(has_secret(&r, "ib0_1_14"));
	assert_false(has_secret(&r, "ib0_1_15"));
	for (unsigned int k = 0; k < 2; k++)
		close(fd[k]);
	end(&r);
}

/*
 * A writer is killed while it has a request. The request must end with an error, because no answer
 * will come.
 */
static void test_stable_writer_that_was_killed_while_it_worked_is_an_error(void **state)
{
	uint32_t number;
	struct rig r;
	pid_t pid;
	int fd, res;

	(void)state;
	begin(&r);
	fd = spare(&r, true, &number);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	pid = writer_that_is_there();
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(place(&r, number, "ib0_1_14", true), -ETIMEDOUT);
	assert_int_equal(kill(pid, SIGKILL), 0);
	do
		res = place(&r, number, "ib0_1_14", true);
	while (res == -EBUSY);
	assert_int_equal(res, -EPIPE);
	assert_int_equal(place(&r, number, "ib0_1_14", true), -EPIPE);
	close(fd);
	end(&r);
}

/* The writer was killed before the request. The request must end with an error, and at once. */
static void test_stable_writer_that_was_killed_is_an_error(void **state)
{
	uint32_t number;
	struct rig r;
	int fd;

	(void)state;
	begin(&r);
	fd = spare(&r, true, &number);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	assert_int_equal(kill(writer_that_is_there(), SIGKILL), 0);
	for (unsigned int k = 0; k < 2; k++) {
		assert_int_equal(place(&r, number, "ib0_1_14", true), -EPIPE);
	}
	assert_true(place(&r, number, "ib0_1_14", false) > 0);
	close(fd);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stable_secret_of_a_spare_tap),
		cmocka_unit_test(test_stable_secret_is_refused_for_a_tap_that_was_made_without),
		cmocka_unit_test(test_stable_secret_of_a_stranger_stays_as_it_is),
		cmocka_unit_test(test_stable_writer_exists_only_for_taps_that_come_after_the_seal),
		cmocka_unit_test(
			test_stable_writer_is_not_made_for_a_namespace_that_is_not_followed),
		cmocka_unit_test(test_stable_writer_that_does_not_answer_holds_up_nobody),
		cmocka_unit_test(test_stable_writer_that_was_killed_while_it_worked_is_an_error),
		cmocka_unit_test(test_stable_writer_that_was_killed_is_an_error),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}
