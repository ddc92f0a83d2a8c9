/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "clauses/profile.h"
#include "world/peer.h"
#include "world/sa.h"
#include "world/sidr.h"
#include "world/sm.h"

/*
 * Cases in which Service ID Resolution tells the DUT the broadcast group of its link:
 * draft-pelissier-ipoib-encaparp-00 section 6.2, IBTA 12.11
 */

#define DRAFT "draft-pelissier-ipoib-encaparp-00 "

/* Offset of the private data in a SIDR_REP */
#define REP_PRIVATE (MAD_LEN - SIDR_REP_PRIVATE_LEN)

void encaparp_prepare(struct world *w)
{
	ib_gid bcast = sa_mgid_broadcast(w);
	struct world_group *g =
		world_group_make(w, &bcast); /* this call also assigns an MLID to the group */

	g->exists = g->admin = false;
	/* The case P18/retry ends the silence after it has waited for the DUT to repeat a SIDR_REQ. */
	w->sidr.silent = true;
}

/* --- the DUT as a client */

static bool is_service_query(const struct seen *s, const void *arg)
{
	static const struct sa_want get = { .method = MAD_METHOD_GET,
					    .attr = SA_ATTR_SERVICE_RECORD },
				    table = { .method = MAD_METHOD_GET_TABLE,
					      .attr = SA_ATTR_SERVICE_RECORD };

	return sa_is(s, &get) || sa_is(s, &table);
}

static const struct seen *first(struct run *r, seen_match *match, const void *arg)
{
	return world_expect(r->w, 1, match, arg, WORLD_LONGEST);
}

static void asks_for_service(struct run *r)
{
	const struct seen *s = first(r, is_service_query, NULL);
	struct ib_service_rec rec;
	struct sa_mad q;

	if (!s) {
		missing(r, "no query for a ServiceRecord within 18 s after the port became Active");
		return;
	}
	sa_mad_decode(&q, s->payload, s->payload_len);
	ib_service_rec_decode(&rec, q.data, q.data_len);
	check(r, q.sa.comp_mask & SERVICE_COMP_ID, s,
	      "the component mask 0x%llx does not name ServiceID",
	      (unsigned long long)q.sa.comp_mask);
	if (check(r, q.sa.comp_mask & SERVICE_COMP_PKEY, s,
		  "the component mask 0x%llx does not name ServiceP_Key",
		  (unsigned long long)q.sa.comp_mask))
		check(r, rec.pkey == WORLD_PKEY, s, "ServiceP_Key is 0x%04x, expected 0x%04x",
		      rec.pkey, WORLD_PKEY);
}

static void asks_for_path(struct run *r)
{
	const ib_gid server = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID);
	struct sa_want want = { .attr = SA_ATTR_PATH_RECORD, .gid = &server };
	const struct seen *s = first(r, sa_is, &want), *req;

	if (!s) {
		missing(r, "no query for the PathRecord of the server within 18 s");
		return;
	}
	req = world_expect(r->w, 1, sidr_is_request, NULL, WORLD_LONGEST);
	check(r, req && req->n > s->n, req,
	      "a SIDR_REQ was sent before the path to the server was asked for");
}

static void request(struct run *r)
{
	static const struct sa_want any = { .attr = SA_ATTR_SERVICE_RECORD };
	const struct seen *s = first(r, sidr_is_request, NULL),
			  *q = world_expect(r->w, 1, sa_is, &any, NS_SEC(1));
	struct ib_service_rec rec;
	struct sidr_req req;
	struct sa_mad sa;

	if (!s || !q) {
		missing(r, "no SIDR_REQ within 18 s");
		return;
	}
	sa_mad_decode(&sa, q->payload, q->payload_len);
	ib_service_rec_decode(&rec, sa.data, sa.data_len);
	sidr_req_decode(&req, s->payload, s->payload_len);
	check_octets(r, s, s->payload + MAD_OFF_METHOD, "\3", 1, "the method (Send)");
	check(r, s->payload[2] == CM_CLASS_VERSION, s, "the class version is %u, expected 2",
	      s->payload[2]);
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID, "the DLID of the SIDR_REQ");
	check(r, s->h.deth.qkey == IB_QP1_QKEY && s->h.deth.src_qp == IB_QP1, s,
	      "a SIDR_REQ from QP 0x%x with Q_Key 0x%08x, expected QP1 and 0x80010000",
	      s->h.deth.src_qp, s->h.deth.qkey);
	check(r, req.service_id == rec.id, s,
	      "ServiceID 0x%016llx, the ServiceRecord was asked for with 0x%016llx",
	      (unsigned long long)req.service_id, (unsigned long long)rec.id);
	check(r, (req.pkey & 0x7fff) == (WORLD_PKEY & 0x7fff), s,
	      "the P_Key of the SIDR_REQ is 0x%04x, expected 0x%04x", req.pkey, WORLD_PKEY);
}

