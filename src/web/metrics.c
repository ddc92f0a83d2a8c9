/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/escape.h"
#include "util/list.h"

#define WORD 4 /* PortXmitData and PortRcvData are in units of four octets (IBTA 16.1.3.5) */

/*
 * A counter of a port, and the names that infiniband_exporter and node_exporter give it; NULL: the exporter has no
 * such metric
 */
struct metric {
	const char *counter; /* member of the JSON object "counters" of a port (struct web_rows) */
	const char *switch_name; /* name that follows infiniband_switch_port_ */
	const char *ca_name; /* name that follows node_infiniband_ */
	unsigned int unit;
	const char *help;
};

static const struct metric metrics[] = {
	{ "xmit_data", "transmit_data_bytes_total", "port_data_transmitted_bytes_total", WORD,
	  "Octets sent, without those of management packets" },
	{ "rcv_data", "receive_data_bytes_total", "port_data_received_bytes_total", WORD,
	  "Octets received, without those of management packets" },
	{ "xmit_pkts", "transmit_packets_total", "port_packets_transmitted_total", 1,
	  "Packets sent" },
	{ "rcv_pkts", "receive_packets_total", "port_packets_received_total", 1,
	  "Packets received" },
	{ "ucast_xmit", "unicast_transmit_packets_total", "unicast_packets_transmitted_total", 1,
	  "Unicast packets sent" },
	{ "ucast_rcv", "unicast_receive_packets_total", "unicast_packets_received_total", 1,
	  "Unicast packets received" },
	{ "mcast_xmit", "multicast_transmit_packets_total", "multicast_packets_transmitted_total",
	  1, "Multicast packets sent" },
	{ "mcast_rcv", "multicast_receive_packets_total", "multicast_packets_received_total", 1,
	  "Multicast packets received" },
	{ "symbol_errors", "symbol_error_total", "symbol_error_total", 1,
	  "SymbolErrorCounter of the port" },
	{ "link_recovers", "link_error_recovery_total", "link_error_recovery_total", 1,
	  "LinkErrorRecoveryCounter of the port" },
	{ "link_downed", "link_downed_total", "link_downed_total", 1,
	  "LinkDownedCounter of the port" },
	{ "rcv_errors", "receive_errors_total", "port_errors_received_total", 1,
	  "PortRcvErrors of the port" },
	{ "rcv_remphys_errors", "receive_remote_physical_errors_total",
	  "port_receive_remote_physical_errors_total", 1,
	  "PortRcvRemotePhysicalErrors of the port" },
	{ "rcv_switch_relay_errors", "receive_switch_relay_errors_total",
	  "port_receive_switch_relay_errors_total", 1, "PortRcvSwitchRelayErrors of the port" },
	{ "xmit_discards", "transmit_discards_total", "port_discards_transmitted_total", 1,
	  "PortXmitDiscards of the port" },
	{ "xmit_constraint_errors", "transmit_constraint_errors_total",
	  "port_constraint_errors_transmitted_total", 1, "PortXmitConstraintErrors of the port" },
	{ "rcv_constraint_errors", "receive_constraint_errors_total",
	  "port_constraint_errors_received_total", 1, "PortRcvConstraintErrors of the port" },
	{ "local_link_integrity", "local_link_integrity_errors_total",
	  "local_link_integrity_errors_total", 1, "LocalLinkIntegrityErrors of the port" },
	{ "excessive_overruns", "excessive_buffer_overrun_errors_total",
	  "excessive_buffer_overrun_errors_total", 1, "ExcessiveBufferOverrunErrors of the port" },
	{ "vl15_dropped", "vl15_dropped_total", "vl15_dropped_total", 1,
	  "VL15Dropped of the port" },
	{ "xmit_wait", "transmit_wait_total", "port_transmit_wait_total", 1,
	  "PortXmitWait of the port" },
};

struct maker {
	FILE *out;
	const struct web_rows *rows;
	json_t *by_name; /* rows of nodes by "FABRIC NODE" */
};

