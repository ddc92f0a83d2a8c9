/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

/*
 * DOC: The first process of a VM
 *
 * This static program is /init of the initramfs. The program carries out the entries of the file
 * VM_CONFIG (vm/guest.h), of which the last runs CMD and powers the VM off. If a step fails, the
 * program sends a message and powers the VM off. The message goes to the channel; before the
 * channel is open, it goes to the console. The program uses only the C library and the formats of
 * vm/.
 */

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/frame.h"

/* --- chan.c: the channel */

/* chan_open() - Wait for the device file, open it, and send HELLO */
void chan_open(void);
/* chan_fd() - Return the descriptor of the channel, for poll(); -1: the channel is not open */
int chan_fd(void);
/* chan_send() - Send a frame; does nothing while the channel is not open */
void chan_send(enum frame_type type, const void *data, size_t len);
void chan_sendf(enum frame_type type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * chan_wait_end() - Wait until the host has closed the channel, or for ever if the host does not
 * close the channel. To be called after FRAME_EXIT or FRAME_ERROR: when the host has read such a
 * frame, it ends QEMU. If the guest powered off at once instead, output that QEMU has not passed on
 * yet would be lost. This was seen with QEMU 10 on a busy machine.
 */
void chan_wait_end(void);
/*
 * chan_recv() - Read the octets that wait in the channel into @rx, for frame_rx_next(). Return: false if the host
 * has closed the channel
 */
bool chan_recv(struct frame_rx *rx);

/* --- main.c */

/* fatal() - Send the reason and the end of the kernel's log, and power off */
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* power_off() - Flush files to the shares, and end the machine */
void power_off(void) __attribute__((noreturn));
/* pause_ms() - Sleep for @ms milliseconds, which must be less than 1000 */
void pause_ms(unsigned int ms);
/* write_file() - Write a short text into a file of /proc or /sys. Return: 0 or -errno */
int write_file(const char *path, const char *text);
/* read_file() - Read the first line of a file into @buf, without '\n'; "" if it cannot be read. Returns @buf */
char *read_file(const char *path, char *buf, size_t size);

/* --- mount.c */

void mount_early(void); /* mounts /proc, /sys, /dev of the initramfs */
/* mounts the root file system with a tmpfs over it, and makes the result the root */
void mount_root(void);
void mount_modules(char *dir); /* mounts the kernel's modules at the folder @dir, read-only */
void mount_share(char *tag_and_dir); /* mounts a share; the argument is "TAG:DIR" */
void make_dirs(char *path); /* makes a folder, and the folders above it that do not exist */

/* --- cable.c: the network namespace of the link to the fabric */

/*
 * cable_init() - Make the namespace, move the interface that leads to `uipoib vm` into the
 * namespace, and set the interface up
 */
void cable_init(void);
/*
 * cable_add_hca() - Add a device of uib.ko whose socket is in the namespace of cable_init(). The
 * argument is a line for uib's parameter "add"
 */
void cable_add_hca(const char *line);
/* cable_name() - Give the namespace the name VM_CABLE in the file system; to be called when the root is mounted */
void cable_name(void);

/* --- net.c */

/* A request to rtnetlink: .h.nlmsg_len is the length so far, and net_put_attr() adds to it */
struct net_request {
	struct nlmsghdr h;
	union {
		struct ifaddrmsg addr;
		struct ifinfomsg link;
	};
	uint8_t attrs[3 * RTA_LENGTH(16)];
};

void net_put_attr(struct net_request *m, unsigned short type, const void *data, size_t len);
/* sends a request; returns the kernel's answer, 0 or -errno */
int net_ask(const struct net_request *m);
int net_socket(void); /* a socket for ioctl(2) on interfaces */
int net_set_up(const char *ifname); /* sets the interface up; returns 0 or -errno */
/* adds the address @text, such as "10.4.0.100/16"; returns 0 or -errno */
int net_add_address(const char *ifname, const char *text);
/* stores an address that net_up() sets: N,A/LEN for the interface ibN, such as "0,10.4.0.100/16" for ib0 */
void net_address(char *text);
/*
 * sets the interfaces of @hcas HCAs up and waits until they can send; the VM ends if the interfaces
 * are not up within @seconds. If @seconds is 0, the function does not wait
 */
void net_up(unsigned int hcas, unsigned int seconds);

/* --- user.c */

/*
 * user_set() - Store the user as whom CMD runs, given as "UID,GID[,GROUP ...]"; without this call
 * CMD runs as root
 */
void user_set(char *text);
/*
 * user_become() - Become the user of user_set(); to be called in the process that becomes CMD. The
 * process ends if the kernel refuses
 */
void user_become(void);

/* --- systemd.c */

/*
 * systemd_start() - Make systemd the first process. The function returns in a child of systemd when systemd has booted;
 * the VM ends if systemd does not boot
 */
void systemd_start(void);

/* --- cmd.c */

/*
 * cmd_run() - Run CMD, and carry its input and output over the channel until CMD ends. Return: CMD's exit status, or
 * 128 + signal
 */
int cmd_run(char **argv, char **envp, const char *cwd, bool tty);

#endif
