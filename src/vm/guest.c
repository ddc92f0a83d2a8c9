/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/cpio.h"
#include "vm/modules.h"

/*
 * The modules that are loaded in each stage. The modules of the link are loaded early, so that the
 * link comes up while the root is mounted. ib_ipoib is loaded before the HCA exists. If ib_ipoib
 * were loaded while the SM configures the port, it might find no GID, because ib_core replaces the
 * GIDs at that time. ib_ipoib would not try again.
 */
static const char *const for_channel[] = { "virtio_pci", "virtio_console", NULL };
static const char *const for_link[] = { "virtio_net", "ib_core", "ib_ipoib", "ib_umad", NULL };
static const char *const for_root[] = { "9pnet_virtio", "9p", "overlay", NULL };

struct writer {
	FILE *initramfs, *config;
	struct modules m;
	unsigned int written; /* number of entries of m.path[] that are in the archive */
	const struct guest_cfg *cfg;
	char *err;
};

static void say(struct writer *w, const char *verb, const char *value)
{
	fprintf(w->config, "%s=%s", verb, value);
	putc('\0', w->config);
}

/* --- modules */

static int put_module(struct writer *w, const char *path)
{
	char name[256];
	size_t len;
	char *data = modules_read(path, &len);

	if (!data) {
		snprintf(w->err, VM_ERR_MAX, "module %s: %s", path, strerror(errno));
		return -errno;
	}
	snprintf(name, sizeof(name), "m/%s", strrchr(path, '/') + 1);
	cpio_file(w->initramfs, name, 0644, data, len);
	say(w, "module", name + 2);
	free(data);
	return 0;
}

/* Adds to the archive the modules that .m has got since the last call. */
static int put_modules(struct writer *w)
{
	int status = 0;

	while (!status && w->written < w->m.n)
		status = put_module(w, w->m.path[w->written++]);
	return status;
}

static int no_module(struct writer *w, const char *name, int status)
{
	if (status == -ENOENT)
		snprintf(w->err, VM_ERR_MAX,
			 "kernel %s has no module %s: the package "
			 "linux-image-amd64 has a kernel with all that is needed",
			 w->cfg->kernel->release, name);
	else
		snprintf(w->err, VM_ERR_MAX, "module %s: %s", name, strerror(-status));
	return status;
}

static int add_modules(struct writer *w, const char *const *name)
{
	for (; *name; name++) {
		int status = modules_add(&w->m, *name);

		if (status)
			return no_module(w, *name, status);
	}
	return put_modules(w);
}

static int add_uib(struct writer *w)
{
	char missing[64] = "uib";
	int status = modules_add_file(&w->m, w->cfg->kernel->uib, missing);

	return status ? no_module(w, missing, status) : put_modules(w);
}

/* --- the entries of VM_CONFIG */

static void say_command(struct writer *w)
{
	const struct guest_cfg *c = w->cfg;
	char share[PATH_MAX + 16], number[16];

	for (unsigned int i = 0; c->share[i]; i++) {
		snprintf(share, sizeof(share), "share%u:%s", i, c->share[i]);
		say(w, "share", share);
	}
	for (unsigned int i = 0; c->address[i]; i++)
		say(w, "address", c->address[i]);
	for (char *const *e = c->env; *e; e++)
		say(w, "env", *e);
	say(w, "cwd", c->cwd);
	for (char *const *a = c->cmd; *a; a++)
		say(w, "arg", *a);
	if (c->user)
		say(w, "user", c->user);
	if (c->tty)
		say(w, "tty", "");
	if (c->systemd)
		say(w, "systemd", "");
	snprintf(number, sizeof(number), "%u", c->up_timeout);
	say(w, "up", number);
	say(w, "run", "");
}

static int write_all(struct writer *w)
{
	int status;

	cpio_dir(w->initramfs, "m");
	cpio_dir(w->initramfs, "dev");
	cpio_dir(w->initramfs, "proc");
	cpio_dir(w->initramfs, "sys");
	cpio_dir(w->initramfs, "lower");
	cpio_dir(w->initramfs, "upper");
	cpio_dir(w->initramfs, "root");
	cpio_file(w->initramfs, "init", 0755, w->cfg->init, w->cfg->init_len);
	say(w, "hostname", w->cfg->hostname);
	status = add_modules(w, for_channel);
	if (status)
		return status;
	say(w, "channel", "");
	status = add_modules(w, for_link);
	if (!status)
		status = add_uib(w);
	if (status)
		return status;
	say(w, "cable", "");
	for (unsigned int i = 0; w->cfg->hca[i]; i++)
		say(w, "hca", w->cfg->hca[i]);
	status = add_modules(w, for_root);
	if (status)
		return status;
	say(w, "root", "");
	if (w->cfg->root)
		say(w, "modules", w->cfg->kernel->modules);
	say_command(w);
	return 0;
}

int guest_initramfs(FILE *f, const struct guest_cfg *c, char err[VM_ERR_MAX])
{
	struct writer w = { .initramfs = f, .cfg = c, .err = err };
	char *config = NULL;
	size_t len;
	int status = modules_open(&w.m, c->kernel->modules);

	if (status) {
		snprintf(err, VM_ERR_MAX, "%s/modules.dep: %s", c->kernel->modules,
			 strerror(-status));
		return status;
	}
	w.config = open_memstream(&config, &len);
	status = w.config ? write_all(&w) : -ENOMEM;
	if (w.config && fclose(w.config) && !status)
		status = -ENOMEM;
	if (!status) {
		cpio_file(f, VM_CONFIG, 0600, config, len);
		cpio_end(f);
		if (fflush(f) || ferror(f))
			status = -EIO;
	}
	if (status && !*err)
		snprintf(err, VM_ERR_MAX, "initramfs: %s", strerror(-status));
	free(config);
	modules_close(&w.m);
	return status;
}
