/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Service ID Resolution in a whole subnet: hosts ask for the broadcast groups of their partitions,
 * and the node of the subnet manager or a host answers.
 */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fabric/fault.h"
#include "sidr/sidr.h"
#include "sm/group.h"
#include "unit/all_lab_check.h"
#include "wire/mgid.h"

#define HOSTS 6
#define ID SIDR_SERVICE_ID_DEFAULT

static struct lab lab;
static const bool all[HOSTS] = { true, true, true, true, true, true };

struct client {
	struct sidr_ask ask;
	unsigned int done, failed;
	struct sidr_result last;
	ns_t at;
};
static struct client client[HOSTS];

static void on_done(struct sidr_ask *a, const struct sidr_result *r, ns_t now)
{
	struct client *c = container_of(a, struct client, ask);

	c->last = *r;
	c->at = now;
	c->done += r->why == SIDR_OK;
	c->failed += r->why != SIDR_OK;
}

static void begin(const struct lab_cfg *cfg)
{
	struct lab_cfg c = *cfg;
	struct topo *t = topo_gen_demo(HOSTS, 3);

	memset(client, 0, sizeof(client));
	c.topo = t;
	c.seed = 1;
	lab_create(&lab, &c);
	topo_free(t);
	lab_wait_up(&lab, all, NS_SEC(30), 1, "at the start");
	lab_run(&lab, NS_SEC(1));
}

static void end(void)
{
	for (unsigned int i = 0; i < HOSTS; i++)
		sidr_stop(&client[i].ask);
	lab_destroy(&lab);
}

static void ask(unsigned int i, uint16_t pkey)
{
	struct lab_host *h = &lab.host[i];

	sidr_stop(&client[i].ask);
	client[i] = (struct client){ .ask = { .done = on_done } };
	sidr_start(h->ca_port.cm, h->sac, &client[i].ask, ID, pkey, lab.now);
}

static const struct sm_group *group(uint16_t pkey)
{
	ib_gid mgid;

	assert_int_equal(mgid_broadcast(&mgid, pkey, 2), 0);
	return sm_group_find(lab.sm, &mgid);
}

static void assert_has_group(unsigned int i, uint16_t pkey)
{
	const struct sidr_group *got = &client[i].last.group;
	const struct sm_group *g = group(pkey);

	assert_non_null(g);
	assert_int_equal(client[i].last.why, SIDR_OK);
	assert_memory_equal(&got->dgid, &g->rec.mgid, 16);
	assert_int_equal(got->dlid, g->rec.mlid);
	assert_int_equal(got->pkey, g->rec.pkey);
	assert_int_equal(got->qkey, g->rec.qkey);
	assert_int_equal(got->sl, g->rec.sl);
	assert_int_equal(got->tclass, g->rec.tclass);
	assert_int_equal(got->flow_label, g->rec.flow_label);
	assert_int_equal(got->hop_limit, g->rec.hop_limit);
}

static struct node *sm_node(void)
{
	for (unsigned int i = 0; i < fabric_nnodes(lab.f); i++) {
		struct node *n = fabric_node_node(fabric_node_at(lab.f, i));

		if (node_is_switch(n))
			return n;
	}
	fail();
	return NULL;
}

static struct node_port *port_of(unsigned int i)
{
	return &fabric_node_node(lab.host[i].node)->port[lab.host[i].port];
}

static unsigned int records(uint16_t pkey)
{
	const struct sa_service *s;
	unsigned int n = 0;

	for (s = sa_service_next(lab.sa, NULL); s; s = sa_service_next(lab.sa, s))
		n += s->rec.id == ID && s->rec.pkey == pkey;
	return n;
}

/*
 * Partition file of two IPoIB links and of a partition without a link. The SM's node is a member of
 * the default partition only.
 */
static const char two[] = "Default=0x7fff, ipoib, sl=1 : ALL_CAS=full, SELF=full;\n"
			  "Lab=0x0001, ipoib, sl=2 : ALL_CAS=full;\n"
			  "Bare=0x0002 : ALL_CAS=full;\n";

