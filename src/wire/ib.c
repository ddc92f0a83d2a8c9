/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ib.h"

#include "util/list.h"

/*
 * Signalling rates in Mb/s by rate code, as in PathRecord:Rate (IBTA 15.2.5.16). From FDR on the
 * coding is 64b/66b, so the exact rate differs from the round number that is used as its name.
 */
static const unsigned int rate_mbps[] = {
	[2] = 2500,    [3] = 10000,   [4] = 30000,   [5] = 5000,    [6] = 20000,    [7] = 40000,
	[8] = 60000,   [9] = 80000,   [10] = 120000, [11] = 14062,  [12] = 56250,   [13] = 112500,
	[14] = 168750, [15] = 25781,  [16] = 103125, [17] = 206250, [18] = 309375,  [19] = 28125,
	[20] = 53125,  [21] = 425000, [22] = 637500, [23] = 850000, [24] = 1275000,
};

unsigned int ib_rate_mbps(unsigned int rate_code)
{
	return rate_code < ARRAY_SIZE(rate_mbps) ? rate_mbps[rate_code] : 0;
}

enum { WIDTH_1X, WIDTH_4X, WIDTH_8X, WIDTH_12X, WIDTH_2X, WIDTHS };

/*
 * Rate codes by speed (row) and width (column). The rows of rate_plain are in the order of the bits
 * of LinkSpeedActive, from SDR on. The rows of rate_ext are in the order of the bits of
 * LinkSpeedExtActive, from FDR on. The comments give the rates in Gb/s.
 */
static const uint8_t rate_plain[][WIDTHS] = {
	{ 2, 3, 6, 4, 5 }, /* SDR: 2.5, 10, 20, 30, 5 */
	{ 5, 6, 7, 8, 3 }, /* DDR: 5, 20, 40, 60, 10 */
	{ 3, 7, 9, 10, 6 }, /* QDR: 10, 40, 80, 120, 20 */
};
static const uint8_t rate_ext[][WIDTHS] = {
	{ 11, 12, 13, 14, 19 }, /* FDR: 14, 56, 112, 168, 28 */
	{ 15, 16, 17, 18, 20 }, /* EDR: 25, 100, 200, 300, 50 */
	{ 20, 17, 21, 22, 16 }, /* HDR: 50, 200, 400, 600, 100 */
	{ 16, 21, 23, 24, 17 }, /* NDR: 100, 400, 800, 1200, 200 */
};

/* Return the index of the bit that is set in @v; -1 if none or several are set. */
static int only_bit(unsigned int v)
{
	return v != 0 && (v & (v - 1)) == 0 ? __builtin_ctz(v) : -1;
}

unsigned int ib_rate_code(unsigned int width, unsigned int speed, unsigned int ext)
{
	int w = only_bit(width);
	int s = only_bit(ext ? ext : speed);

	if (w < 0 || w >= WIDTHS || s < 0)
		return 0;
	if (ext)
		return s < (int)ARRAY_SIZE(rate_ext) ? rate_ext[s][w] : 0;
	return s < (int)ARRAY_SIZE(rate_plain) ? rate_plain[s][w] : 0;
}
