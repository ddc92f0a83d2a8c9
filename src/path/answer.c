/* SPDX-License-Identifier: BSD-2-Clause */
#include "path/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/proto.h"

static_assert(sizeof(struct ipoib_path_info) == 72, "HLD section 3.3");
static_assert(offsetof(struct ipoib_path_info, dest_gid) == 18, "HLD section 3.3");
static_assert(offsetof(struct ipoib_path_info, flow_lable) == 56, "HLD section 3.3");
static_assert(offsetof(struct ipoib_path_info, tclass) == 71, "HLD section 3.3");

/* Octets of a PathRecord (IBTA 15.2.5.16) */
enum {
	REC_DGID = 8,
	REC_SGID = 24,
	REC_DLID = 40,
	REC_SLID = 42,
	/* 4 octets: RawTraffic (1 bit), 3 reserved bits, FlowLabel (20 bits), HopLimit (8 bits) */
	REC_FLOW_HOP = 44,
	REC_TCLASS = 48,
	REC_PKEY = 50,
	REC_QOS_SL = 52, /* QoSClass has 12 bits and SL 4 */
	REC_MTU = 54,
	REC_RATE = 55,
	REC_LIFE = 56,
	REC_LEN = 64,
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int octets_of(uint8_t ret[REC_LEN], const char *hex)
{
	if (!hex || strlen(hex) != (size_t)2 * REC_LEN)
		return -EPROTO;
	for (unsigned int i = 0; i < REC_LEN; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EPROTO;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

/*
 * Writes a number of @n octets in network order to @to: first zeros, then the @len octets at @from
 */
static void put(void *to, size_t n, const uint8_t *from, size_t len)
{
	memset(to, 0, n - len);
	memcpy((uint8_t *)to + n - len, from, len);
}

int path_info_fill(struct ipoib_path_info *ret, const char *hex)
{
	uint8_t rec[REC_LEN], flow[3], sl;

	if (octets_of(rec, hex))
		return -EPROTO;
	flow[0] = rec[REC_FLOW_HOP] & 0xf;
	flow[1] = rec[REC_FLOW_HOP + 1];
	flow[2] = rec[REC_FLOW_HOP + 2];
	sl = rec[REC_QOS_SL + 1] & 0xf;
	memcpy(ret->dest_gid, rec + REC_DGID, 16);
	memcpy(ret->source_gid, rec + REC_SGID, 16);
	put(&ret->dest_lid, 2, rec + REC_DLID, 2);
	put(&ret->source_lid, 2, rec + REC_SLID, 2);
	put(&ret->flow_lable, 4, flow, 3);
	put(&ret->pkey, 2, rec + REC_PKEY, 2);
	put(&ret->service_level, 2, &sl, 1);
	put(&ret->mtu, 2, rec + REC_MTU, 1);
	put(&ret->static_rate, 2, rec + REC_RATE, 1);
	put(&ret->packet_lifetime, 2, rec + REC_LIFE, 1);
	ret->hop_limit = rec[REC_FLOW_HOP + 3];
	ret->tclass = rec[REC_TCLASS];
	return 0;
}

bool path_info_valid(const struct ipoib_path_info *info)
{
	return info && (info->sin_family == AF_INET || info->sin_family == AF_INET6);
}

bool path_info_same(const struct ipoib_path_info *a, const struct ipoib_path_info *b)
{
	return a->sin_family == b->sin_family &&
	       !memcmp(&a->addr, &b->addr, a->sin_family == AF_INET ? 4 : 16);
}

/* --- answers */

/* The errors that an instance may report, by their names in errno(3), because the numbers differ between machines */
static const struct {
	const char *name;
	int err;
} errors[] = {
	{ "ENXIO", ENXIO },	    { "EHOSTUNREACH", EHOSTUNREACH },
	{ "ETIMEDOUT", ETIMEDOUT }, { "ENETDOWN", ENETDOWN },
	{ "ENODEV", ENODEV },	    { "EADDRNOTAVAIL", EADDRNOTAVAIL },
	{ "EINVAL", EINVAL },	    { "EBUSY", EBUSY },
	{ "ENOMEM", ENOMEM },
};

static int error_of(const json_t *end, int status)
{
	const char *name = json_string_value(json_object_get(end, "errno"));

	for (size_t i = 0; name && i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(errors[i].name, name))
			return -errors[i].err;
	if (status == PROTO_EXIT_TIMEOUT)
		return -ETIMEDOUT;
	return status == PROTO_EXIT_USAGE ? -EINVAL : -EIO;
}

void path_reply_fini(struct path_reply *r)
{
	json_decref(r->row);
	memset(r, 0, sizeof(*r));
}

static int take_end(struct path_reply *ret, const json_t *end)
{
	const char *error = json_string_value(json_object_get(end, "error"));
	const json_t *status = json_object_get(end, "status");

	if (!json_is_integer(status))
		return -EPROTO;
	ret->status = (int)json_integer_value(status);
	ret->err = ret->status == PROTO_EXIT_OK ? 0 : error_of(end, ret->status);
	snprintf(ret->error, sizeof(ret->error), "%s", error ? error : "");
	return !ret->err && !ret->row ? -EPROTO : 0;
}

/*
 * Process one line of an answer, which is a row or, at the end of the answer, the end object. Return:
 * 1 after a row; after any other line the result of take_end()
 */
static int take_line(struct path_reply *ret, const json_t *line)
{
	json_t *row = json_object_get(line, "row");

	if (json_is_object(row)) {
		json_decref(ret->row);
		ret->row = json_incref(row);
		return 1;
	}
	return take_end(ret, json_object_get(line, "end"));
}

int path_reply_read(struct path_reply *ret, const char *text, size_t len)
{
	int status = 1;
	const char *nl;

	while (status == 1 && len && (nl = memchr(text, '\n', len))) {
		json_t *line = json_loadb(text, (size_t)(nl - text), 0, NULL);

		status = take_line(ret, line);
		json_decref(line);
		len -= (size_t)(nl - text) + 1;
		text = nl + 1;
	}
	return status;
}

int path_reply_info(const struct path_reply *r, struct ipoib_path_info *info)
{
	if (r->err)
		return r->err;
	return path_info_fill(info, json_string_value(json_object_get(r->row, "record")));
}

int path_answer(const char *text, size_t len, struct ipoib_path_info *info)
{
	struct path_reply r = { 0 };
	int status = path_reply_read(&r, text, len);

	if (!status)
		status = path_reply_info(&r, info);
	path_reply_fini(&r);
	return status;
}