static void test_P18_the_node_of_the_SM_gives_out_the_group_of_each_partition(void **state)
{
	begin(&(struct lab_cfg){ .sidr = true, .partitions = two });
	assert_true(sm_node()->port[0].pi.cap_mask & SMP_CAP_IS_CM);
	assert_int_equal(records(0xffff), 1);
	assert_int_equal(records(0x8001), 1);
	assert_int_equal(records(0x8002), 0);
	for (unsigned int i = 0; i < HOSTS; i++)
		ask(i, i % 2 ? 0x8001 : 0xffff);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int i = 0; i < HOSTS; i++) {
		assert_int_equal(client[i].done, 1);
		assert_has_group(i, i % 2 ? 0x8001 : 0xffff);
		assert_int_equal(client[i].last.group.sl, i % 2 ? 2 : 1);
	}
	/*
	 * Partition 0x8002 has no IPoIB group, so the SA has no ServiceRecord for this partition.
	 */
	ask(0, 0x8002);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[0].last.why, SIDR_NO_SERVICE);
	end();
}

static struct cm_request raw;
static unsigned int raw_done;
static struct sidr_rep raw_rep;

static void on_raw(struct cm_request *q, int status, const struct sidr_rep *rep, ns_t now)
{
	raw_done++;
	assert_int_equal(status, 0);
	raw_rep = *rep;
}

/*
 * Send a SIDR_REQ about @pkey to @lid. The BTH of the request has the P_Key @via. Returns the
 * Status of the answer.
 */
static uint8_t ask_lid(unsigned int i, uint16_t lid, uint16_t pkey, uint16_t via)
{
	raw = (struct cm_request){
		.to = mad_addr_gmp(lid, 0),
		.req = { .pkey = pkey, .service_id = ID },
		.done = on_raw,
	};
	raw.to.pkey = via;
	raw_done = 0;
	assert_int_equal(cm_request(lab.host[i].ca_port.cm, &raw, lab.now), 0);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(raw_done, 1);
	return raw_rep.status;
}

static uint8_t ask_sm(unsigned int i, uint16_t pkey)
{
	return ask_lid(i, sac_port(lab.host[i].sac)->sm_lid, pkey, IB_PKEY_DEFAULT);
}

static void test_a_port_outside_the_partition_does_not_learn_its_Q_Key(void **state)
{
	static const uint8_t none[SIDR_REP_PRIVATE_LEN];
	char text[256];

	begin(&(struct lab_cfg){ .sidr = true });
	snprintf(text, sizeof(text),
		 "Default=0x7fff, ipoib : ALL_CAS=full, SELF=full;\n"
		 "Lab=0x0001, ipoib : 0x%llx=full;\n",
		 (unsigned long long)port_of(0)->guids[0]);
	lab_partitions(&lab, text);
	lab_run(&lab, NS_SEC(10));
	assert_int_equal(records(0x8001), 1);
	assert_int_equal(ask_sm(0, 0x8001), SIDR_STATUS_OK);
	assert_int_equal(ask_sm(1, 0x8001), SIDR_STATUS_REJECTED);
	assert_int_equal(raw_rep.qkey, 0);
	assert_memory_equal(raw_rep.priv, none, sizeof(none));
	assert_int_equal(ask_sm(1, 0xffff), SIDR_STATUS_OK);
	/* Host 1 is no member of the partition, so the SA must not show it the ServiceRecord. */
	ask(1, 0x8001);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[1].last.why, SIDR_NO_SERVICE);
	/* The partition is removed, so its ServiceRecord must disappear, too. */
	lab_partitions(&lab, "Default=0x7fff, ipoib : ALL_CAS=full, SELF=full;\n");
	lab_run(&lab, NS_SEC(10));
	assert_int_equal(records(0x8001), 0);
	assert_int_equal(ask_sm(0, 0x8001), SIDR_STATUS_REJECTED);
	end();
}

static void test_another_SM_is_asked_again(void **state)
{
	begin(&(struct lab_cfg){ .sidr = true, .partitions = two });
	ask(3, 0x8001);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[3].done, 1);
	lab_sm_stop(&lab);
	lab_run(&lab, NS_SEC(5));
	/* The partitions change places in the file, so the broadcast groups get other MLIDs. */
	lab_sm_start(&lab, NULL,
		     "Lab=0x0001, ipoib, sl=3 : ALL_CAS=full;\n"
		     "Default=0x7fff, ipoib : ALL_CAS=full, SELF=full;\n");
	lab_run(&lab, NS_SEC(60));
	assert_true(client[3].done >= 2);
	assert_has_group(3, 0x8001);
	assert_int_equal(client[3].last.group.sl, 3);
	end();
}

