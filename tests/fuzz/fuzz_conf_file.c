/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char err[CONF_ERR_MAX];
	struct conf c;

	if (!conf_parse(&c, (const char *)data, len, "fuzz/lab.conf", err))
		conf_free(&c);
	return 0;
}
