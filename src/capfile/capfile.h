/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CAPFILE_CAPFILE_H
#define CAPFILE_CAPFILE_H

/*
 * Captures that are written to a file. Records are collected in a buffer, so that the data path makes no system call
 * for each packet; the buffer is sent when it is full and at the end of each wake-up of the loop. An error of the
 * file ends the capture, but never disturbs the fabric.
 *
 * The loop writes to no file, because a hanging disk, a pipe or a terminal could make it wait. The loop sends the
 * records to a socket, from which a writer process (os/writer.h) or the client copies them to the file. When the socket
 * is full the records wait in the buffer, and when the buffer is full, packets are missed and counted.
 */

#include "fabric/capture.h"
#include "os/loop.h"
#include "util/log.h"
#include "verbs/verbs.h"

#define CAPFILE_ERR_MAX 512

/*
 * Sizes of the buffer in octets: CAPFILE_STREAM_BUF for a stream (to a client, a pipe, a terminal),
 * and CAPFILE_DISK_BUF for a regular file. A size limits how far the reader of the stream, or the
 * writer of the file, may lag behind. The size for a file is larger, because a busy machine may
 * give the writer no CPU time while the traffic goes on as before. A page of the buffer uses memory
 * only from the first write to this page on.
 */
#define CAPFILE_STREAM_BUF (8 * 1024 * 1024)
#define CAPFILE_DISK_BUF (64 * 1024 * 1024)

struct capfile;
typedef void capfile_done(struct capfile *c, void *ctx, int error);

/* The captures that are served by one loop */
struct capfiles {
	struct list list; /* struct capfile.link */
	unsigned int ids; /* number of the capture that was started last */
	struct loop *loop;
	ns_t epoch; /* Unix time at which the loop's clock was 0 */
};

struct capfile {
	struct list link; /* link in capfiles.list */
	struct capfiles *files;
	struct log_sink log; /* log of the owner, with the name of this capture */
	/* fabric whose packets are captured; NULL: the packets of the port .ca are captured */
	struct fabric *fabric;
	const char *fabric_name; /* name of .fabric */
	/*
	 * port verbs:DEVICE/PORT whose packets are captured; NULL if .fabric is set, or after the
	 * port was closed
	 */
	struct ca *ca;
	struct verbs_tap tap; /* watcher that .ca calls for each packet (verbs/verbs.h) */
	unsigned int source; /* number of .ca as a source of the capture (capture_add_source()) */
	/*
	 * source of the records; NULL after the capture has been told to end, while its writer
	 * writes the remaining records
	 */
	struct capture *cap;
	unsigned int id;
	int fd; /* socket to the writer or the client */
	/* true if the other end of the socket belongs to a writer process, which sends reports */
	bool reports;
	/*
	 * true if the writer writes a regular file; when the instance ends, it waits up to five
	 * seconds until this file is complete
	 */
	bool regular;
	unsigned int nreports; /* number of reports that the writer has sent so far */
	/* watch for reports of the writer and, while .full, for room in the socket */
	struct loop_fd watch;
	bool full; /* true while the socket accepts no more octets */
	/* true if .error was logged, or was returned to the caller and need not be logged */
	bool said;
	char path[256];
	/* port whose link is captured, as NODE/PORT, or "verbs:DEVICE/PORT"; "" to capture at all end ports */
	char what[FABRIC_NAME_MAX + 16];
	int error; /* first error of the file or the socket, -errno; 0: none */
	uint8_t *buf;
	size_t size; /* octets of room in .buf */
	size_t done, len; /* the octets from buf[done] to buf[len - 1] wait to be sent */
	/* function to call at the end of the capture, the argument @done of capfile_stop(); NULL: none */
	capfile_done *on_done;
	void *ctx;
};

/* The packets that a capture records, and the log of their owner */
struct capfile_at {
	struct capfiles *files;
	/*
	 * log of the owner of the packets; the strings of log->about must remain valid until the
	 * capture has ended
	 */
	const struct log_sink *log;
	/* name of the fabric (borrowed until capfile_close_all()) or of the port */
	const char *name;
	/*
	 * If .fabric is set, the capture records each packet of this fabric once, at the end ports.
	 * If .link ("NODE/PORT") is set, too, the capture instead records both directions of the
	 * link at this port
	 */
	struct fabric *fabric;
	const char *link;
	/*
	 * If .fabric is NULL, the capture records the packets that the queue pairs of interfaces
	 * send and receive on this port verbs:DEVICE/PORT
	 */
	struct ca *ca;
};

/* capfiles_init() - Initialize @fs without captures; the owner sets .epoch before the first capture */
void capfiles_init(struct capfiles *fs, struct loop *loop);

/**
 * capfile_open() - Start a capture into a file that the configuration names, before the privileges are dropped
 * @path:	name of the file, "-" for standard output; the format is pcap if all packets of a fabric are captured
 *	and the name does not end in .pcapng, otherwise pcapng
 *
 * Waits, at most five seconds, until the writer has written the first octets. Return: 0; -EEXIST:
 * another capture writes to @path; -errno, with a message in @err
 */
int capfile_open(const struct capfile_at *at, const char *path, struct capfile **ret,
		 char err[CAPFILE_ERR_MAX]);

/**
 * capfile_open_fd() - Start a capture into a socket that a client sent (SCM_RIGHTS)
 * @fd:		the socket; the function owns it, also on failure
 * @path:	name of the regular file that a writer process of the client writes; "-" if the client reads the
 * 		socket itself
 *
 * Return: as capfile_open(); -EINVAL: @fd is no stream socket
 */
int capfile_open_fd(const struct capfile_at *at, int fd, const char *path, struct capfile **ret,
		    char err[CAPFILE_ERR_MAX]);

/**
 * capfile_stop() - Stop recording, and end the capture when its writer has written all records. A
 * capture whose client reads the socket itself ends at once
 * @done:	called at the end, with 0 or the first error, unless capfile_forget() was called; @c is freed
 *		after the call
 *
 * Return: -EINPROGRESS: @done will be called; any other value: the capture has ended, and @c is
 * freed; the value is 0 or the first error
 */
int capfile_stop(struct capfile *c, capfile_done *done, void *ctx);
/* capfile_forget() - After capfile_stop() has returned -EINPROGRESS, cancel the call of @done */
void capfile_forget(struct capfile *c);

/*
 * capfile_close() - End a capture at once. Its writer still writes the records that it has
 * received. Returns 0 or the first error of the capture
 */
int capfile_close(struct capfile *c);

/*
 * capfile_close_all() - End all captures of the fabric @f; if @f is NULL, end the captures of all
 * ports verbs:DEVICE/PORT. Wait, at most five seconds, for the writers of regular files
 */
void capfile_close_all(struct capfiles *fs, const struct fabric *f);

/*
 * capfile_port_gone() - Stop the captures of the port @ca, which the caller is about to close;
 * their writers write the remaining records.
 * @ca may be NULL
 */
void capfile_port_gone(struct capfiles *fs, const struct ca *ca);

/*
 * capfile_follow() - Extend the captures at all end ports to a new external link, so that the
 * captures include packets that enter the fabric by this link
 */
void capfile_follow(struct capfiles *fs, const struct fabric *f);

/*
 * capfile_flush_all() - Send the buffers of all captures; called once in each wake-up of the loop
 */
void capfile_flush_all(struct capfiles *fs);

#endif
