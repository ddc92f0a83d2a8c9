/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/boot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/progress.h"
#include "util/list.h"

void boot_begin(struct boot *b, const char *name)
{
	*b = (struct boot){ .name = name, .shown = progress_shown(), .began = clock_now() };
	b->client.fd = -1;
}

static void take_manager(struct boot *b, const json_t *row, const char *stage)
{
	long long smps = json_integer_value(json_object_get(row, "smps"));

	*b->manager = '\0';
	if (strcmp(stage, "idle") != 0)
		snprintf(b->manager, sizeof(b->manager), "; subnet manager: %.24s, %lld SMPs",
			 stage, smps);
}

/* Takes a line of the answer to "fabric sm show" or "instance show". Return: true if it is the last line of the answer */
static bool take(struct boot *b, const json_t *msg)
{
	const json_t *row = json_object_get(msg, "row");
	const char *stage = json_string_value(json_object_get(row, "stage"));
	const char *waits_for = json_string_value(json_object_get(row, "waits_for"));

	if (stage)
		take_manager(b, row, stage);
	if (waits_for)
		snprintf(b->waits_for, sizeof(b->waits_for), "%s", waits_for);
	b->up |= json_is_true(json_object_get(row, "up"));
	return json_object_get(msg, "end");
}

/* Reads the answers that have arrived. Return: false if the connection is of no use any more */
static bool answers(struct boot *b)
{
	int status = 0;
	json_t *msg;

	while (b->asked && !(status = proto_recv(&b->client, 0, &msg))) {
		if (take(b, msg))
			b->asked--;
		json_decref(msg);
	}
	return !b->asked || status == -ETIMEDOUT;
}

/* Return: false if the instance cannot be asked */
static bool ask(struct boot *b)
{
	static const char *const cmd[] = { "fabric sm show", "instance show" };

	if (b->client.fd < 0 && proto_connect(&b->client, b->name))
		return false;
	for (size_t k = 0; k < ARRAY_SIZE(cmd); k++, b->asked++)
		if (proto_send(&b->client, cmd[k], NULL))
			return false;
	return true;
}

static void look(struct boot *b)
{
	if ((b->asked || ask(b)) && answers(b))
		return;
	if (b->client.fd >= 0)
		proto_close(&b->client);
	b->asked = 0;
}

void boot_tick(struct boot *b)
{
	if (!b->shown)
		return;
	look(b);
	if (b->up) {
		boot_end(b);
		return;
	}
	progress_say("%s, %lld s: %s%s", b->name, (long long)((clock_now() - b->began) / NS_SEC(1)),
		     *b->waits_for ? b->waits_for : "the fabric and the hosts are made",
		     b->manager);
}

void boot_end(struct boot *b)
{
	if (b->shown)
		progress_end();
	if (b->client.fd >= 0)
		proto_close(&b->client);
	b->shown = false;
}
