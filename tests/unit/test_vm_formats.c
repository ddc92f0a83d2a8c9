/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/cpio.h"
#include "vm/frame.h"
#include "vm/net.h"

/* --- frames */

static size_t three_frames(uint8_t *buf)
{
	static uint8_t big[FRAME_DATA_MAX];
	size_t n;

	memset(big, 'x', sizeof(big));
	n = frame_encode(buf, FRAME_HELLO, NULL, 0);
	n += frame_encode(buf + n, FRAME_STDOUT, big, sizeof(big));
	return n + frame_encode(buf + n, FRAME_EXIT, "\x2a", 1);
}

/*
 * Feed @len octets to the decoder, in pieces of at most @step. Returns the number of frames that
 * the decoder finds; @types gets the type of each frame.
 */
static unsigned int feed(const uint8_t *buf, size_t len, size_t step, uint8_t types[8])
{
	struct frame_rx *rx = calloc(1, sizeof(*rx));
	unsigned int found = 0;
	struct frame f;

	for (size_t at = 0; at < len;) {
		size_t room, n = len - at < step ? len - at : step;
		uint8_t *to = frame_rx_room(rx, &room);

		assert_true(room >= FRAME_HDR_LEN + FRAME_DATA_MAX);
		n = n < room ? n : room;
		memcpy(to, buf + at, n);
		frame_rx_added(rx, n);
		at += n;
		while (frame_rx_next(rx, &f) > 0) {
			assert_true(found < 8);
			types[found++] = (uint8_t)f.type;
			if (f.type == FRAME_STDOUT) {
				assert_int_equal(f.len, FRAME_DATA_MAX);
				assert_int_equal(f.data[0], 'x');
				assert_int_equal(f.data[FRAME_DATA_MAX - 1], 'x');
			}
			if (f.type == FRAME_EXIT)
				assert_int_equal(f.data[0], 42);
		}
	}
	free(rx);
	return found;
}

static void test_frames_come_out_however_they_are_cut(void **state)
{
	uint8_t buf[3 * (FRAME_HDR_LEN + FRAME_DATA_MAX)], types[8];
	size_t len = three_frames(buf), step[] = { 1, 2, 3, 5, 4096, sizeof(buf) };

	(void)state;
	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		assert_int_equal(feed(buf, len, step[i], types), 3);
		assert_int_equal(types[0], FRAME_HELLO);
		assert_int_equal(types[1], FRAME_STDOUT);
		assert_int_equal(types[2], FRAME_EXIT);
	}
	assert_int_equal(feed(buf, len - 1, 7, types), 2); /* the last frame is incomplete */
}

static void test_what_is_no_frame_is_refused(void **state)
{
	static const uint8_t bad[][4] = {
		{ 0, 0, 0, 0 }, /* type 0 does not exist */
		{ FRAME_STDOUT, 1, 0, 1 }, /* an octet that must be 0 */
		{ FRAME_STDOUT, 0, 0x10, 1 }, /* length 4097 */
		{ FRAME_STDOUT, 0, 0xff, 0xff },
	};
	struct frame_rx rx;
	struct frame f;
	size_t room;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&rx, 0, sizeof(rx));
		memcpy(frame_rx_room(&rx, &room), bad[i], sizeof(bad[i]));
		frame_rx_added(&rx, sizeof(bad[i]));
		assert_int_equal(frame_rx_next(&rx, &f), -EBADMSG);
	}
}

/*
 * --- cpio. The layout comes from buffer-format.rst of the Linux documentation. The octets come
 * from `cpio -o -H newc`, except inode and time
 */