static void test_a_host_gives_out_the_group_where_the_SM_does_not(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 1, .partitions = two });
	assert_false(sm_node()->port[0].pi.cap_mask & SMP_CAP_IS_CM);
	assert_true(port_of(0)->pi.cap_mask & SMP_CAP_IS_CM);
	assert_false(port_of(1)->pi.cap_mask & SMP_CAP_IS_CM);
	assert_int_equal(records(0xffff), 1);
	for (unsigned int i = 0; i < HOSTS; i++) /* every host asks, the server included */
		ask(i, 0xffff);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int i = 0; i < HOSTS; i++) {
		assert_int_equal(client[i].done, 1);
		assert_has_group(i, 0xffff);
		assert_int_equal(client[i].last.server, port_of(0)->pi.lid);
	}
	/* The P_Key in the BTH decides whether the server treats the sender as a member. */
	assert_int_equal(ask_lid(2, port_of(0)->pi.lid, 0xffff, 0xffff), SIDR_STATUS_OK);
	assert_int_equal(ask_lid(2, port_of(0)->pi.lid, 0xffff, 0x8001), SIDR_STATUS_REJECTED);
	assert_int_equal(raw_rep.qkey, 0);
	/* The host answers only for the partition of its own interface. */
	assert_int_equal(ask_lid(2, port_of(0)->pi.lid, 0x8001, 0x8001), SIDR_STATUS_NO_SERVICE);
	ask(1, 0x8001);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[1].last.why, SIDR_NO_SERVICE);
	end();
}

static void test_the_host_registers_again_after_ClientReregister(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 1 });
	lab_sm_stop(&lab);
	lab_run(&lab, NS_SEC(2));
	lab_sm_start(&lab, NULL, NULL);
	lab_run(&lab, NS_SEC(30));
	assert_int_equal(records(0xffff), 1);
	/* The server must renew the lease of its ServiceRecord before the lease ends. */
	lab_run(&lab, NS_SEC(2 * SAC_SERVICE_LEASE));
	assert_int_equal(records(0xffff), 1);
	ask(4, 0xffff);
	lab_run(&lab, NS_SEC(1));
	assert_has_group(4, 0xffff);
	end();
}

static void test_an_interface_that_goes_down_stops_serving(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 2 });
	assert_int_equal(records(0xffff), 2);
	ifc_set_up(&lab.host[0].ifc, false, lab.now);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(records(0xffff), 1);
	assert_false(port_of(0)->pi.cap_mask & SMP_CAP_IS_CM);
	ask(4, 0xffff);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[4].last.server, port_of(1)->pi.lid);
	ifc_set_up(&lab.host[0].ifc, true, lab.now);
	lab_run(&lab, NS_SEC(5));
	assert_int_equal(records(0xffff), 2);
	assert_true(port_of(0)->pi.cap_mask & SMP_CAP_IS_CM);
	/*
	 * When the interface is removed, its port must clear the capability bit
	 * IsConnectionManagementSupported.
	 */
	lab_host_close(&lab.host[1]);
	assert_false(port_of(1)->pi.cap_mask & SMP_CAP_IS_CM);
	lab_host_open(&lab.host[1]);
	lab_run(&lab, NS_SEC(5));
	assert_true(port_of(1)->pi.cap_mask & SMP_CAP_IS_CM);
	end();
}

static void test_a_host_offers_only_a_group_that_is_there(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 1 });
	assert_int_equal(records(0xffff), 1);
	/* The next subnet manager does not create the broadcast group. */
	lab_sm_stop(&lab);
	lab_run(&lab, NS_SEC(2));
	lab_sm_start(&lab, NULL, "Default=0x7fff : ALL_CAS=full, SELF=full;\n");
	lab_run(&lab, NS_SEC(60));
	assert_int_equal(records(0xffff), 0);
	assert_false(port_of(0)->pi.cap_mask & SMP_CAP_IS_CM);
	ask(1, 0xffff);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[1].last.why, SIDR_NO_SERVICE);
	lab_partitions(&lab, "Default=0x7fff, ipoib : ALL_CAS=full, SELF=full;\n");
	lab_run(&lab, NS_SEC(60));
	assert_int_equal(records(0xffff), 1);
	assert_has_group(1, 0xffff);
	end();
}

