/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_LIB_H
#define VERBS_LIB_H

/*
 * The functions that a port needs: those of libibverbs under their names without "ibv_", and accesses to files of the
 * kernel. The functions that post and poll are not here, because inline functions of the library's header call them
 * through struct ibv_context.
 */

#include <infiniband/verbs.h>
#include <stdint.h>

struct verbs_lib {
	struct ibv_device **(*get_device_list)(int *num);
	void (*free_device_list)(struct ibv_device **list);
	struct ibv_context *(*open_device)(struct ibv_device *dev);
	int (*close_device)(struct ibv_context *ctx);
	int (*query_device)(struct ibv_context *ctx, struct ibv_device_attr *ret);
	/* fills the members of @ret before .port_cap_flags2 */
	int (*query_port)(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *ret);
	int (*query_gid)(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *ret);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *ctx);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t len, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *ctx);
	int (*destroy_comp_channel)(struct ibv_comp_channel *ch);
	struct ibv_cq *(*create_cq)(struct ibv_context *ctx, int cqe, void *cq_ctx,
				    struct ibv_comp_channel *ch, int vector);
	int (*destroy_cq)(struct ibv_cq *cq);
	int (*get_cq_event)(struct ibv_comp_channel *ch, struct ibv_cq **ret, void **ret_ctx);
	void (*ack_cq_events)(struct ibv_cq *cq, unsigned int n);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *ret, int mask,
			struct ibv_qp_init_attr *ret_init);
	int (*destroy_qp)(struct ibv_qp *qp);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
	int (*destroy_ah)(struct ibv_ah *ah);
	int (*attach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
	int (*detach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
	int (*get_async_event)(struct ibv_context *ctx, struct ibv_async_event *ret);
	void (*ack_async_event)(struct ibv_async_event *ev);

	/* The functions below return -errno on failure. */

	/* Open the folder of the port's P_Keys in sysfs. Returns a descriptor */
	int (*pkeys_open)(const char *device, uint8_t port);
	int (*pkey_read)(int fd, unsigned int index, uint16_t *ret);
	/* Write the name of the kernel's driver of a device, such as "mlx5_core", to @ret */
	int (*driver_read)(const char *device, char *ret, size_t size);
	/* Open the umad device of a port, non-blocking and with P_Key indices. Returns a descriptor */
	int (*umad_open)(const char *device, uint8_t port);
	/*
	 * Register an agent on QP1. The agent handles RMPP itself. It gets responses to its own
	 * requests, and the unsolicited MADs of class @mgmt_class whose methods are in the mask
	 * @methods. If @mgmt_class is 0, it gets only the responses. Returns the agent's number;
	 * -EBUSY or -EINVAL: another agent has one of the methods; -EINVAL also for a wrong class
	 */
	int (*umad_register)(int fd, uint8_t mgmt_class, uint8_t version,
			     const uint64_t methods[2]);
};

/* verbs_lib_load() - Load libibverbs once. Return: NULL if it is missing */
const struct verbs_lib *verbs_lib_load(void);

#endif
