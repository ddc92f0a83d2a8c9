/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "layout/draw.h"
#include "util/escape.h"

/* Distances in points, the unit of Graphviz. The y axis of Graphviz goes upwards. */
#define UNIT 100
#define LEVEL 110
#define ROW 40

/*
 * Write a string in quotes. Backslashes are doubled, because in a label they begin escapes such as
 * \N.
 */
static void quoted(FILE *out, const char *s)
{
	char safe[512];
	struct text t = TEXT_IN(safe);

	safe[0] = '\0';
	text_add_escaped(&t, s);
	for (const char *p = safe; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
}

static void node(const struct layout *l, size_t k, FILE *out)
{
	const struct layout_node *n = &l->node[k];
	double y = n->is_switch ? (double)n->level * LEVEL + (double)l->rows * ROW
				: (double)(l->rows - n->row) * ROW;

	fprintf(out, "\tn%zu [label=\"", k);
	quoted(out, n->name);
	if (n->note) {
		fputs("\\n", out);
		quoted(out, n->note);
	}
	if (n->folded)
		fprintf(out, "\\n%u CAs", n->folded);
	fprintf(out, "\", shape=%s, pos=\"%.1f,%.1f!\"];\n", n->is_switch ? "box" : "ellipse",
		n->x * UNIT, y);
}

/* Make Graphviz put the switches of a level on one line. */
static void same_rank(const struct layout *l, unsigned int level, FILE *out)
{
	fputs("\t{ rank=same;", out);
	for (size_t k = 0; k < l->nnodes; k++)
		if (l->node[k].is_switch && l->node[k].level == level)
			fprintf(out, " n%zu;", k);
	fputs(" }\n", out);
}

void layout_dot(const struct layout *l, FILE *out)
{
	fputs("graph fabric {\n\trankdir=BT;\n\tnode [fontsize=10];\n\tedge [fontsize=8];\n", out);
	for (size_t k = 0; k < l->nnodes; k++)
		if (!l->node[k].hidden)
			node(l, k, out);
	for (unsigned int level = 1; level < l->levels; level++)
		same_rank(l, level, out);
	for (size_t k = 0; k < l->nlinks; k++) {
		const struct layout_link *c = &l->link[k];
		bool turn = l->node[c->a].level > l->node[c->b].level;
		unsigned int low = turn ? c->b : c->a, high = turn ? c->a : c->b;

		if (l->node[low].hidden)
			continue;
		fprintf(out, "\tn%u -- n%u [taillabel=\"%u\", headlabel=\"%u\", tooltip=\"", low,
			high, turn ? c->b_port : c->a_port, turn ? c->a_port : c->b_port);
		quoted(out, c->speed);
		fprintf(out, "\"%s];\n", c->up ? "" : ", style=dashed, color=red");
	}
	fputs("}\n", out);
}
