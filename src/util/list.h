/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_LIST_H
#define UTIL_LIST_H

/* Circular doubly linked lists whose entries contain their links. A link that is in no list points to itself. */

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
/* clang-format on */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct list {
	struct list *next, *prev;
};

/* clang-format off */
#define LIST_INIT(name) { &(name), &(name) }
/* clang-format on */

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/* list_add() - Insert @n before @pos. If @pos is the head of the list, @n becomes the last entry */
static inline void list_add(struct list *pos, struct list *n)
{
	n->next = pos;
	n->prev = pos->prev;
	pos->prev->next = n;
	pos->prev = n;
}

static inline void list_add_tail(struct list *head, struct list *n)
{
	list_add(head, n);
}

static inline void list_add_head(struct list *head, struct list *n)
{
	list_add(head->next, n);
}

/* list_del() - Unlink @n; no effect if @n is in no list */
static inline void list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)

#define list_for_each(pos, head, member)                                                       \
	for (pos = list_entry((head)->next, __typeof__(*pos), member); &pos->member != (head); \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

/* A loop in which the current entry may be unlinked and freed. */
#define list_for_each_safe(pos, tmp, head, member)                        \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),    \
	    tmp = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);                                      \
	     pos = tmp, tmp = list_entry(tmp->member.next, __typeof__(*tmp), member))

#endif
