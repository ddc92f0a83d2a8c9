/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_SA_PRIV_H
#define WORLD_SA_PRIV_H

/*
 * Declarations for the files of the suite's subnet administrator only.
 *
 *	sa.c		receives the DUT's requests; answers requests for paths and services
 *	sa_answer.c	sends answers, and tables in RMPP segments
 *	sa_group.c	the table of groups; MGIDs; answers to requests for MCMemberRecord
 *	sa_inform.c	subscriptions and Reports
 *
 * In all functions with @s and @q, packet @s contains the request @q.
 */

#include "world/sa.h"

#define SA_CLASS_VERSION 2

/* sa_send_gmp() - Send a MAD of the SA to the port and QP from which the packet with the headers @to came */
void sa_send_gmp(struct world *w, const struct ib_ud_hdr *to, const uint8_t *mad);
/*
 * sa_answer() - Answer with @status and @len octets of @data. The answer repeats the component mask of the request, and is a table
 * of one record if the request is for a table
 */
void sa_answer(struct world *w, const struct seen *s, const struct sa_mad *q, uint16_t status,
	       const void *data, size_t len);
/* sa_answer_table() - Answer with a table of @len octets, which are in .table.data of @w; each record has @size octets */
void sa_answer_table(struct world *w, const struct seen *s, const struct sa_mad *q, size_t len,
		     size_t size);
/* sa_table_step() - Return: the number of octets that a record of @len octets takes in a table, a multiple of 8 */
size_t sa_table_step(size_t len);
/* sa_table_acknowledged() - Send the segments of the table that the DUT's acknowledgement allows */
void sa_table_acknowledged(struct world *w, const struct sa_mad *q);

/* Requests for MCMemberRecord and for InformInfo */
void sa_mcmember(struct world *w, const struct seen *s, const struct sa_mad *q);
void sa_inform(struct world *w, const struct seen *s, const struct sa_mad *q);
/* sa_report_done() - End the repetition of the Report with this TID, which the DUT has answered */
void sa_report_done(struct world *w, uint64_t tid);

#endif
