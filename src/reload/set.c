/* SPDX-License-Identifier: BSD-2-Clause */
#include "reload/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/fdpass.h"

void reload_set_init(struct reload_set *s)
{
	*s = (struct reload_set){ .helper = -1 };
}

void reload_set_free(struct reload_set *s)
{
	fdpass_close(&s->helper, 1);
	for (unsigned int k = 0; k < s->nhosts; k++)
		fdpass_close(s->host[k].fd, RELOAD_FDS);
	for (unsigned int k = 0; k < s->nparts; k++)
		fdpass_close(&s->parts[k].fd, 1);
	for (unsigned int k = 0; k < s->nadds; k++)
		fdpass_close(&s->add[k].fd, 1);
	free(s->host);
	free(s->parts);
	free(s->gone);
	free(s->add);
	reload_set_init(s);
}

/*
 * Appends a zeroed element to the array *@v of @n elements, and returns the element; NULL: out of
 * memory
 */
static void *grow(void **v, unsigned int n, size_t size)
{
	char *bigger = realloc(*v, (n + 1) * size);

	if (!bigger)
		return NULL;
	*v = bigger;
	return memset(bigger + n * size, 0, size);
}

static int take_host(struct reload_set *s, const struct reload_host_msg *m, const int *fds,
		     unsigned int n)
{
	struct reload_host *h = grow((void **)&s->host, s->nhosts, sizeof(*h));
	unsigned int used = 0;

	if (!h)
		return -ENOMEM;
	s->nhosts++;
	h->m = *m;
	for (unsigned int k = 0; k < RELOAD_FDS; k++)
		h->fd[k] = (m->fds & (1u << k)) && used < n ? fds[used++] : -1;
	fdpass_close(fds + used, n - used);
	return h->fd[RELOAD_FD_NET] < 0 ? -EPROTO : 0;
}

static int take_partitions(struct reload_set *s, const struct reload_msg *m, int fd)
{
	struct reload_partitions *p = grow((void **)&s->parts, s->nparts, sizeof(*p));

	if (!p)
		return -ENOMEM;
	s->nparts++;
	memcpy(p->fabric, m->partitions.fabric, sizeof(p->fabric));
	memcpy(p->file, m->partitions.file, sizeof(p->file));
	p->fd = fd;
	return 0;
}

static int take_remove(struct reload_set *s, const struct reload_msg *m)
{
	struct reload_remove *r = grow((void **)&s->gone, s->ngone, sizeof(*r));

	if (!r)
		return -ENOMEM;
	s->ngone++;
	memcpy(r->name, m->remove.name, sizeof(r->name));
	memcpy(r->host, m->remove.host, sizeof(r->host));
	return 0;
}

static int take_add(struct reload_set *s, const struct reload_add_msg *m, int fd)
{
	struct reload_add *a = grow((void **)&s->add, s->nadds, sizeof(*a));

	if (!a)
		return -ENOMEM;
	s->nadds++;
	a->conf = m->conf;
	a->conf.profile = ipoib_profile_find(m->profile);
	a->host = m->host;
	a->number = m->number;
	a->fd = fd;
	return a->conf.profile && a->host < s->nhosts && fd >= 0 ? 0 : -EPROTO;
}

static int take(struct reload_set *s, const struct reload_msg *m, int *fds, unsigned int n)
{
	int status = -EPROTO, *fd = m->kind == RELOAD_REMOVE || m->kind == RELOAD_END ? NULL : fds;

	if ((fd && !n) || (!fd && n))
		return -EPROTO;
	switch (m->kind) {
	case RELOAD_HELPER:
		if (s->helper >= 0)
			return -EPROTO;
		s->helper = *fd;
		status = 0;
		break;
	case RELOAD_HOST:
		status = take_host(s, &m->host, fds, n);
		break;
	case RELOAD_PARTITIONS:
		status = take_partitions(s, m, *fd);
		break;
	case RELOAD_REMOVE:
		return take_remove(s, m);
	case RELOAD_ADD:
		status = take_add(s, &m->add, *fd);
		break;
	case RELOAD_END:
		return 1;
	default:
		return -EPROTO;
	}
	/* The set owns the descriptors now, unless it had no room for the message. */
	if (status != -ENOMEM)
		memset(fds, -1, n * sizeof(*fds));
	return status;
}

int reload_set_take(struct reload_set *s, int sock)
{
	struct reload_msg m;
	int fds[FDPASS_MAX];
	unsigned int n;
	int status = fdpass_recv(sock, &m, sizeof(m), fds, &n);

	if (status)
		return status == -EBADMSG ? -EPROTO : status;
	status = take(s, &m, fds, n);
	fdpass_close(fds, n);
	return status;
}