static const char *str(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

/* Begin the samples of a metric. */
static void head(struct maker *m, const char *prefix, const char *name, const char *type,
		 const char *help)
{
	fprintf(m->out, "# HELP %s%s %s.\n# TYPE %s%s %s\n", prefix, name, help, prefix, name,
		type);
}

/*
 * Write a label of a metric. The value of the label may be a NodeDescription, which any node can choose. So control
 * characters become \xNN, and then quotes and backslashes are escaped as the format demands.
 */
static void label(FILE *out, const char *sep, const char *name, const char *value)
{
	char safe[1024];
	struct text t = TEXT_IN(safe);

	safe[0] = '\0';
	text_add_escaped(&t, value);
	fprintf(out, "%s%s=\"", sep, name);
	for (const char *p = safe; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

static void sample(struct maker *m, long long value)
{
	fprintf(m->out, "} %lld\n", value);
}

/* --- ports of switches and CAs */

/* Return: the number of the port as text, which follows the last '/' of "NODE/PORT" */
static const char *port_num(const json_t *port)
{
	const char *slash = strrchr(str(port, "port"), '/');

	return slash ? slash + 1 : "";
}

static bool is_switch(const json_t *node)
{
	return !strcmp(str(node, "type"), "switch");
}

/*
 * Tell whether a port has a cable. infiniband_exporter and node_exporter report only such ports. Port 0 of a switch
 * has no cable.
 */
static bool has_cable(const json_t *port)
{
	return *str(port, "peer");
}

static void port_labels(struct maker *m, const json_t *node, const json_t *port)
{
	if (is_switch(node)) {
		label(m->out, "{", "guid", str(node, "node_guid"));
		label(m->out, ",", "port", port_num(port));
		label(m->out, ",", "switch", str(node, "node"));
	} else {
		label(m->out, "{", "device", str(node, "node"));
		label(m->out, ",", "port", port_num(port));
	}
	label(m->out, ",", "fabric", str(node, "fabric"));
}

typedef void port_fn(struct maker *m, const json_t *node, const json_t *port, const void *arg);

static void each_port(struct maker *m, bool switches, port_fn *fn, const void *arg)
{
	const json_t *node, *port;
	size_t i, k;

	json_array_foreach(m->rows->nodes, i, node)
	{
		if (is_switch(node) != switches)
			continue;
		json_array_foreach(json_object_get(node, "ports"), k, port)
		{
			if (has_cable(port))
				fn(m, node, port, arg);
		}
	}
}

static void put_counter(struct maker *m, const json_t *node, const json_t *port, const void *arg)
{
	const struct metric *d = arg;
	const json_t *v = json_object_get(json_object_get(port, "counters"), d->counter);

	if (!json_is_integer(v))
		return;
	fprintf(m->out, is_switch(node) ? "infiniband_switch_port_%s" : "node_infiniband_%s",
		is_switch(node) ? d->switch_name : d->ca_name);
	port_labels(m, node, port);
	sample(m, json_integer_value(v) * d->unit);
}

static void counters(struct maker *m)
{
	for (size_t k = 0; k < ARRAY_SIZE(metrics); k++) {
		const struct metric *d = &metrics[k];

		head(m, "infiniband_switch_port_", d->switch_name, "counter", d->help);
		each_port(m, true, put_counter, d);
		head(m, "node_infiniband_", d->ca_name, "counter", d->help);
		each_port(m, false, put_counter, d);
	}
}

/* --- rates and states */

/*
 * Return the octets per second of a speed such as "4xEDR", by the data rates that infiniband_exporter uses; 0:
 * unknown
 */
static long long rate_of(const json_t *port)
{
	static const struct {
		const char *speed;
		unsigned int gbps;
	} lane[] = {
		{ "SDR", 2 },  { "DDR", 4 },  { "QDR", 8 },  { "FDR10", 10 },
		{ "FDR", 14 }, { "EDR", 25 }, { "HDR", 50 }, { "NDR", 100 },
	};
	char *end;
	unsigned long width = strtoul(str(port, "speed"), &end, 10);

	for (size_t k = 0; *end == 'x' && width <= 12 && k < ARRAY_SIZE(lane); k++)
		if (!strcmp(end + 1, lane[k].speed))
			return (long long)width * lane[k].gbps * 1000000000 / 8;
	return 0;
}

static void put_rate(struct maker *m, const json_t *node, const json_t *port, const void *arg)
{
	(void)arg;
	fputs("node_infiniband_rate_bytes_per_second", m->out);
	port_labels(m, node, port);
	sample(m, rate_of(port));
}

/* Return the number of a state in PortInfo (IBTA 14.2.5.6); 0: unknown */
static int number_of(const char *state, const char *const *names, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (names[k] && !strcmp(names[k], state))
			return (int)k;
	return 0;
}

static void put_state(struct maker *m, const json_t *node, const json_t *port, const void *arg)
{
	static const char *const names[] = { NULL, "Down", "Init", "Armed", "Active" };

	(void)arg;
	fputs("node_infiniband_state_id", m->out);
	port_labels(m, node, port);
	sample(m, number_of(str(port, "state"), names, ARRAY_SIZE(names)));
}

static void put_phys_state(struct maker *m, const json_t *node, const json_t *port, const void *arg)
{
	static const char *const names[] = { NULL,	 "Sleep",    "Polling",
					     "Disabled", "Training", "LinkUp" };

	(void)arg;
	fputs("node_infiniband_physical_state_id", m->out);
	port_labels(m, node, port);
	sample(m, number_of(str(port, "phys_state"), names, ARRAY_SIZE(names)));
}

static void put_up(struct maker *m, const json_t *node, const json_t *port, const void *arg)
{
	(void)arg;
	label(m->out, "uipoib_port_up{", "node", str(node, "node"));
	label(m->out, ",", "port", port_num(port));
	label(m->out, ",", "fabric", str(node, "fabric"));
	sample(m, !strcmp(str(port, "link"), "up"));
}

static void states(struct maker *m)
{
	head(m, "node_infiniband_", "rate_bytes_per_second", "gauge", "Data rate of the link");
	each_port(m, false, put_rate, NULL);
	head(m, "node_infiniband_", "state_id", "gauge",
	     "PortState (1 Down, 2 Initialize, 3 Armed, 4 Active)");
	each_port(m, false, put_state, NULL);
	head(m, "node_infiniband_", "physical_state_id", "gauge",
	     "PortPhysicalState (1 Sleep, 2 Polling, 3 Disabled, 4 Training, 5 LinkUp)");
	each_port(m, false, put_phys_state, NULL);
	head(m, "uipoib_", "port_up", "gauge", "Whether the cable at the port carries packets");
	each_port(m, true, put_up, NULL);
	each_port(m, false, put_up, NULL);
}

/* --- metrics of switches, and of the nodes to which their ports lead */

static void put_lid(struct maker *m, const char *name, const json_t *row)
{
	char lid[16];

	snprintf(lid, sizeof(lid), "%lld",
		 (long long)json_integer_value(json_object_get(row, "lid")));
	label(m->out, ",", name, lid);
}

/* Write the key, "FABRIC NODE", under which the row of a node is stored. Names are short enough for 512 octets */
static const char *key_of(char buf[512], const json_t *row, const char *node, size_t node_len)
{
	snprintf(buf, 512, "%s %.*s", str(row, "fabric"), (int)node_len, node);
	return buf;
}

static void put_uplink(struct maker *m, const json_t *node, const json_t *port, const void *arg)
{
	const char *peer = str(port, "peer"), *slash = strrchr(peer, '/');
	const json_t *other, *other_port, *end = NULL;
	char key[512];
	size_t k;

	(void)arg;
	if (!slash)
		return;
	other = json_object_get(m->by_name, key_of(key, node, peer, (size_t)(slash - peer)));
	/* the cable leads out of the instance, so the node at its other end is not known */
	if (!other)
		return;
	json_array_foreach(json_object_get(other, "ports"), k, other_port)
	{
		if (!strcmp(str(other_port, "port"), peer))
			end = other_port;
	}
	fputs("infiniband_switch_uplink_info", m->out);
	port_labels(m, node, port);
	label(m->out, ",", "uplink", str(other, "node"));
	label(m->out, ",", "uplink_guid", str(other, "node_guid"));
	label(m->out, ",", "uplink_type", is_switch(other) ? "SW" : "CA");
	label(m->out, ",", "uplink_port", slash + 1);
	put_lid(m, "uplink_lid", is_switch(other) ? other : end);
	sample(m, 1);
}

static long long highest_rate(const json_t *node)
{
	const json_t *port;
	long long rate = 0;
	size_t k;

	json_array_foreach(json_object_get(node, "ports"), k, port)
	{
		if (has_cable(port) && rate_of(port) > rate)
			rate = rate_of(port);
	}
	return rate;
}

static void switches(struct maker *m)
{
	const json_t *node;
	size_t i;

	head(m, "infiniband_switch_", "info", "gauge", "Name and LID of a switch");
	json_array_foreach(m->rows->nodes, i, node)
	{
		if (!is_switch(node))
			continue;
		label(m->out, "infiniband_switch_info{", "guid", str(node, "node_guid"));
		label(m->out, ",", "switch", str(node, "node"));
		put_lid(m, "lid", node);
		label(m->out, ",", "fabric", str(node, "fabric"));
		sample(m, 1);
	}
	head(m, "infiniband_switch_", "rate_bytes_per_second", "gauge",
	     "Data rate of the fastest link of a switch");
	json_array_foreach(m->rows->nodes, i, node)
	{
		if (!is_switch(node))
			continue;
		label(m->out, "infiniband_switch_rate_bytes_per_second{", "guid",
		      str(node, "node_guid"));
		label(m->out, ",", "fabric", str(node, "fabric"));
		sample(m, highest_rate(node));
	}
	head(m, "infiniband_switch_", "uplink_info", "gauge",
	     "The other end of the cable at a port of a switch");
	each_port(m, true, put_uplink, NULL);
}

/* --- interfaces and drops */

static void interfaces(struct maker *m)
{
	const json_t *link;
	size_t i;

	head(m, "uipoib_", "interface_up", "gauge", "Whether an IPoIB interface has a carrier");
	json_array_foreach(m->rows->links, i, link)
	{
		label(m->out, "uipoib_interface_up{", "interface", str(link, "ifname"));
		label(m->out, ",", "host", str(link, "host"));
		sample(m, json_is_true(json_object_get(link, "carrier")));
	}
}

/* Write the labels of a drop counter; write "" if there is no room for the labels */
static void drop_labels(char *buf, size_t size, const json_t *row)
{
	FILE *f = fmemopen(buf, size, "w");

	buf[0] = '\0';
	if (!f)
		return;
	label(f, "{", "layer", str(row, "layer"));
	label(f, ",", "object", str(row, "object"));
	label(f, ",", "counter", str(row, "counter"));
	if (fclose(f))
		buf[0] = '\0';
}

/*
 * Write the metrics of drop counters. Objects of two fabrics may have the same name, but Prometheus' format allows
 * each set of labels only once. So the values of counters with equal labels are added.
 */
static void drops(struct maker *m)
{
	json_t *sums = json_object(), *sum;
	char labels[4096];
	const char *key;
	const json_t *row;
	size_t i;

	head(m, "uipoib_", "drops_total", "counter",
	     "Packets that were discarded, by layer, object and reason");
	json_array_foreach(m->rows->stats, i, row)
	{
		long long v = json_integer_value(json_object_get(row, "value"));

		if (!json_is_true(json_object_get(row, "drop")))
			continue;
		drop_labels(labels, sizeof(labels), row);
		v += json_integer_value(json_object_get(sums, labels));
		if (labels[0])
			json_object_set_new(sums, labels, json_integer(v));
	}
	json_object_foreach(sums, key, sum)
	{
		fprintf(m->out, "uipoib_drops_total%s", key);
		sample(m, json_integer_value(sum));
	}
	json_decref(sums);
}

static void reader(struct maker *m, const char *name, const char *type, const char *help,
		   const char *what, uint64_t value)
{
	if (help)
		head(m, "uipoib_web_", name, type, help);
	fprintf(m->out, "uipoib_web_%s", name);
	label(m->out, "{", "what", what);
	sample(m, (long long)value);
}

static void readers(struct maker *m)
{
	const struct web_http_stats *s = m->rows->http;

	if (!s)
		return;
	reader(m, "event_readers", "gauge", "Clients of uipoib web that read events", "now",
	       s->streams);
	reader(m, "event_readers_total", "counter",
	       "Clients of uipoib web that came for events, and those of them that were refused or "
	       "cut off",
	       "opened", s->opened);
	reader(m, "event_readers_total", NULL, NULL, "refused", s->refused);
	reader(m, "event_readers_total", NULL, NULL, "slow", s->slow);
}

int web_metrics(char **ret, size_t *ret_len, const struct web_rows *rows)
{
	struct maker m = { .rows = rows, .by_name = json_object() };
	char *text = NULL, key[512];
	size_t i, len = 0;
	json_t *node;

	m.out = open_memstream(&text, &len);
	if (!m.out) {
		json_decref(m.by_name);
		return -ENOMEM;
	}
	json_array_foreach(rows->nodes, i, node)
	{
		const char *name = str(node, "node");

		json_object_set(m.by_name, key_of(key, node, name, strlen(name)), node);
	}
	counters(&m);
	states(&m);
	switches(&m);
	interfaces(&m);
	drops(&m);
	readers(&m);
	json_decref(m.by_name);
	if (fclose(m.out)) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	*ret_len = len;
	return 0;
}