/* Send a request (@method) about host 0's ServiceRecord to the SA, from the port of host @from. */
static void send_record(unsigned int from, uint8_t method, uint64_t comp_mask)
{
	struct mad_addr to = mad_addr_gmp(port_of(from)->pi.sm_lid, 0);
	struct ib_service_rec rec = {
		.id = ID, .gid = sac_port(lab.host[0].sac)->gid, .pkey = 0xffff, .lease = 1
	};
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = method,
		.tid = 0x4711,
		.attr_id = SA_ATTR_SERVICE_RECORD,
	};
	struct sa_hdr sa = { .comp_mask = comp_mask };
	uint8_t mad[MAD_LEN];

	sa_mad_encode(mad, &h, &sa);
	ib_service_rec_encode(mad + SA_DATA_OFF, &rec);
	(void)port_of(from)->node->ops->xmit(port_of(from)->node->ctx, port_of(from)->num, &to, mad,
					     lab.now);
	lab_run(&lab, NS_SEC(5));
}

static void test_others_can_neither_delete_nor_change_the_record_of_a_host(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 1 });
	send_record(5, MAD_METHOD_DELETE, 0);
	assert_int_equal(records(0xffff), 1);
	send_record(5, MAD_METHOD_SET,
		    SERVICE_COMP_ID | SERVICE_COMP_GID | SERVICE_COMP_PKEY | SERVICE_COMP_LEASE);
	assert_int_equal(records(0xffff), 1);
	send_record(5, MAD_METHOD_DELETE, SERVICE_COMP_KEY); /* a ServiceKey of zeroes */
	assert_int_equal(records(0xffff), 1);
	/*
	 * Host 0 itself can delete and set the record. The host still has the same ServiceKey after
	 * its interface was taken down and up.
	 */
	ifc_set_up(&lab.host[0].ifc, false, lab.now);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(records(0xffff), 0);
	ifc_set_up(&lab.host[0].ifc, true, lab.now);
	lab_run(&lab, NS_SEC(5));
	assert_int_equal(records(0xffff), 1);
	end();
}

static void test_a_port_that_serves_already_is_taken_over_later(void **state)
{
	struct cm_service other = { .id = ID, .answer = NULL };
	struct cm *cm;

	begin(&(struct lab_cfg){ .sidr_servers = 1 });
	cm = lab.host[0].ca_port.cm;
	ifc_set_up(&lab.host[0].ifc, false, lab.now);
	assert_int_equal(cm_service_add(cm, &other), 0);
	ifc_set_up(&lab.host[0].ifc, true, lab.now);
	lab_run(&lab, NS_SEC(60));
	assert_int_equal(records(0xffff), 0);
	cm_service_del(&other);
	lab_run(&lab, NS_SEC(20));
	assert_int_equal(records(0xffff), 1);
	ask(4, 0xffff);
	lab_run(&lab, NS_SEC(1));
	assert_has_group(4, 0xffff);
	/* The interface goes down while the registration of the service is still pending. */
	ifc_set_up(&lab.host[0].ifc, false, lab.now);
	assert_int_equal(cm_service_add(cm, &other), 0);
	ifc_set_up(&lab.host[0].ifc, true, lab.now);
	lab_run(&lab, NS_SEC(10));
	ifc_set_up(&lab.host[0].ifc, false, lab.now);
	cm_service_del(&other);
	lab_run(&lab, NS_SEC(60));
	assert_int_equal(records(0xffff), 0);
	end();
}

static void with_scope_5(struct lab_host *h, void *ctx)
{
	h->scope = 5;
}

static void test_a_host_gives_out_the_group_with_the_scope_of_its_link(void **state)
{
	ib_gid mgid;

	begin(&(struct lab_cfg){
		.sidr_servers = 1,
		.setup = with_scope_5,
		.partitions = "Default=0x7fff, ipoib, scope=5 : ALL_CAS=full, SELF=full;\n" });
	assert_int_equal(records(0xffff), 1);
	ask(1, 0xffff);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(client[1].done, 1);
	assert_int_equal(mgid_broadcast(&mgid, 0xffff, 5), 0);
	assert_memory_equal(&client[1].last.group.dgid, &mgid, 16);
	end();
}

static void cut(unsigned int i)
{
	assert_int_equal(fabric_link_set(fabric_node_port(lab.host[i].node, lab.host[i].port),
					 false, lab.now),
			 0);
}

static void test_a_server_that_vanished_is_found_out(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 2 });
	/*
	 * The power of host 0 fails, so host 0 cannot delete its ServiceRecord, which the SA must
	 * keep until the lease ends.
	 */
	cut(0);
	lab_run(&lab, NS_SEC(5));
	assert_int_equal(records(0xffff), 2);
	ask(4, 0xffff);
	lab_run(&lab, NS_SEC(30));
	assert_int_equal(client[4].done, 1);
	assert_int_equal(client[4].last.server, port_of(1)->pi.lid);
	lab_run(&lab, NS_SEC(SAC_SERVICE_LEASE));
	assert_int_equal(records(0xffff), 1);
	end();
}

