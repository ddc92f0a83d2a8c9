/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_IBSIM_RIG_H
#define TESTS_UNIT_IBSIM_RIG_H

/*
 * A CA with LID 5 and two ports, of which port 1 has a link, and the CA's ibsim server. The test
 * acts as the clients of this server.
 */

#include "ibsim/srv.h"
#include "node_rig.h"

#define RIG_LID 5
#define RIG_OUT 4200

struct ibsim_rig {
	struct node_rig n;
	struct ibsim_srv *srv;
	char place[2]; /* the address of each element stands for a network namespace */
	bool is_open[IBSIM_CLIENTS_MAX];
	int open_err, issm_err, send_err;
	unsigned int issm_calls;
	bool issm;
	unsigned int nout;
	struct {
		unsigned int id;
		uint8_t raw[IBSIM_PKT_LEN];
		struct ibsim_pkt k;
	} out[RIG_OUT];
};

void ibsim_rig_init(struct ibsim_rig *r);
void ibsim_rig_fini(struct ibsim_rig *r);
/* Let the time @for_ns pass, and run the timers that become due. */
void ibsim_rig_run(struct ibsim_rig *r, ns_t for_ns);

/* Return the address of a client: the process with number @pid in namespace @place */
struct ibsim_peer ibsim_rig_peer(struct ibsim_rig *r, unsigned int place, uint32_t pid);
/*
 * Send the control message @m as client @from, and replace @m by the server's answer. Returns the
 * type of the answer; -1 if there was none
 */
int ibsim_rig_ctl(struct ibsim_rig *r, const struct ibsim_peer *from, struct ibsim_ctl *m);
/* Connect as process @pid. Returns the id of the new client, or -1 if the server refused */
int ibsim_rig_try_connect(struct ibsim_rig *r, uint32_t pid, const char *node, bool issm);
unsigned int ibsim_rig_connect(struct ibsim_rig *r, uint32_t pid);
int ibsim_rig_set_issm(struct ibsim_rig *r, unsigned int id, uint32_t pid, bool on);

/* Send a MAD of 256 octets as client @id. */
void ibsim_rig_send(struct ibsim_rig *r, unsigned int id, uint16_t dlid, uint8_t mgmt_class,
		    uint8_t method, uint16_t attr, uint64_t tid);
void ibsim_rig_send_pkt(struct ibsim_rig *r, unsigned int id, const struct ibsim_pkt *k);
/* Return the MAD that the port sent @i MADs before the last MAD (0: the last MAD). */
const uint8_t *ibsim_rig_wire(const struct ibsim_rig *r, unsigned int i);
/*
 * Let the answer to the MAD ibsim_rig_wire(r, @i) arrive. The answer has the same data as the
 * request.
 */
void ibsim_rig_answer(struct ibsim_rig *r, unsigned int i);
/*
 * Return the last MAD that client @id received, decoded. The test fails if the client received none
 */
const struct ibsim_pkt *ibsim_rig_got(const struct ibsim_rig *r, unsigned int id);

#endif
