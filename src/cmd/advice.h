/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_ADVICE_H
#define CMD_ADVICE_H

#include "inst/inst.h"

#define ADVICE_MAX 448

/*
 * advice_iface() - Write the steps by which a user can bring the interface up, as whole sentences
 * with the commands to type; "" if the interface is up
 */
void advice_iface(const struct inst_iface *i, char ret[ADVICE_MAX]);

/* advice_all() - The advice for the first interface of the instance that is not up; "" if all are up */
void advice_all(const struct inst *in, char ret[ADVICE_MAX]);

/*
 * advice_pair() - Write the reason why packets of @from do not reach @to, in whole sentences. The
 * reason is derived from the data of the interfaces only. Write "" if, by these data, @from or
 * another interface of the same host reaches @to
 */
void advice_pair(const struct inst_iface *from, const struct inst_iface *to, char ret[ADVICE_MAX]);

#endif