/* Duplicate 30 % of all MADs that leave a host or arrive at a host. */
static void duplicates_on(void)
{
	const struct fault_spec s = { .kind = FAULT_DUPLICATE, .cls = FAULT_MAD, .ppm = 300000 };

	for (unsigned int i = 0; i < HOSTS; i++) {
		struct fabric_port *p = fabric_node_port(lab.host[i].node, lab.host[i].port);

		assert_int_equal(fabric_fault_add(p, &s, NULL), 0);
		assert_int_equal(fabric_fault_add(fabric_port_peer(p), &s, NULL), 0);
	}
}

static void test_loss_and_duplicates(void **state)
{
	begin(&(struct lab_cfg){ .sidr = true });
	lab_faults_on(&lab);
	duplicates_on();
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < HOSTS; i++)
			ask(i, 0xffff);
		lab_run(&lab, NS_SEC(60));
		for (unsigned int i = 0; i < HOSTS; i++) {
			assert_int_equal(client[i].ask.state, SIDR_STATE_DONE);
			assert_has_group(i, 0xffff);
		}
	}
	assert_true(cm_stats(lab.host[0].ca_port.cm)->drop_late > 0);
	assert_true(cm_stats(sa_cm(lab.sa))->served > 20 * HOSTS);
	lab_faults_off(&lab);
	end();
}

/*
 * A host and the subnet manager share a port, and each of them has a CM agent. The host must get
 * the answer of the subnet manager's CM agent.
 */
static void test_a_host_asks_the_subnet_manager_on_its_own_port(void **state)
{
	static const char text[] =
		"Hca 1 \"Hca1\"\n[1] \"Hca2\"[1]\n\nHca 1 \"Hca2\"\n[1] \"Hca1\"[1]\n";
	struct topo_err err;
	struct topo *t;

	memset(client, 0, sizeof(client));
	assert_int_equal(topo_parse(&t, "pair", text, strlen(text), NULL, &err), 0);
	lab_create(&lab, &(struct lab_cfg){ .topo = t, .seed = 1, .sidr = true });
	topo_free(t);
	lab_wait_up(&lab, all, NS_SEC(30), 1, "at the start");
	for (unsigned int i = 0; i < 2; i++)
		ask(i, 0xffff);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(client[i].done, 1);
		assert_has_group(i, 0xffff);
		sidr_stop(&client[i].ask);
	}
	assert_int_equal(cm_stats(sa_cm(lab.sa))->served, 2);
	assert_int_equal(cm_stats(sa_cm(lab.sa))->refused, 0);
	assert_true(port_of(0)->pi.cap_mask & SMP_CAP_IS_CM);
	lab_destroy(&lab);
}

/*
 * The SA limits the ServiceRecords of each port. Records of the SM's node must not count against
 * the limit of the host on the same port.
 */
static void test_records_of_the_subnet_manager_do_not_count_for_the_host_on_its_port(void **state)
{
	static const char text[] =
		"Hca 1 \"Hca1\"\n[1] \"Hca2\"[1]\n\nHca 1 \"Hca2\"\n[1] \"Hca1\"[1]\n";
	struct sac_service *v;
	struct topo_err err;
	struct topo *t;
	unsigned int n = 0;

	assert_int_equal(topo_parse(&t, "pair", text, strlen(text), NULL, &err), 0);
	lab_create(&lab, &(struct lab_cfg){ .topo = t, .seed = 1, .sidr = true });
	topo_free(t);
	lab_wait_up(&lab, all, NS_SEC(30), 1, "at the start");
	for (unsigned int i = 0; i < SA_MAX_SERVICES_PORT; i++)
		assert_int_equal(
			sac_service_register(lab.host[0].sac, i + 1, 0xffff, "test", &v, lab.now),
			0);
	lab_run(&lab, NS_SEC(5));
	for (const struct sa_service *s = sa_service_next(lab.sa, NULL); s;
	     s = sa_service_next(lab.sa, s))
		n += s->rec.id <= SA_MAX_SERVICES_PORT;
	assert_int_equal(n, SA_MAX_SERVICES_PORT);
	assert_int_equal(records(0xffff), 1);
	lab_destroy(&lab);
}

