/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text must be either imported or refused with a message. The import reads back the topology
 * and the configuration that it has made. If it cannot read them back, it returns a message that
 * begins with "the topology" or "the configuration". No text may lead to such a message. A message
 * about the text itself is allowed. It begins with the name of the text's file, and can then quote
 * any words of the text.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/import_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void import(const struct import_opts *o, const char *text, size_t len)
{
	char err[IMPORT_ERR_MAX] = "";
	struct import im;
	int status;

	import_init(&im, o, err);
	status = import_make(&im, text, len);
	assert(!status == !err[0]);
	assert(strncmp(err, "the topology", 12) && strncmp(err, "the configuration", 17));
	import_free(&im);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct import_opts look = { .file = "f", .strict = true };
	static const struct import_opts write = { .file = "f", .topology = "t", .config = "c" };
	char *text = malloc(len + 1);

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	import(&look, text, len);
	import(&write, text, len);
	free(text);
	return 0;
}
