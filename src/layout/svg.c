/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "layout/draw.h"
#include "util/escape.h"

/* Lengths in pixels */
#define UNIT 96
#define BOX_W 84
#define BOX_H 30
#define LEVEL_MIN 110 /* smallest distance of two levels */
#define LEVEL_MAX 600
#define ROW 40 /* distance of two rows of CAs */
#define MARGIN 24
#define PARALLEL 4 /* distance of parallel cables */
#define NAME_MAX_SHOWN 14 /* largest number of characters of a name that fit into a box */

/* The style sheet uses no CSS variables, because librsvg and other viewers do not support them */
static const char style[] =
	"<style>\n"
	"text{font:11px sans-serif;fill:#1b1f24;text-anchor:middle}\n"
	"rect{fill:#e8eef5;stroke:#5b6b7c}\n"
	".ca rect{fill:#f4f4f0}\n"
	"path{fill:none;stroke:#5b6b7c;stroke-width:1.5}\n"
	"path.down{stroke:#c62828;stroke-dasharray:5 4}\n"
	".paper{fill:#fff;stroke:none}\n"
	"@media (prefers-color-scheme:dark){text{fill:#e6e6e6}rect{fill:#2b3a4a;stroke:#8fa0b2}"
	".ca rect{fill:#2a2c2e}path{stroke:#8fa0b2}path.down{stroke:#ff6b6b}.paper{fill:#16191d}}\n"
	"</style>\n"
	"<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";

/*
 * Write @s as the text of an XML element, cut after @max characters unless @max is 0. Control characters
 * become \xNN
 */
static void text(FILE *out, const char *s, unsigned int max)
{
	char safe[512];
	struct text t = TEXT_IN(safe);
	unsigned int n = 0;

	safe[0] = '\0';
	text_add_escaped(&t, s);
	for (const char *p = safe; *p; p++) {
		n += ((unsigned char)*p & 0xc0) !=
		     0x80; /* count only octets that begin a character */
		if (max && n > max) {
			fputs("&#8230;", out);
			return;
		}
		if (*p == '&' || *p == '<' || *p == '>' || *p == '"')
			fprintf(out, "&#%d;", *p);
		else
			fputc(*p, out);
	}
}

/* Return the distance of two levels, which grows with the width, so that cables do not become almost horizontal. */
static double level_height(const struct layout *l)
{
	return fmin(fmax(l->width * UNIT / (10.0 * l->levels), LEVEL_MIN), LEVEL_MAX);
}

/* Return the height of all levels of switches together */
static double levels_height(const struct layout *l)
{
	return (l->levels - 1.0) * level_height(l);
}

/* Return the y coordinate of a node. CAs stand below all switches, in rows. */
static double y_of(const struct layout *l, const struct layout_node *n)
{
	double leaves = MARGIN + BOX_H / 2.0 + levels_height(l);

	if (!n->is_switch)
		return leaves + n->row * (double)ROW;
	return leaves - n->level * level_height(l);
}

static double x_of(const struct layout_node *n)
{
	return MARGIN + n->x * UNIT;
}

/*
 * Draw a cable. Cables between levels are straight, and parallel cables are drawn beside each other. Cables inside a
 * level are arcs above the level.
 */
static void cable(const struct layout *l, const struct layout_link *c, FILE *out)
{
	const struct layout_node *a = &l->node[c->a], *b = &l->node[c->b];
	double aside = (c->nth - (c->of - 1) / 2.0) * PARALLEL;
	double ax = x_of(a) + aside, bx = x_of(b) + aside, ay = y_of(l, a), by = y_of(l, b);

	fprintf(out, "<path%s d=\"M%.1f %.1f", c->up ? "" : " class=\"down\"", ax, ay);
	if (ay == by)
		fprintf(out, "Q%.1f %.1f", (ax + bx) / 2,
			ay - fmin(LEVEL_MIN * 0.5, BOX_H + fabs(ax - bx) / 8) + 2 * aside);
	else
		fputc('L', out);
	fprintf(out, "%s%.1f %.1f\"><title>", ay == by ? " " : "", bx, by);
	text(out, a->name, 0);
	fprintf(out, "/%u - ", c->a_port);
	text(out, b->name, 0);
	fprintf(out, "/%u ", c->b_port);
	text(out, c->speed, 0);
	fprintf(out, " %s</title></path>\n", c->up ? "up" : "down");
}

static void box(const struct layout *l, const struct layout_node *n, FILE *out)
{
	double x = x_of(n), y = y_of(l, n);

	fprintf(out, "<g class=\"%s\"><title>", n->is_switch ? "switch" : "ca");
	text(out, n->name, 0);
	fprintf(out,
		"</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"4\"/>"
		"<text x=\"%.1f\" y=\"%.1f\">",
		x - BOX_W / 2.0, y - BOX_H / 2.0, BOX_W, BOX_H, x, n->note ? y - 2 : y + 4);
	text(out, n->name, NAME_MAX_SHOWN);
	fputs("</text>", out);
	if (n->note) {
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", x, y + 11);
		text(out, n->note, NAME_MAX_SHOWN);
		fputs("</text>", out);
	}
	if (n->folded)
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%u CAs</text>", x, y + BOX_H, n->folded);
	fputs("</g>\n", out);
}

void layout_svg(const struct layout *l, FILE *out)
{
	double width = 2 * MARGIN + (l->width > 1 ? l->width : 1) * UNIT;
	double height =
		2 * MARGIN + BOX_H + levels_height(l) + (l->rows > 1 ? (l->rows - 1.0) * ROW : 0);

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"width=\"%.0f\" height=\"%.0f\">\n",
		width, height, width, height);
	fputs(style, out);
	for (size_t k = 0; k < l->nlinks; k++)
		if (!l->node[l->link[k].a].hidden && !l->node[l->link[k].b].hidden)
			cable(l, &l->link[k], out);
	for (size_t k = 0; k < l->nnodes; k++)
		if (!l->node[k].hidden)
			box(l, &l->node[k], out);
	fputs("</svg>\n", out);
}
