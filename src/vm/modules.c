/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/modules.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODULE_FILE_MAX (64u * 1024 * 1024)

/* --- files */

char *modules_read(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	int err;

	if (!f)
		return NULL;
	if (!fstat(fileno(f), &st)) {
		errno = EFBIG;
		if (st.st_size >= 0 && st.st_size <= (off_t)MODULE_FILE_MAX)
			text = malloc((size_t)st.st_size + 1);
	}
	if (text)
		len = fread(text, 1, (size_t)st.st_size, f);
	err = errno;
	if (text && ferror(f)) {
		free(text);
		text = NULL;
	}
	fclose(f);
	errno = err;
	if (!text)
		return NULL;
	text[len] = '\0';
	*ret_len = len;
	return text;
}

int modules_parse(struct modules *m, const char *dir, const char *dep, const char *builtin)
{
	*m = (struct modules){ .dir = dir,
			       .dep = strdup(dep),
			       .builtin = strdup(builtin ? builtin : "") };
	if (m->dep && m->builtin)
		return 0;
	modules_close(m);
	return -ENOMEM;
}

int modules_open(struct modules *m, const char *dir)
{
	char path[PATH_MAX];
	size_t len;

	*m = (struct modules){ .dir = dir };
	snprintf(path, sizeof(path), "%s/modules.dep", dir);
	m->dep = modules_read(path, &len);
	if (!m->dep)
		return -errno;
	snprintf(path, sizeof(path), "%s/modules.builtin", dir);
	m->builtin = modules_read(path, &len);
	if (!m->builtin)
		m->builtin = strdup("");
	if (m->builtin)
		return 0;
	modules_close(m);
	return -ENOMEM;
}

void modules_close(struct modules *m)
{
	for (unsigned int i = 0; i < m->n; i++)
		free(m->path[i]);
	free(m->dep);
	free(m->builtin);
	*m = (struct modules){ 0 };
}

/* --- lists */

/*
 * Tells whether the path [p, p + len) is the file of module @name:
 * "kernel/net/9p/9pnet_virtio.ko.xz" is the file of 9pnet-virtio.
 */
static bool is_file_of(const char *p, size_t len, const char *name)
{
	const char *base = memrchr(p, '/', len);
	size_t n = strlen(name), left;

	base = base ? base + 1 : p;
	left = len - (size_t)(base - p);
	if (left < n + 3 || strncmp(base + n, ".ko", 3))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((base[i] == '-' ? '_' : base[i]) != (name[i] == '-' ? '_' : name[i]))
			return false;
	return true;
}

/* Return the line of module @name in modules.dep, "FILE: FILE ...\n"; NULL if there is none */
static const char *line_of(const struct modules *m, const char *name)
{
	for (const char *p = m->dep; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		size_t len = strcspn(p, ":\n");

		if (p[len] == ':' && is_file_of(p, len, name))
			return p;
	}
	return NULL;
}