/*
 * Tell whether a packet is a SIDR_REQ with the RequestID @id; has_other_id() accepts a SIDR_REQ with
 * any other RequestID
 */
static bool has_id(const struct seen *s, const void *id)
{
	struct sidr_req q;

	return sidr_is_request(s, NULL) && !sidr_req_decode(&q, s->payload, s->payload_len) &&
	       q.request_id == *(const uint32_t *)id;
}

static bool has_other_id(const struct seen *s, const void *id)
{
	return sidr_is_request(s, NULL) && !has_id(s, id);
}

static uint32_t id_of(const struct seen *s)
{
	struct sidr_req q;

	return sidr_req_decode(&q, s->payload, s->payload_len) ? 0 : q.request_id;
}

static void repeats(struct run *r)
{
	const struct seen *s = first(r, sidr_is_request, NULL), *again;
	uint32_t id = s ? id_of(s) : 0;

	if (s) {
		again = world_expect(r->w, s->n + 1, has_id, &id, WORLD_LONGEST);
		if (!again)
			missing(r,
				"a SIDR_REQ that was not answered was not repeated with the same "
				"RequestID within 18 s");
		else
			check(r, mad_tid(again->payload) == mad_tid(s->payload), again,
			      "the TID of the repeated SIDR_REQ is another one");
	}
	r->w->sidr.silent = false;
	r->w->sidr.status = SIDR_STATUS_NO_SERVICE; /* the next case expects this status */
}

static bool is_data(const struct seen *s, const void *arg)
{
	return s->kind == SEEN_DATA;
}

/*
 * Judge the DUT while the answers of the SIDR server are unusable. The DUT has to ask again, by a
 * SIDR_REQ with another RequestID. It must not send data before it has a usable answer
 */
static bool asks_again(struct run *r, const char *what)
{
	const struct seen *s = expect(r, sidr_is_request, NULL, 2 * WORLD_LONGEST), *data;
	uint32_t id = s ? id_of(s) : 0;

	if (!s || !expect(r, has_other_id, &id, WORLD_LONGEST)) {
		missing(r, "the server answers with %s; the DUT has not asked again within 18 s",
			what);
		return false;
	}
	data = seen_since(r, is_data, NULL);
	return check(r, !data, data, "the DUT sent a packet, though the server answers with %s",
		     what);
}

static void after_refusal(struct run *r)
{
	asks_again(r, "Status 1");
	r->w->sidr.status = SIDR_STATUS_OK;
	r->w->sidr.ver = 2; /* the next case expects this version */
}

static void another_version(struct run *r)
{
	asks_again(r, "Ver 2");
	r->w->sidr.ver = 0;
}

static const struct conform_case sidr_cases[] = {
	{ "P18/service", "the DUT asks the SA for ServiceRecords of the SIDR server",
	  DRAFT "6.2; IBTA 15.2.5.14",
	  "These parameters are obtained using the Service ID Resolution Protocol.", "I5/active",
	  asks_for_service, NULL },
	{ "P18/path", "the DUT asks the SA for the path to the SIDR server",
	  DRAFT "6.2; IBTA 12.11", "The SIDR_REQ goes to the port that offers the service.",
	  "P18/service", asks_for_path, NULL },
	{ "P18/request", "the SIDR_REQ has the ServiceID and the P_Key", "IBTA 12.11.1, 13.4",
	  "Class 0x07, attribute 0x17, method Send, from QP1 to QP1, with ServiceID and P_Key.",
	  "P18/path", request, NULL },
	{ "P18/retry", "the DUT repeats a SIDR_REQ that gets no answer", "IBTA 12.11",
	  "A retry has the same RequestID and TID.", "P18/request", repeats, NULL },
	{ "P18/refused", "after a refused SIDR_REQ the link is down, and the DUT asks again",
	  DRAFT "6.2; IBTA 12.11.2",
	  "Status is not 0: the service is not there, the parameters are not valid.", "P18/retry",
	  after_refusal, NULL },
	{ "P19/ver", "the link does not come up by a SIDR answer with Ver 2", DRAFT "6.2",
	  "The Ver field SHALL be set to 1.", "P18/refused", another_version, NULL },
};

