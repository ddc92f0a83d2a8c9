/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LID_BOOK_H
#define SUBNET_LID_BOOK_H

/*
 * DOC: The book of LIDs
 *
 * A port keeps its LID as long as its GUID is in the book, even while the port is absent. After a
 * restart of the SM, or after another SM was master, the LIDs found on the ports are kept. Only a
 * port without such a LID, or whose LID another port has, gets a new one: the lowest LID that no
 * port has or had.
 */

#include "subnet/db.h"
#include "subnet/source.h"

/* The data that the SM keeps about an end port, present or absent. */
struct sm_lid_slot {
	struct hlink by_guid;
	uint64_t guid;
	uint16_t lid; /* base LID; 0: the port got none from us */
	bool configured; /* true if sm_cfg.lids gives the LID */
	bool outside; /* the port is, or was, behind an external port */
	bool owed; /* true until the port has acknowledged the ClientReregister that the SM has to send */
	bool mkey_said; /* true if the log already has a line about another M_Key of the port */
	struct sm_source source;
};

struct sm_lid_book {
	struct htab slots; /* struct sm_lid_slot by port GUID */
	uint8_t lmc; /* LMC of CA ports */
};

/* sm_lid_slot() - Find the data about a port. Return: NULL if there are none */
struct sm_lid_slot *sm_lid_slot(const struct sm_lid_book *b, uint64_t port_guid);
/* sm_lid_note() - Remember that a port has @lid. Return: NULL if memory ran out */
struct sm_lid_slot *sm_lid_note(struct sm_lid_book *b, uint64_t port_guid, uint16_t lid);
/* sm_lid_book_forget() - Remove all LIDs except configured LIDs; the other data about the ports stay */
void sm_lid_book_forget(struct sm_lid_book *b);
/*
 * sm_lid_book_purge() - Remove the ports that are not in @db and were behind external ports or got no LID, if there
 * are more than @max of them
 */
void sm_lid_book_purge(struct sm_lid_book *b, const struct sm_db *db, uint32_t max);
void sm_lid_book_fini(struct sm_lid_book *b);

/**
 * sm_lid_book_assign() - Give every end port of @db a LID, and its LMC
 * @assigned:	is increased by the number of ports whose new LID differs from the LID that was found on them
 * @none:	called for each port for which no LID is left
 *
 * Return: 0 or -ENOMEM
 */
int sm_lid_book_assign(struct sm_lid_book *b, struct sm_db *db, uint32_t *assigned,
		       void (*none)(void *ctx, const struct sm_port *p), void *ctx);
/*
 * sm_lid_book_taken() - Tell whether a port other than @p, present or absent, has a LID of the range that
 * starts with @lid and is as long as that of @p
 */
bool sm_lid_book_taken(const struct sm_lid_book *b, const struct sm_db *db, const struct sm_port *p,
		       unsigned int lid);

#endif
