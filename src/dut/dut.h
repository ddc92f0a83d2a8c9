/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DUT_DUT_H
#define DUT_DUT_H

/*
 * `uipoib conform`, whose device under test (DUT) is at the other end of a UDP link. conform/ and
 * clauses/ have the cases and the functions with which cases judge.
 */

#include <getopt.h>

extern const struct option dut_conform_options[];
/*
 * Run the command `uipoib conform`. Return: its exit status; if this is not 0, a message was
 * printed
 */
int dut_conform(int argc, char **argv);

#endif
