/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/page.h"

#include <string.h>

#include "util/list.h"

/*
 * The assembler includes the files of src/web/page in the object file, so the build needs no
 * program that converts them to C. Paths are relative to the top folder, where make compiles; the
 * Makefile says that this file depends on the files of the page.
 */
#define FILE_OF(symbol, name)                                                                    \
	__asm__(".pushsection .rodata\n" #symbol ": .incbin \"src/web/page/" name "\"\n" #symbol \
		"_end: .byte 0\n.popsection\n");                                                 \
	extern const char symbol[], symbol##_end[]

FILE_OF(web_page_index, "index.html");
FILE_OF(web_page_style, "style.css");
FILE_OF(web_page_icon, "icon.svg");
FILE_OF(web_page_app, "app.js");
FILE_OF(web_page_model, "model.js");
FILE_OF(web_page_view, "view.js");

static struct web_page pages[] = {
	{ "/", "text/html; charset=utf-8", web_page_index, 0 },
	{ "/style.css", "text/css; charset=utf-8", web_page_style, 0 },
	{ "/icon.svg", "image/svg+xml", web_page_icon, 0 },
	{ "/app.js", "text/javascript; charset=utf-8", web_page_app, 0 },
	{ "/model.js", "text/javascript; charset=utf-8", web_page_model, 0 },
	{ "/view.js", "text/javascript; charset=utf-8", web_page_view, 0 },
};

static const char *const ends[] = { web_page_index_end, web_page_style_end, web_page_icon_end,
				    web_page_app_end,	web_page_model_end, web_page_view_end };

const struct web_page *web_page_find(const char *path)
{
	for (size_t k = 0; k < ARRAY_SIZE(pages); k++) {
		if (strcmp(path, pages[k].path))
			continue;
		pages[k].len = (size_t)(ends[k] - pages[k].data);
		return &pages[k];
	}
	return NULL;
}