static void test_cpio_octets(void **state)
{
	static const char want[] =
		/* folder "m": 110 + 2 octets */
		"070701"
		"00000000"
		"000041ED"
		"00000000"
		"00000000"
		"00000001"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000002"
		"00000000"
		"m\0"
		/*
		 * file "m/ab" with 5 octets: 110 + 5 octets of header and name, 1 of padding, 5 of
		 * content, 3 of padding
		 */
		"070701"
		"00000000"
		"000081A4"
		"00000000"
		"00000000"
		"00000001"
		"00000000"
		"00000005"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000005"
		"00000000"
		"m/ab\0\0"
		"hello\0\0\0"
		"070701"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000001"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"0000000B"
		"00000000"
		"TRAILER!!!\0\0\0";
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	(void)state;
	cpio_dir(f, "m");
	cpio_file(f, "m/ab", 0644, "hello", 5);
	cpio_end(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(len, sizeof(want));
	assert_memory_equal(got, want, len);
	free(got);
}

/* --- frames between host and guest */

static void test_frames_to_the_guest(void **state)
{
	/* The checksum of the IPv4 header (RFC 1071) was computed by hand. */
	static const uint8_t
		want[VM_NET_HDR_LEN] = {
			0x02, 0x75, 0x69, 0x70, 0x00, 0x02, 0x02, 0x75,
			0x69, 0x70, 0x00, 0x01, 0x08, 0x00, /* */
			0x45, 0x00, 0x01, 0x3e, 0x00, 0x00, 0x40, 0x00,
			0x40, 0x11, 0xb5, 0xab, /* total length 318 */
			192,  0,    2,	  1,	192,  0,    2,	  2, /* */
			0x13, 0x89, 0x13, 0x89, 0x01, 0x2a, 0x00, 0x00, /* UDP length 298 */
		};
	uint8_t hdr[VM_NET_HDR_LEN];

	(void)state;
	vm_net_wrap(hdr, 0, 290);
	assert_memory_equal(hdr, want, sizeof(want));
}

/* Turn a frame to the guest into one from the guest: exchange its addresses. */
static void frame_of_guest(uint8_t *f, unsigned int hca, size_t len)
{
	vm_net_wrap(f, hca, len);
	memcpy(f, VM_NET_HOST_MAC, 6);
	memcpy(f + 6, VM_NET_GUEST_MAC, 6);
	f[29] = 2;
	f[33] = 1;
	memset(f + VM_NET_HDR_LEN, 'd', len);
}

static void test_datagrams_of_the_guest(void **state)
{
	uint8_t f[VM_NET_HDR_LEN + 64] = { 0 };
	unsigned int hca = 99;
	size_t len = 0;

	(void)state;
	frame_of_guest(f, 0, 0); /* a keepalive, padded to Ethernet's minimum */
	assert_ptr_equal(vm_net_unwrap(f, 60, &hca, &len), f + VM_NET_HDR_LEN);
	assert_int_equal(len, 0);
	assert_int_equal(hca, 0);
	frame_of_guest(f, VM_HCAS_MAX - 1, 64);
	assert_ptr_equal(vm_net_unwrap(f, sizeof(f), &hca, &len), f + VM_NET_HDR_LEN);
	assert_int_equal(len, 64);
	assert_int_equal(hca, VM_HCAS_MAX - 1);
	for (size_t n = 0; n < sizeof(f); n++) /* cut the frame */
		assert_null(vm_net_unwrap(f, n, &hca, &len));
}

static void test_other_frames_are_nobodys(void **state)
{
	static const struct {
		size_t at;
		uint8_t octet;
	} bad[] = {
		{ 13, 0x06 }, /* ARP */
		{ 14, 0x46 }, /* IP options */
		{ 14, 0x65 }, /* version 6 */
		{ 20, 0x20 }, /* more fragments */
		{ 21, 0x01 }, /* not the first fragment */
		{ 23, 6 }, /* TCP */
		{ 33, 3 }, /* another destination address */
		{ 37, 0x88 }, /* the port before the first HCA's */
		{ 37, 0x91 }, /* the port behind the last HCA's */
		{ 39, 7 }, /* a UDP length below that of the UDP header */
	};
	uint8_t f[VM_NET_HDR_LEN + 64];
	unsigned int hca;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		frame_of_guest(f, 0, 64);
		if (bad[i].at == 39)
			f[38] = 0;
		f[bad[i].at] = bad[i].octet;
		assert_null(vm_net_unwrap(f, sizeof(f), &hca, &len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_come_out_however_they_are_cut),
		cmocka_unit_test(test_what_is_no_frame_is_refused),
		cmocka_unit_test(test_cpio_octets),
		cmocka_unit_test(test_frames_to_the_guest),
		cmocka_unit_test(test_datagrams_of_the_guest),
		cmocka_unit_test(test_other_frames_are_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
