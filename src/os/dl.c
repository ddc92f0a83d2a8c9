/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int dl_load(void *table, const char *soname, const struct dl_symbol *symbols, size_t n)
{
	void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		void *fn = dlsym(lib, symbols[i].name);

		if (!fn)
			return -ENOENT;
		/* C cannot convert void * to a function pointer, so the octets of the pointer are copied. */
		memcpy((char *)table + symbols[i].at, &fn, sizeof(fn));
	}
	return 0;
}
