/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

/*
 * cli_picture() - `fabric show --dot | --svg [FABRIC]`: print a picture of one fabric or of all.
 * Return: the exit status
 */
int cli_picture(int argc, char **argv);

#endif
