/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LID_BOOK_H
#define SUBNET_LID_BOOK_H

/*
 * DOC: The book of LIDs
 *
 * The SM keeps a book: a table that has the LID of each port GUID. A port keeps its LID as long as the book has its
 * GUID, even while the port is absent.
 *
 * An SM that becomes the master, for example after a restart, has only the configured LIDs in its
 * book. Such an SM keeps the LIDs that it finds on the ports. A port gets a new LID only if no LID
 * was found on it, or if another port has the LID that was found. The new LID is the lowest one
 * that no port has or had. If there is no such LID, the new LID is the lowest one that no present
 * port has.
 */

#include "subnet/db.h"
#include "subnet/source.h"

/* The data that the SM keeps about an end port, whether the port is present or absent. */
struct sm_lid_slot {
	struct hlink by_guid;
	uint64_t guid;
	uint16_t lid; /* base LID; 0: this SM has assigned none to the port */
	bool configured; /* true if sm_cfg.lids gives the LID */
	bool outside; /* true if the port was behind an external port when a sweep last found it */
	/* true from sm_rereg_owe() until the port has acknowledged ClientReregister */
	bool owed;
	bool mkey_said; /* true if the log already says that the port has an M_Key of another SM */
	struct sm_source source;
};

struct sm_lid_book {
	struct htab slots; /* struct sm_lid_slot by port GUID */
	uint8_t lmc; /* LMC of CA ports */
};

/* sm_lid_slot() - Find the data about a port. Return: NULL if the book has no data about the port */
struct sm_lid_slot *sm_lid_slot(const struct sm_lid_book *b, uint64_t port_guid);
/* sm_lid_note() - Write to the book that a port has @lid. Return: NULL if memory ran out */
struct sm_lid_slot *sm_lid_note(struct sm_lid_book *b, uint64_t port_guid, uint16_t lid);
/* sm_lid_book_forget() - Remove all LIDs but the configured ones. The other data about the ports stay */
void sm_lid_book_forget(struct sm_lid_book *b);
/*
 * sm_lid_book_purge() - Remove absent ports if the book has too many of them
 *
 * A port counts as absent here if
 *	- it is not in @db,
 *	- it has no configured LID and no open Reports (.source.unproven), and
 *	- it was behind an external port, or has no LID at all.
 * If more than @max ports are absent in this sense, all of them are removed.
 */
void sm_lid_book_purge(struct sm_lid_book *b, const struct sm_db *db, uint32_t max);
void sm_lid_book_fini(struct sm_lid_book *b);

/**
 * sm_lid_book_assign() - Give every end port of @db its LID and its LMC
 * @assigned:	the function adds the number of ports whose new LID differs from the LID that was found on the port
 * @none:	called for each port for which no LID is left
 *
 * Return: 0 or -ENOMEM
 */
int sm_lid_book_assign(struct sm_lid_book *b, struct sm_db *db, uint32_t *assigned,
		       void (*none)(void *ctx, const struct sm_port *p), void *ctx);
/*
 * sm_lid_book_taken() - Tell whether another port has a LID of the range that @p would get
 *
 * The range starts with @lid and is as long as @p's LMC demands. Ports that are absent count, too.
 */
bool sm_lid_book_taken(const struct sm_lid_book *b, const struct sm_db *db, const struct sm_port *p,
		       unsigned int lid);

#endif
