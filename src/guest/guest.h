/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

/*
 * DOC: The first process of a VM
 *
 * A static program, /init of the initramfs: does what the list VM_CONFIG says (vm/guest.h), runs CMD, and
 * powers the machine off. Whatever fails ends it, with a message on the channel or, before there is
 * one, on the console. C library only, and the formats of vm/.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/frame.h"

/* --- chan.c: the channel */

/* chan_open() - Wait for the device, say HELLO */
void chan_open(void);
/* chan_fd() - To poll; -1: not open */
int chan_fd(void);
/* chan_send() - A frame; nothing happens while the channel is not open */
void chan_send(enum frame_type type, const void *data, size_t len);
void chan_sendf(enum frame_type type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* chan_recv() - What can be read now; then frame_rx_next() of @rx. False: the other end is gone */
bool chan_recv(struct frame_rx *rx);

/* --- main.c */

/* fatal() - Tell why, and power off */
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* power_off() - Write what is not written yet, and end the machine */
void power_off(void) __attribute__((noreturn));
/* write_file() - A short text into a file of /proc or /sys. 0 or -errno */
int write_file(const char *path, const char *text);
/* read_file() - Its first line into @buf, without '\n'; "" if it cannot be read. Returns @buf */
char *read_file(const char *path, char *buf, size_t size);

/* --- mount.c */

void mount_early(void); /* /proc, /sys, /dev of the initramfs */
void mount_root(void); /* the host's root under a tmpfs, and enter it */
void mount_share(char *tag_and_dir); /* "TAG:DIR" */

/* --- net.c */

void net_eth(void); /* the interface to the host */
void net_address(const char *text); /* remembered for net_up(): "10.4.0.100/16" */
void net_up(unsigned int seconds); /* ib0, until it can send */

/* --- cmd.c */

/* cmd_run() - Run it and carry its input and output until it ends. Its exit status */
int cmd_run(char **argv, char **envp, const char *cwd, bool tty);

#endif