static bool is_builtin(const struct modules *m, const char *name)
{
	for (const char *p = m->builtin; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (is_file_of(p, strcspn(p, "\n"), name))
			return true;
	return false;
}

/*
 * Returns the absolute path of a file in the lists. A relative path in the lists begins at m->dir.
 */
static char *full_path(const struct modules *m, const char *p, size_t len)
{
	char *path;

	if (asprintf(&path, "%s%s%.*s", *p == '/' ? "" : m->dir, *p == '/' ? "" : "/", (int)len,
		     p) < 0)
		return NULL;
	return path;
}

static int append(struct modules *m, char *path)
{
	int status = path ? 0 : -ENOMEM;

	for (unsigned int i = 0; !status && i < m->n; i++)
		if (!strcmp(m->path[i], path)) {
			free(path);
			return 0;
		}
	if (!status && m->n == MODULES_MAX)
		status = -E2BIG;
	if (!status)
		m->path[m->n++] = path;
	else
		free(path);
	return status;
}

char *modules_find(const struct modules *m, const char *name)
{
	const char *line = line_of(m, name);

	return line ? full_path(m, line, strcspn(line, ":")) : NULL;
}

int modules_add(struct modules *m, const char *name)
{
	const char *line = line_of(m, name), *colon, *end;
	int status = 0;

	if (!line)
		return is_builtin(m, name) ? 0 : -ENOENT;
	colon = strchr(line, ':');
	end = colon + strcspn(colon, "\n");
	/*
	 * In modules.dep, the files that a module needs are listed after the module, in the reverse
	 * order of loading.
	 */
	while (!status && end > colon + 1) {
		const char *from = end;

		while (from > colon + 1 && from[-1] != ' ')
			from--;
		if (end > from)
			status = append(m, full_path(m, from, (size_t)(end - from)));
		end = from > colon + 1 ? from - 1 : from;
	}
	return status ? status : append(m, full_path(m, line, (size_t)(colon - line)));
}

/* --- .modinfo */

static bool inside(uint64_t at, uint64_t size, size_t len)
{
	return at <= len && size <= len - at;
}

/* Reads section header @i. Return: false if the file is too short for it */
static bool section(const uint8_t *elf, size_t len, const Elf64_Ehdr *eh, unsigned int i,
		    Elf64_Shdr *ret)
{
	uint64_t at = eh->e_shoff + (uint64_t)i * sizeof(*ret);

	if (i >= eh->e_shnum || !inside(eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(*ret), len))
		return false;
	memcpy(ret, elf + at, sizeof(*ret));
	return ret->sh_type == SHT_NOBITS || inside(ret->sh_offset, ret->sh_size, len);
}

static bool named(const uint8_t *elf, const Elf64_Shdr *names, const Elf64_Shdr *s,
		  const char *name)
{
	size_t n = strlen(name) + 1;

	return inside(s->sh_name, n, names->sh_size) &&
	       !memcmp(elf + names->sh_offset + s->sh_name, name, n);
}

static bool find_section(const uint8_t *elf, size_t len, const char *name, Elf64_Shdr *ret)
{
	Elf64_Shdr names;
	Elf64_Ehdr eh;

	if (len < sizeof(eh))
		return false;
	memcpy(&eh, elf, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_shentsize != sizeof(Elf64_Shdr) ||
	    !section(elf, len, &eh, eh.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
		return false;
	for (unsigned int i = 0; i < eh.e_shnum; i++)
		if (section(elf, len, &eh, i, ret) && named(elf, &names, ret, name))
			return ret->sh_type == SHT_PROGBITS;
	return false;
}

const char *modules_info(const void *elf, size_t len, const char *tag)
{
	size_t n = strlen(tag), left;
	const char *p, *end;
	Elf64_Shdr s;

	if (!find_section(elf, len, ".modinfo", &s))
		return NULL;
	p = (const char *)elf + s.sh_offset;
	for (left = s.sh_size; left && (end = memchr(p, '\0', left)); p = end + 1) {
		if (!strncmp(p, tag, n) && p[n] == '=')
			return p + n + 1;
		left -= (size_t)(end + 1 - p);
	}
	return NULL;
}

static int add_depends(struct modules *m, const char *list, char ret_missing[64])
{
	int status = 0;

	while (!status && *list) {
		size_t n = strcspn(list, ",");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		status = n ? modules_add(m, name) : 0;
		if (status == -ENOENT)
			memcpy(ret_missing, name, sizeof(name));
		list += n + (list[n] == ',');
	}
	return status;
}

int modules_add_file(struct modules *m, const char *path, char ret_missing[64])
{
	size_t len;
	char *elf = modules_read(path, &len);
	const char *depends;
	int status;

	if (!elf)
		return -errno;
	depends = modules_info(elf, len, "depends");
	status = depends ? add_depends(m, depends, ret_missing) : -ENOEXEC;
	free(elf);
	return status ? status : append(m, strdup(path));
}