/* Let host 5 flood the server: in each of @ms milliseconds its port sends @per_ms SIDR_REQs. */
static void flood(unsigned int per_ms, unsigned int ms)
{
	struct node_port *p = port_of(5);
	struct mad_addr to = mad_addr_gmp(p->pi.sm_lid, 0);
	struct sidr_req req = { .pkey = 0xffff, .service_id = ID };
	uint8_t mad[MAD_LEN];

	for (unsigned int t = 0; t < ms; t++) {
		for (unsigned int k = 0; k < per_ms; k++) {
			req.request_id++;
			sidr_req_encode(mad, req.request_id, &req);
			(void)p->node->ops->xmit(p->node->ctx, p->num, &to, mad, lab.now);
		}
		lab_run(&lab, NS_MSEC(1));
	}
}

static void test_a_flood_of_SIDR_requests_starves_nobody(void **state)
{
	static const uint8_t v4[4] = { 239, 1, 2, 3 };
	const struct cm_stats *st;
	ib_gid mgid;

	begin(&(struct lab_cfg){ .sidr = true });
	flood(20, 500);
	st = cm_stats(sa_cm(lab.sa));
	assert_in_range(st->served, CM_SOURCE_BURST, CM_SOURCE_BURST + CM_SOURCE_RATE);
	assert_true(st->drop_paced > 9000);
	/*
	 * During the flood other hosts send SIDR_REQs and join groups. They must get answers, and
	 * their joins must succeed.
	 */
	for (unsigned int i = 0; i < 5; i++)
		ask(i, 0xffff);
	assert_int_equal(ipoib_mcast_add(lab.host[2].link, IPOIB_IPV4, v4, lab.now), 0);
	flood(20, 200);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(client[i].failed, 0);
		assert_has_group(i, 0xffff);
		assert_int_equal(cm_stats(lab.host[i].ca_port.cm)->retries, 0);
	}
	assert_int_equal(mgid_from_ipv4(&mgid, v4, 0xffff, 2), 0);
	assert_non_null(sm_group_find(lab.sm, &mgid));
	end();
}

/*
 * A flood of SIDR_REQs is sent to a host that is a SIDR server. This host must still answer the
 * other hosts.
 */
static void test_a_host_that_serves_survives_a_flood(void **state)
{
	begin(&(struct lab_cfg){ .sidr_servers = 1 });
	for (unsigned int i = 1; i < 5; i++)
		ask(i, 0xffff);
	for (unsigned int t = 0; t < 200; t++) {
		struct node_port *p = port_of(5);
		struct mad_addr to = mad_addr_gmp(port_of(0)->pi.lid, 0);
		struct sidr_req req = { .request_id = t, .pkey = 0xffff, .service_id = ID };
		uint8_t mad[MAD_LEN];

		sidr_req_encode(mad, t, &req);
		for (unsigned int k = 0; k < 20; k++)
			(void)p->node->ops->xmit(p->node->ctx, p->num, &to, mad, lab.now);
		lab_run(&lab, NS_MSEC(1));
	}
	assert_true(cm_stats(lab.host[0].ca_port.cm)->drop_paced > 3000);
	for (unsigned int i = 1; i < 5; i++)
		assert_has_group(i, 0xffff);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_P18_the_node_of_the_SM_gives_out_the_group_of_each_partition),
		cmocka_unit_test(test_a_port_outside_the_partition_does_not_learn_its_Q_Key),
		cmocka_unit_test(test_another_SM_is_asked_again),
		cmocka_unit_test(test_a_host_gives_out_the_group_where_the_SM_does_not),
		cmocka_unit_test(test_the_host_registers_again_after_ClientReregister),
		cmocka_unit_test(test_an_interface_that_goes_down_stops_serving),
		cmocka_unit_test(test_a_host_offers_only_a_group_that_is_there),
		cmocka_unit_test(test_others_can_neither_delete_nor_change_the_record_of_a_host),
		cmocka_unit_test(test_a_port_that_serves_already_is_taken_over_later),
		cmocka_unit_test(test_a_server_that_vanished_is_found_out),
		cmocka_unit_test(test_loss_and_duplicates),
		cmocka_unit_test(test_a_host_asks_the_subnet_manager_on_its_own_port),
		cmocka_unit_test(test_a_host_gives_out_the_group_with_the_scope_of_its_link),
		cmocka_unit_test(
			test_records_of_the_subnet_manager_do_not_count_for_the_host_on_its_port),
		cmocka_unit_test(test_a_flood_of_SIDR_requests_starves_nobody),
		cmocka_unit_test(test_a_host_that_serves_survives_a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
