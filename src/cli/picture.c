/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/picture.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "layout/draw.h"

static void add(void *ctx, json_t *row)
{
	json_array_append(ctx, row);
}

const struct option cli_fabric_show_options[] = {
	{ "dot", no_argument, NULL, 'd' },
	{ "svg", no_argument, NULL, 's' },
	{ NULL },
};

static int read_layout(struct layout *ret, const char *fabric)
{
	json_t *nodes = json_array(), *ports = json_array();
	int status =
		cli_call("fabric node show", json_pack("{s:s*}", "fabric", fabric), add, nodes);

	if (!status)
		status = cli_call("fabric port show", json_pack("{s:s*}", "fabric", fabric), add,
				  ports);
	if (!status && (layout_rows(ret, nodes, ports) || layout_place(ret)))
		status = cli_error(PROTO_EXIT_FAILED, "out of memory");
	json_decref(nodes);
	json_decref(ports);
	return status;
}

/*
 * Parse the arguments of `fabric show`: the format of the picture, --dot or --svg, which is
 * required, and the name of a fabric, which is optional. Neither may be given twice. Return: 0, or
 * the exit status after an error message
 */
static int parse(int argc, char **argv, const char **ret_form, const char **ret_fabric)
{
	bool bad = false;

	for (int i = 1; i < argc; i++) {
		const char **word = *argv[i] == '-' ? ret_form : ret_fabric;

		bad |= *word != NULL;
		*word = argv[i];
	}
	if (bad || !*ret_form ||
	    (strcmp(*ret_form, "--dot") != 0 && strcmp(*ret_form, "--svg") != 0))
		return cli_error(PROTO_EXIT_USAGE,
				 "fabric show: expected [--dot | --svg] [FABRIC]");
	return 0;
}

int cli_picture(int argc, char **argv)
{
	const char *form = NULL, *fabric = NULL;
	struct layout l = { 0 };
	int status = parse(argc, argv, &form, &fabric);

	if (!status)
		status = read_layout(&l, fabric);
	if (!status && !strcmp(form, "--dot"))
		layout_dot(&l, stdout);
	else if (!status)
		layout_svg(&l, stdout);
	layout_free(&l);
	return status;
}
