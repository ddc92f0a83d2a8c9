/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/capture_decode.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "os/dl.h"
#include "text/print.h"
#include "util/list.h"
#include "util/pcap.h"

/*
 * DOC: capture decode
 *
 * The command prints the packets of a capture file in the words of `uipoib trace`, for machines
 * without tshark. libpcap reads the formats pcap and pcapng. The file may come from a stranger, so
 * the lengths in its ERF records are checked here. libpcap is loaded for this command only, because
 * libpcap depends on D-Bus, systemd and seven more libraries.
 */

#define TEXT_MAX 4096
#define ERF_EXT_LEN 8 /* octets of an extension header, which may follow an ERF header */
#define ERF_TYPE 8 /* offset of the type in the ERF header */
/* bit in the first octet of an extension header, and in the type: another extension header follows */
#define ERF_MORE 0x80

/* --- the library */

#define FUNCTIONS(F)                                \
	F(pcap_fopen_offline_with_tstamp_precision) \
	F(pcap_datalink)                            \
	F(pcap_next_ex)                             \
	F(pcap_geterr)                              \
	F(pcap_close)

DL_TABLE(lib, FUNCTIONS);

static int load(void)
{
	/* Debian's name of the library, and the name that libpcap itself gives it */
	if (!dl_load(&lib, "libpcap.so.0.8", lib_symbols, ARRAY_SIZE(lib_symbols)) ||
	    !dl_load(&lib, "libpcap.so.1", lib_symbols, ARRAY_SIZE(lib_symbols)))
		return 0;
	return cli_error(
		PROTO_EXIT_ENV,
		"capture decode: libpcap.so.0.8 is missing; the package libpcap0.8 has it");
}

/* --- records */

/*
 * Finds the packet in a record. Return: its offset; 0 if the record has none
 */
static size_t packet_in(const uint8_t *rec, size_t len)
{
	size_t at = ERF_HDR_LEN;
	bool more;

	if (len < ERF_HDR_LEN || (rec[ERF_TYPE] & ~ERF_MORE) != ERF_TYPE_INFINIBAND)
		return 0;
	for (more = rec[ERF_TYPE] & ERF_MORE; more; at += ERF_EXT_LEN) {
		if (len < at + ERF_EXT_LEN)
			return 0;
		more = rec[at] & ERF_MORE;
	}
	return at;
}

static void print_record(unsigned long long n, const struct pcap_pkthdr *h, const uint8_t *rec)
{
	size_t at = packet_in(rec, h->caplen);
	char text[TEXT_MAX] = "not a record of InfiniBand (ERF type 21)\n";

	if (at)
		print_packet(text, sizeof(text), rec + at, h->caplen - at);
	if (cli_opts.json) {
		cli_print_json(json_pack("{s:i, s:{s:I, s:I, s:I, s:I, s:s}}", "schema",
					 PROTO_SCHEMA, "packet", "number", (json_int_t)n, "seconds",
					 (json_int_t)h->ts.tv_sec, "nanoseconds",
					 (json_int_t)h->ts.tv_usec, "octets",
					 (json_int_t)(at ? h->caplen - at : 0), "text", text));
		return;
	}
	printf("#%-4llu %lld.%09lld  %zu octets\n", n, (long long)h->ts.tv_sec,
	       (long long)h->ts.tv_usec, at ? h->caplen - at : 0);
	cli_print_lines(2, text);
	putchar('\n');
}

static int print_all(pcap_t *pc, const char *file)
{
	struct pcap_pkthdr *h;
	const uint8_t *rec;
	int got;

	if (lib.pcap_datalink(pc) != PCAP_LINKTYPE_ERF)
		return cli_error(PROTO_EXIT_USAGE,
				 "capture decode: %s: link type %d, expected %d (ERF), as 'uipoib "
				 "capture start' writes it",
				 file, lib.pcap_datalink(pc), PCAP_LINKTYPE_ERF);
	for (unsigned long long n = 1; (got = lib.pcap_next_ex(pc, &h, &rec)) == 1; n++)
		print_record(n, h, rec);
	if (got == PCAP_ERROR_BREAK)
		return PROTO_EXIT_OK;
	return cli_error(PROTO_EXIT_FAILED, "capture decode: %s: %s", file, lib.pcap_geterr(pc));
}

int capture_decode(int argc, char **argv)
{
	char err[PCAP_ERRBUF_SIZE];
	FILE *f;
	pcap_t *pc;
	int status;

	if (argc != 2)
		return cli_error(PROTO_EXIT_USAGE, "capture decode: expected one FILE, or - for "
						   "standard input");
	status = load();
	if (status)
		return status;
	f = strcmp(argv[1], "-") ? fopen(argv[1], "re") : stdin;
	if (!f)
		return cli_error(PROTO_EXIT_USAGE, "capture decode: %s: %s", argv[1],
				 strerror(errno));
	pc = lib.pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, err);
	if (!pc) {
		if (f != stdin)
			fclose(f);
		return cli_error(PROTO_EXIT_USAGE, "capture decode: %s: %s", argv[1], err);
	}
	status = print_all(pc, argv[1]);
	lib.pcap_close(pc);
	return cli_flush(status);
}
