/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/picture.h"
#include "os/file.h"

/*
 * The commands of the object `fabric` and of the objects below `fabric`: `node`, `port`, `link`,
 * `udp`, `lft`, `mft`, `sm`, `lid`, `sweep`, `partitions`, `group`, `fault`.
 */

static const struct cli_key fabric_key[] = { { "fabric" }, { NULL } };

static const struct cli_show fabric_shown = {
	.object = "fabric",
	.cmd = "fabric show",
	.keys = (const struct cli_key[]){ { "fabric", .bare = true }, { NULL } },
	.cols =
		(const struct cli_col[]){
			{ "FABRIC", "fabric" },
			{ "SWITCHES", "switches", true },
			{ "CAS", "cas", true },
			{ "LINKS", "links", true },
			{ "UP", "links_up", true },
			{ "UDP", "udp_links", true },
			{ "CRC", "crc" },
			{ "HOPS", "hops", true },
			{ "SM", "sm.state" },
			{ "SWEEPS", "sm.heavy_sweeps", true },
			{ "TOPOLOGY", "topology" },
			{ NULL },
		},
	.title = (const char *const[]){ "fabric", NULL },
	.none = "no fabric",
};

static int show(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--", 2))
			return cli_picture(argc, argv);
	return cli_show(&fabric_shown, argc, argv);
}

/* Carry out a command whose answer has no rows */
static int call(const char *cmd, const struct cli_key *keys, int argc, char **argv)
{
	json_t *args;
	int status = cli_args(&args, keys, argc, argv);

	return status ? status : cli_call(cmd, args, NULL, NULL);
}

/* --- nodes and ports */

static const struct cli_show node_shown = {
	.object = "node",
	.cmd = "fabric node show",
	.keys = (const struct cli_key[]){ { "node", .bare = true }, { "fabric" }, { NULL } },
	.cols =
		(const struct cli_col[]){
			{ "NODE", "node" },
			{ "TYPE", "type" },
			{ "GUID", "node_guid" },
			{ "PORTS", "ports", true },
			{ "LID", "lid", true },
			{ "DROPS", "drops", true },
			{ "DESCRIPTION", "description" },
			{ NULL },
		},
	.title = (const char *const[]){ "node", NULL },
};

static int node_show(int argc, char **argv)
{
	return cli_show(&node_shown, argc, argv);
}

static const struct cli_cmd node_verbs[] = {
	{ "show", node_show, "[NODE] [fabric F]", "CAs and switches" },
	{ NULL },
};

static const struct cli_show port_shown = {
	.object = "port",
	.cmd = "fabric port show",
	.keys = (const struct cli_key[]){ { "port" }, { "node" }, { "fabric" }, { NULL } },
	.cols =
		(const struct cli_col[]){
			{ "PORT", "port" },
			{ "LINK", "link" },
			{ "STATE", "state" },
			{ "LID", "lid", true },
			{ "SPEED", "speed" },
			{ "MTU", "mtu", true },
			{ "XMIT", "xmit_pkts", true },
			{ "RCV", "rcv_pkts", true },
			{ "DISCARDS", "xmit_discards", true },
			{ "PEER", "peer" },
			{ NULL },
		},
	.title = (const char *const[]){ "port", NULL },
};

/* A word without a key is a port if it has a '/', and otherwise a node. */
static int port_show(int argc, char **argv)
{
	char *words[8] = { argv[0] }, port[] = "port", name[] = "node";
	int n = 1;

	if (argc > 6)
		return cli_error(PROTO_EXIT_USAGE, "fabric port show: too many words");
	if (argc > 1 && strcmp(argv[1], "port") && strcmp(argv[1], "node") &&
	    strcmp(argv[1], "fabric"))
		words[n++] = strchr(argv[1], '/') ? port : name;
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	return cli_show(&port_shown, n, words);
}

static const struct cli_cmd port_verbs[] = {
	{ "show", port_show, "[NODE | NODE/PORT] [fabric F]",
	  "ports: link, state, LID, what they counted; with -d all counters" },
	{ NULL },
};

