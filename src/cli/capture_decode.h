/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CAPTURE_DECODE_H
#define CLI_CAPTURE_DECODE_H

/* capture_decode() - The command `capture decode FILE`: print the packets of a file in words. Return: the exit status */
int capture_decode(int argc, char **argv);

#endif