const struct conform_chapter chapter_sidr = { "SIDR", sidr_cases,
					      sizeof(sidr_cases) / sizeof(sidr_cases[0]) };

/* --- the group */

static void dgid_of_sidr(struct run *r)
{
	join_mgid_octets(r, 0, 16, 0xff, "the MGID (the DGID of SIDR)");
}

static void small_mtu(struct world_group *g)
{
	g->rec.mtu_code = IB_MTU_1024;
}

static void group_of_small_mtu(struct run *r)
{
	join_of_unfit(r, small_mtu, "the MTU of the group is 1024");
}

static const struct conform_case group_cases[] = {
	{ "P18/join", "the DUT joins the group whose DGID the SIDR answer names", DRAFT "6.2",
	  "DGID is obtained by SIDR. To be in the group, the interface joins it.", "R23",
	  dgid_of_sidr, NULL },
	{ "P18/created", "the DUT joins the group and does not create it", DRAFT "6.2",
	  "Its parameters come by SIDR.", "R23", NULL, join_never_creates },
	{ "P18/pkey",
	  "the link does not come up if the group's P_Key is not that of the SIDR answer",
	  DRAFT "6.2", "PKey is obtained by SIDR.", "R23 P18/join", join_of_another_pkey, NULL },
	{ "P7/group", "the link does not come up if the group's MTU is 1024", DRAFT "3.2",
	  "The methods are limited to IBA paths that support 2048 byte or 4096 byte MTU.",
	  "P18/pkey", group_of_small_mtu, NULL },
};

const struct conform_chapter chapter_sidr_group = { "the group", group_cases,
						    sizeof(group_cases) / sizeof(group_cases[0]) };

/* --- the DUT as a server */

static bool serves(struct run *r)
{
	if (r->w->sidr.registered)
		return true;
	not_applicable(r, "the DUT has registered no ServiceRecord, so it is no server of SIDR");
	return false;
}

static bool has_registered(const struct world *w, const void *arg)
{
	return w->sidr.registered;
}

static void registered(struct run *r)
{
	const struct ib_service_rec *rec = &r->w->sidr.service;

	/*
	 * A DUT that is a SIDR server registers with the SA after it has joined the broadcast
	 * group. The DUT joined this group long before this case, so a short wait is enough. Most
	 * DUTs are not servers, and for them the wait is in vain.
	 */
	world_wait(r->w, has_registered, NULL, NS_SEC(3));
	if (!serves(r))
		return;
	check(r, ib_gid_equal(&rec->gid, &r->w->dut.gid), NULL,
	      "ServiceGID in the ServiceRecord is not the GID of the DUT's port");
	check(r, rec->pkey == WORLD_PKEY, NULL, "ServiceP_Key is 0x%04x, expected 0x%04x",
	      rec->pkey, WORLD_PKEY);
}

static void communication_management(struct run *r)
{
	struct sm_request q = { .method = MAD_METHOD_GET, .attr = SMP_ATTR_PORT_INFO, .mod = 1 };
	struct smp_port_info pi;
	const struct seen *s;

	if (!serves(r))
		return;
	if (world_sm_ask(r->w, &q, &s) < 0) {
		missing(r, "no answer to SubnGet(PortInfo)");
		return;
	}
	smp_port_info_decode(&pi, sm_attr_data(s), SMP_DATA_LEN);
	check(r, pi.cap_mask & SMP_CAP_IS_CM, s,
	      "IsCommunicationManagementSupported is 0 in the CapabilityMask 0x%08x", pi.cap_mask);
}

/* Send a SIDR_REQ. Return: the answer; NULL: no answer came, and the case has a verdict */
static const struct seen *answer(struct run *r, uint64_t service_id, uint32_t id)
{
	const struct seen *s = serves(r) ? world_sidr_ask(r->w, service_id, id) : NULL;

	if (!s && r->w->sidr.registered)
		missing(r, "no SIDR_REP to a SIDR_REQ, sent three times in 3 s");
	return s;
}