static int link_set(int argc, char **argv)
{
	static const struct cli_key keys[] = {
		{ "port", .bare = true, .required = true },
		{ "state", .bare = true, .required = true },
		{ "fabric" },
		{ NULL },
	};
	const char *state;
	json_t *args;
	int status = cli_args(&args, keys, argc, argv);

	if (status)
		return status;
	state = json_string_value(json_object_get(args, "state"));
	if (strcmp(state, "up") && strcmp(state, "down")) {
		status = cli_error(PROTO_EXIT_USAGE, "'%s': expected up or down", state);
		json_decref(args);
		return status;
	}
	json_object_set_new(args, "up", json_boolean(!strcmp(state, "up")));
	json_object_del(args, "state");
	return cli_call("fabric link set", args, NULL, NULL);
}

static const struct cli_cmd link_verbs[] = {
	{ "set", link_set, "NODE/PORT up|down [fabric F]", "plug or pull the cable of a port" },
	{ "show", port_show, "[NODE | NODE/PORT] [fabric F]", "the same as port show" },
	{ NULL },
};

/* --- links over UDP */

static const struct cli_show udp_shown = {
	.object = "udp",
	.cmd = "fabric udp show",
	.keys = fabric_key,
	.cols =
		(const struct cli_col[]){
			{ "LINK", "link" },
			{ "PORT", "port" },
			{ "STATE", "state" },
			{ "LISTEN", "listen" },
			{ "PEER", "peer" },
			{ "RX", "rx_packets", true },
			{ "TX", "tx_packets", true },
			{ "DROPPED", "dropped", true },
			{ NULL },
		},
	.title = (const char *const[]){ "link", NULL },
	.none = "no link over UDP",
};

static int udp_show(int argc, char **argv)
{
	return cli_show(&udp_shown, argc, argv);
}

static const struct cli_cmd udp_verbs[] = {
	{ "show", udp_show, "[fabric F]",
	  "links over UDP: state, peer, what they carried; with -d drops by reason" },
	{ NULL },
};

/* --- forwarding */

static const struct cli_key node_keys[] = {
	{ "node", .bare = true, .required = true },
	{ "fabric" },
	{ NULL },
};

static const struct cli_show lft_shown = {
	.object = "lft",
	.cmd = "fabric lft show",
	.keys = node_keys,
	.cols =
		(const struct cli_col[]){
			{ "LID", "lid", true },
			{ "PORT", "port", true },
			{ "DESTINATION", "destination" },
			{ NULL },
		},
	.title = (const char *const[]){ "node", "lid", NULL },
	.none = "no entry",
};

static int lft_show(int argc, char **argv)
{
	return cli_show(&lft_shown, argc, argv);
}

static int lft_set(int argc, char **argv)
{
	static const struct cli_key keys[] = {
		{ "node", .bare = true, .required = true },
		{ "lid", .type = CLI_INT, .bare = true, .required = true },
		{ "port", .type = CLI_INT, .bare = true, .required = true },
		{ "fabric" },
		{ NULL },
	};

	return call("fabric lft set", keys, argc, argv);
}

static const struct cli_cmd lft_verbs[] = {
	{ "show", lft_show, "NODE [fabric F]", "where a switch sends unicast LIDs" },
	{ "set", lft_set, "NODE LID PORT [fabric F]",
	  "change an entry behind the subnet manager's back; PORT 255: no port" },
	{ NULL },
};

static const struct cli_show mft_shown = {
	.object = "mft",
	.cmd = "fabric mft show",
	.keys = node_keys,
	.cols =
		(const struct cli_col[]){
			{ "MLID", "mlid" },
			{ "PORTS", "ports" },
			{ "MGID", "mgid" },
			{ NULL },
		},
	.title = (const char *const[]){ "node", "mlid", NULL },
	.none = "no entry",
};

static int mft_show(int argc, char **argv)
{
	return cli_show(&mft_shown, argc, argv);
}

static const struct cli_cmd mft_verbs[] = {
	{ "show", mft_show, "NODE [fabric F]", "where a switch sends multicast LIDs" },
	{ NULL },
};

/* --- the subnet manager */

static const struct cli_show sm_shown = {
	.object = "sm",
	.cmd = "fabric sm show",
	.keys = fabric_key,
	.cols =
		(const struct cli_col[]){
			{ "FABRIC", "fabric" },
			{ "PORT", "port" },
			{ "STATE", "state" },
			{ "PRIORITY", "priority", true },
			{ "HEAVY", "heavy_sweeps", true },
			{ "LIGHT", "light_sweeps", true },
			{ "SMPS", "smps", true },
			{ "TIMEOUTS", "timeouts", true },
			{ "TRAPS", "traps", true },
			{ "LEFT OUT", "last_sweep.left_out", true },
			{ "STAGE", "stage" },
			{ NULL },
		},
	.title = (const char *const[]){ "fabric", NULL },
	.none = "no embedded subnet manager",
};

