/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_MAIN_H
#define WEB_MAIN_H

#include <getopt.h>

/* Long options of `uipoib web` */
extern const struct option web_options[];

/* web_main() - Run `uipoib web`; struct cli_cmd (cmdline/cmdline.h) explains the arguments */
int web_main(int argc, char **argv);

#endif