static void answers(struct run *r)
{
	const uint64_t id = r->w->sidr.service.id;
	const struct seen *s = answer(r, id, 0xc0f00001);
	struct sidr_rep rep;

	if (!s)
		return;
	sidr_rep_decode(&rep, s->payload, s->payload_len);
	check_octets(r, s, s->payload + MAD_OFF_METHOD, "\3", 1, "the method (Send)");
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID, "the DLID of the SIDR_REP");
	check(r, rep.request_id == 0xc0f00001, s, "RequestID is 0x%08x, expected 0xc0f00001",
	      rep.request_id);
	check(r, rep.status == SIDR_STATUS_OK, s, "Status is %u, expected 0", rep.status);
	check(r, rep.service_id == id, s, "ServiceID is 0x%016llx, expected 0x%016llx",
	      (unsigned long long)rep.service_id, (unsigned long long)id);
}

static void private_data(struct run *r)
{
	const struct seen *s = answer(r, r->w->sidr.service.id, 0xc0f00002);
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct world_group *g = world_group(r->w, &bcast);
	uint8_t want[SIDR_REP_PRIVATE_LEN] = { 0x10 | WORLD_GROUP_SL };

	if (!s || !g)
		return;
	/*
	 * Order of the fields in the drawing of draft-pelissier-ipoib-encaparp-00: Ver SL TClass
	 * DLID, HopLmt Resv FlowLabel, Resv PKey, QKey, DGID, Reserved
	 */
	want[1] = g->rec.tclass;
	be16_put(want + 2, g->rec.mlid);
	be32_put(want + 4, (uint32_t)g->rec.hop_limit << 24 | g->rec.flow_label);
	be16_put(want + 10, WORLD_PKEY);
	be32_put(want + 12, g->rec.qkey);
	memcpy(want + 16, bcast.raw, 16);
	check_octets(r, s, s->payload + REP_PRIVATE, want, 16,
		     "Ver, SL, TClass, DLID, HopLmt, FlowLabel, PKey and QKey in the private data");
	check_octets(r, s, s->payload + REP_PRIVATE + 16, want + 16, 16,
		     "DGID in the private data");
	check(r, !memcmp(s->payload + REP_PRIVATE + 32, want + 32, sizeof(want) - 32), s,
	      "the reserved octets of the private data are not 0");
}

static void answers_twice(struct run *r)
{
	const struct seen *a = answer(r, r->w->sidr.service.id, 0xc0f00003), *b;

	b = a ? world_sidr_ask(r->w, r->w->sidr.service.id, 0xc0f00003) : NULL;
	if (a && !b)
		missing(r, "no answer to a SIDR_REQ that was sent once more");
	if (b)
		check(r, !memcmp(a->payload, b->payload, MAD_LEN), b,
		      "the answer to a duplicate of a SIDR_REQ is another one");
}

static void unknown_service(struct run *r)
{
	const struct seen *s = answer(r, r->w->sidr.service.id ^ 0x7700, 0xc0f00004);

	if (s)
		check(r, s->payload[MAD_HDR_LEN + 4] == SIDR_STATUS_NO_SERVICE, s,
		      "Status is %u for an unknown ServiceID, expected 1",
		      s->payload[MAD_HDR_LEN + 4]);
}

static const struct conform_case server_cases[] = {
	{ "P18/registered", "a SIDR server has a ServiceRecord at the SA", "IBTA 15.2.5.14",
	  "ServiceID, ServiceGID and ServiceP_Key say where the service is.", "P16/request",
	  registered, NULL },
	{ "P18/capability", "the port of a SIDR server has IsCommunicationManagementSupported",
	  "IBTA 14.2.5.6", "IsCommunicationManagementSupported is bit 16 of the CapabilityMask.",
	  "P18/registered", communication_management, NULL },
	{ "P18/answer", "a SIDR server answers a SIDR_REQ", "IBTA 12.11.2",
	  "SIDR_REP has attribute 0x18, method Send, and the RequestID of the request.",
	  "P18/registered", answers, NULL },
	{ "P19/layout", "the private data of a SIDR_REP has the draft's layout", DRAFT "6.2",
	  "The private data area in SIDR responses for the IBARP service SHALL be formatted so.",
	  "P18/answer", private_data, NULL },
	{ "P18/duplicate", "a repeated SIDR_REQ gets the same answer", "IBTA 12.11",
	  "A SIDR_REQ may be repeated.", "P18/answer", answers_twice, NULL },
	{ "P18/unknown", "a SIDR_REQ with another ServiceID gets Status 1", "IBTA 12.11.2",
	  "1: ServiceID not supported.", "P18/answer", unknown_service, NULL },
};

const struct conform_chapter chapter_sidr_server = {
	"SIDR server", server_cases, sizeof(server_cases) / sizeof(server_cases[0])
};