static int sm_show(int argc, char **argv)
{
	return cli_show(&sm_shown, argc, argv);
}

static int sm_start(int argc, char **argv)
{
	static const struct cli_key keys[] = {
		{ "port", .bare = true, .required = true },
		{ "priority", .type = CLI_INT },
		{ "fabric" },
		{ NULL },
	};

	return call("fabric sm start", keys, argc, argv);
}

static const struct cli_key sm_at_keys[] = { { "port", .bare = true }, { "fabric" }, { NULL } };

static int sm_stop(int argc, char **argv)
{
	return call("fabric sm stop", sm_at_keys, argc, argv);
}

static int sm_restart(int argc, char **argv)
{
	return call("fabric sm restart", sm_at_keys, argc, argv);
}

static const struct cli_cmd sm_verbs[] = {
	{ "show", sm_show, "[fabric F]", "the subnet managers; with -d their last sweep" },
	{ "start", sm_start, "NODE/PORT [priority N] [fabric F]", "another manager, on that port" },
	{ "stop", sm_stop, "[NODE/PORT] [fabric F]", "end one (the master) as if it were killed" },
	{ "restart", sm_restart, "[NODE/PORT] [fabric F]",
	  "the same, and a new one on that port, that knows nothing" },
	{ NULL },
};

static int sweep(int argc, char **argv)
{
	return call("fabric sweep", fabric_key, argc, argv);
}

static int lid_set(int argc, char **argv)
{
	static const struct cli_key keys[] = {
		{ "port", .bare = true, .required = true },
		{ "lid", .type = CLI_INT, .bare = true, .required = true },
		{ "fabric" },
		{ NULL },
	};

	return call("fabric lid set", keys, argc, argv);
}

static const struct cli_cmd lid_verbs[] = {
	{ "set", lid_set, "NODE/PORT|GUID LID [fabric F]",
	  "have the subnet manager give a port another LID" },
	{ "show", port_show, "[NODE | NODE/PORT] [fabric F]", "the same as port show" },
	{ NULL },
};

static const struct cli_show group_shown = {
	.object = "group",
	.cmd = "fabric group show",
	.keys = fabric_key,
	.cols =
		(const struct cli_col[]){
			{ "MGID", "mgid" },
			{ "MLID", "mlid" },
			{ "PKEY", "pkey" },
			{ "QKEY", "qkey" },
			{ "MTU", "mtu", true },
			{ "MEMBERS", "nmembers", true },
			{ NULL },
		},
	.title = (const char *const[]){ "mgid", NULL },
	.none = "no group",
};

static int group_show(int argc, char **argv)
{
	return cli_show(&group_shown, argc, argv);
}

static const struct cli_cmd group_verbs[] = {
	{ "show", group_show, "[fabric F]", "the SM's multicast groups; with -d their members" },
	{ NULL },
};

/* --- partitions */

static const struct cli_show partition_shown = {
	.object = "partition",
	.cmd = "fabric partition show",
	.keys = fabric_key,
	.cols =
		(const struct cli_col[]){
			{ "PARTITION", "partition" },
			{ "PKEY", "pkey" },
			{ "IPOIB", "ipoib" },
			{ "FULL", "full_members" },
			{ "LIMITED", "limited_members" },
			{ NULL },
		},
	.title = (const char *const[]){ "partition", NULL },
};

/*
 * Read the file in this process, with the user's rights, because the instance opens no path for a
 * client.
 */
static int load_partitions(json_t *args)
{
	const char *file = json_string_value(json_object_get(args, "file"));
	char *text;
	size_t len;
	int status = file_read(file, &text, &len), fd;

	if (status)
		return cli_error(PROTO_EXIT_USAGE, "%s: %s", file, strerror(-status));
	fd = file_seal(text, len);
	free(text);
	if (fd < 0)
		return cli_error(PROTO_EXIT_FAILED, "%s: a copy in memory: %s", file,
				 strerror(-fd));
	status = cli_call_fd("fabric partition load", json_incref(args), fd, NULL, NULL);
	close(fd);
	return status;
}

