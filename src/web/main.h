/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_MAIN_H
#define WEB_MAIN_H

#include <getopt.h>

/* Long options of `uipoib web` */
extern const struct option web_options[];

/* web_main() - `uipoib web`, as a function of a table of commands (cmdline/cmdline.h) */
int web_main(int argc, char **argv);

#endif
