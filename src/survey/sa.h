/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SURVEY_SA_H
#define SURVEY_SA_H

/* Questions to the subnet administrator, and the data about the fabric in its answers. */

#include "check/model.h"
#include "wire/mad.h"

/* survey_sa_header() - Return the header of a request to the SA */
struct mad_hdr survey_sa_header(uint8_t method, uint16_t attr, uint32_t tid);

/*
 * survey_sa_lid() - Return the LID of the SA that is set in the port through which the fabric is read; 0: none is set
 */
uint16_t survey_sa_lid(const struct chk_fabric *f);

/*
 * survey_ask_members() - Write a GetTable(MCMemberRecord) for all members of all groups. An SA lists members only in
 * answers to requests that have the SA's SM_Key
 */
void survey_ask_members(uint8_t mad[MAD_LEN], uint64_t sm_key, uint32_t tid);

/**
 * survey_take_members() - Add to the fabric the members that an answer lists
 * @mad:	the message with the segments of RMPP put together: 56 octets of headers, then records
 *
 * Sets f->members. Return: 0, even if there is no group; -EBADMSG: @mad is no answer to the request
 * of survey_ask_members(); -EACCES: the answer lists groups without members; -EPROTO: the SA
 * refused; -ENOMEM, -ENOSPC
 */
int survey_take_members(struct chk_fabric *f, const void *mad, size_t len);

/* survey_ask_path() - Write a Get(PathRecord) for the path between two LIDs */
void survey_ask_path(uint8_t mad[MAD_LEN], uint16_t slid, uint16_t dlid, uint32_t tid);

/*
 * survey_take_path() - Add to the fabric the path that an answer gives. Return: as
 * survey_take_members(), but never -EACCES
 */
int survey_take_path(struct chk_fabric *f, const void *mad, size_t len);

#endif