/* `partitions` shows the partitions, and `partitions FILE` replaces them. */
static int partitions(int argc, char **argv)
{
	static const struct cli_key keys[] = {
		{ "file", .bare = true, .required = true },
		{ "fabric" },
		{ NULL },
	};
	json_t *args;
	int status;

	if (argc < 2 || !strcmp(argv[1], "fabric"))
		return cli_show(&partition_shown, argc, argv);
	if (!strcmp(argv[1], "show"))
		return cli_show(&partition_shown, argc - 1, argv + 1);
	status = cli_args(&args, keys, argc, argv);
	if (status)
		return status;
	status = load_partitions(args);
	json_decref(args);
	return status;
}

/* --- routes */

static const struct cli_show route_shown = {
	.object = "hop",
	.cmd = "fabric route",
	.keys =
		(const struct cli_key[]){
			{ "from", .bare = true, .required = true },
			{ "to", .bare = true, .required = true },
			{ "fabric" },
			{ NULL },
		},
	.cols =
		(const struct cli_col[]){
			{ "OUT", "port" },
			{ "IN", "peer" },
			{ "LINK", "link" },
			{ "LID", "lid", true },
			{ NULL },
		},
	.title = (const char *const[]){ "port", NULL },
};

static int route(int argc, char **argv)
{
	return cli_show(&route_shown, argc, argv);
}

/* --- forged packets */

static const struct cli_show injected = {
	.object = "inject",
	.cmd = "fabric inject",
	.keys =
		(const struct cli_key[]){
			{ "from", .bare = true, .required = true },
			{ "to", .bare = true, .required = true },
			{ "wrong", .bare = true, .required = true },
			{ "count", .type = CLI_INT },
			{ NULL },
		},
	.cols =
		(const struct cli_col[]){
			{ "WRONG", "wrong" },
			{ "SENT", "sent", true },
			{ "DELIVERED", "delivered", true },
			{ "DROPPED", "dropped" },
			{ NULL },
		},
	.title = (const char *const[]){ "wrong", NULL },
};

static int inject(int argc, char **argv)
{
	return cli_show(&injected, argc, argv);
}

const struct cli_cmd cli_fabric_verbs[] = {
	{ "show", show, "[--dot | --svg] [FABRIC]", "fabrics: nodes, links, the SM; or a picture",
	  .options = cli_fabric_show_options },
	{ "node", NULL, "show [NODE]", "CAs and switches", .verbs = node_verbs },
	{ "port", NULL, "show [NODE | NODE/PORT]", "ports, links, counters", .verbs = port_verbs },
	{ "link", NULL, "set NODE/PORT up|down", "plug or pull a cable", .verbs = link_verbs },
	{ "udp", NULL, "show", "links over UDP", .verbs = udp_verbs },
	{ "fault", NULL, "add | del | clear | show", "faults on links: `uipoib fabric fault -h`",
	  .verbs = cli_fault_verbs },
	{ "lft", NULL, "show NODE", "unicast forwarding of a switch", .verbs = lft_verbs },
	{ "mft", NULL, "show NODE", "multicast forwarding of a switch", .verbs = mft_verbs },
	{ "route", route, "NODE/PORT NODE/PORT [fabric F]",
	  "the cables by which packets go from one port to another, by the switches' tables" },
	{ "sm", NULL, "show | start | stop | restart", "subnet managers of this instance",
	  .verbs = sm_verbs },
	{ "lid", NULL, "set NODE/PORT|GUID LID", "LIDs that the subnet manager gives",
	  .verbs = lid_verbs },
	{ "sweep", sweep, "", "have the SM sweep now" },
	{ "group", NULL, "show", "multicast groups and their members", .verbs = group_verbs },
	{ "inject", inject, "IF@HOST IF@HOST nothing|qkey|pkey|icrc|vcrc|qpn [count N]",
	  "send packets that are wrong in one thing, tell what became of them" },
	{ "partitions", partitions, "[show | FILE] [fabric F]",
	  "show partitions, or load them from a file (OpenSM's partitions.conf)" },
	{ "import", cli_import, "FILE [-o TOPOLOGY [--config CONF]] ...",
	  "what ibnetdiscover printed, made ready to run: `uipoib fabric import -h`",
	  .options = cli_import_options, .own_help = true },
	{ "check", cli_fabric_check, "[FILE | --live PORT | --at NODE] ...",
	  "faults of a fabric: `uipoib fabric check -h`", .options = cli_fabric_check_options,
	  .own_help = true },
	{ NULL },
};
