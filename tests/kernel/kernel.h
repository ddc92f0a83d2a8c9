/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_KERNEL_KERNEL_H
#define TESTS_KERNEL_KERNEL_H

/*
 * DOC: A kernel for unit tests
 *
 * This file has the part of the kernel's interface that some files of kmod use (inet.c, link.c, mad.c, pma.c, port.c,
 * samples.c, sma.c, trap.c). With it, these files compile unchanged in user space, and run under ASan in
 * milliseconds. The headers beside this one have the kernel's names and include this file. Structures of wire
 * formats have the kernel's layout; other structures have only the members that kmod uses.
 *
 * Time does not pass unless a test changes fake_jiffies or calls the function of a timer. Locks count their holders,
 * so that a test can assert that all are free. Work items do not run by themselves: a test reads .queued and calls
 * .func.
 */

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>
#include <linux/version.h>

#define CONFIG_64BIT 1
#define CONFIG_INFINIBAND_VIRT_DMA 1

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int64_t s64;

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define BIT(n) (1u << (n))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
/* clang-format off */
#define container_of(p, type, member) ((type *)(void *)((char *)(p) - offsetof(type, member)))
/* clang-format on */
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)
#define __packed __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define __percpu
#define __force
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define fallthrough __attribute__((fallthrough))

/* The kernel's static_assert() needs no message. */
#undef static_assert
#define static_assert(cond, ...) _Static_assert(cond, #cond)

/* --- byte order */

/* These macros give constant expressions; glibc's htobe16() does not. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define cpu_to_be16(v) ((__be16)__builtin_bswap16(v))
#define cpu_to_be32(v) ((__be32)__builtin_bswap32(v))
#define cpu_to_be64(v) ((__be64)__builtin_bswap64(v))
#else
#define cpu_to_be16(v) ((__be16)(v))
#define cpu_to_be32(v) ((__be32)(v))
#define cpu_to_be64(v) ((__be64)(v))
#endif
#define be16_to_cpu(v) ((u16)cpu_to_be16(v))
#define be32_to_cpu(v) ((u32)cpu_to_be32(v))
#define be64_to_cpu(v) ((u64)cpu_to_be64(v))

#define FAKE_UNALIGNED(bits)                                          \
	static inline u##bits get_unaligned_be##bits(const void *p)   \
	{                                                             \
		u##bits v;                                            \
                                                                      \
		memcpy(&v, p, sizeof(v));                             \
		return be##bits##_to_cpu(v);                          \
	}                                                             \
	static inline void put_unaligned_be##bits(u##bits v, void *p) \
	{                                                             \
		v = cpu_to_be##bits(v);                               \
		memcpy(p, &v, sizeof(v));                             \
	}
FAKE_UNALIGNED(16)
FAKE_UNALIGNED(32)
FAKE_UNALIGNED(64)

/* --- the Internet checksum (RFC 1071), octet by octet */

typedef u32 __wsum;
typedef u16 __sum16;

static inline __wsum csum_add(__wsum a, __wsum b)
{
	u64 sum = (u64)a + b;

	return (__wsum)(sum + (sum >> 32));
}

static inline __wsum csum_partial(const void *p, int len, __wsum sum)
{
	for (int i = 0; i < len; i++)
		sum = csum_add(sum,
			       cpu_to_be16(i & 1 ? ((const u8 *)p)[i] : ((const u8 *)p)[i] << 8));
	return sum;
}

static inline __sum16 csum_fold(__wsum sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__sum16)~sum;
}

/* --- locks, time, work */

typedef struct {
	int held;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *l)
{
	l->held = 0;
}

static inline void spin_lock(spinlock_t *l)
{
	assert(!l->held);
	l->held = 1;
}

static inline void spin_unlock(spinlock_t *l)
{
	assert(l->held);
	l->held = 0;
}

#define spin_lock_bh spin_lock
#define spin_unlock_bh spin_unlock

#define HZ 250
extern unsigned long fake_jiffies;
#define jiffies fake_jiffies
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define get_jiffies_64() ((u64)fake_jiffies)
#define time_before64(a, b) ((s64)((a) - (b)) < 0)
#define msecs_to_jiffies(ms) (HZ * (unsigned long)(ms) / 1000)
#define nsecs_to_jiffies(ns) ((unsigned long)((ns) / (1000000000 / HZ)))

struct work_struct {
	void (*func)(struct work_struct *w);
};

struct delayed_work {
	struct work_struct work;
	bool queued;
	unsigned long delay;
};

struct workqueue_struct;

#define INIT_DELAYED_WORK(w, f) (*(w) = (struct delayed_work){ .work.func = (f) })

static inline bool mod_delayed_work(struct workqueue_struct *q, struct delayed_work *w,
				    unsigned long delay)
{
	bool was = w->queued;

	w->queued = true;
	w->delay = delay;
	return was;
}

static inline bool queue_delayed_work(struct workqueue_struct *q, struct delayed_work *w,
				      unsigned long delay)
{
	return !w->queued && !mod_delayed_work(q, w, delay);
}

static inline bool cancel_delayed_work_sync(struct delayed_work *w)
{
	bool was = w->queued;

	w->queued = false;
	return was;
}

static inline bool delayed_work_pending(const struct delayed_work *w)
{
	return w->queued;
}

enum hrtimer_restart { HRTIMER_NORESTART };
enum hrtimer_mode { HRTIMER_MODE_REL_SOFT };

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *t);
	s64 delay; /* delay in nanoseconds of the last start */
	bool armed;
};

#define CLOCK_MONOTONIC 1
#define ns_to_ktime(ns) ((s64)(ns))

static inline void hrtimer_init(struct hrtimer *t, int clock, enum hrtimer_mode mode)
{
	memset(t, 0, sizeof(*t));
}

static inline void hrtimer_setup(struct hrtimer *t, enum hrtimer_restart (*fn)(struct hrtimer *t),
				 int clock, enum hrtimer_mode mode)
{
	hrtimer_init(t, clock, mode);
	t->function = fn;
}

static inline void hrtimer_start(struct hrtimer *t, s64 delay, enum hrtimer_mode mode)
{
	t->delay = delay;
	t->armed = true;
}

static inline int hrtimer_cancel(struct hrtimer *t)
{
	int was = t->armed;

	t->armed = false;
	return was;
}

/* --- RCU and per-CPU data, for a single processor */

#define synchronize_rcu() ((void)0)
#define this_cpu_inc(x) ((x)++)
#define this_cpu_add(x, n) ((x) += (n))

/* --- types of which kmod's headers have members or pointers */

#define IB_DEVICE_NAME_MAX 64
#define IB_DEVICE_NODE_DESC_MAX 64

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct rcu_head {
	struct rcu_head *next;
};

struct xarray {
	void *head;
};

struct net;
struct page;
struct sk_buff;
struct socket;
struct sock;
struct dentry;
struct platform_device;

typedef unsigned int gfp_t;
#define GFP_KERNEL 0u

struct dst_cache {
	void *cache;
};

struct page_frag {
	struct page *page;
	u32 offset, size;
};

static inline void kfree_skb(struct sk_buff *skb)
{
	free(skb);
}

/* Never called; compat.h only needs its type. */
void udp_tunnel_sock_release(struct socket *sock);

/* --- verbs */

enum { RDMA_NODE_IB_CA = 1 };
enum ib_port_state { IB_PORT_NOP, IB_PORT_DOWN, IB_PORT_INIT, IB_PORT_ARMED, IB_PORT_ACTIVE };
enum ib_qp_type { IB_QPT_SMI, IB_QPT_GSI, IB_QPT_UD = 4 };
enum ib_qp_state { IB_QPS_RESET };
enum ib_cq_notify_flags { IB_CQ_SOLICITED = 1 };
enum { IB_MTU_256 = 1, IB_MTU_4096 = 5 };
enum { IB_PORT_SHUTDOWN = 1, IB_PORT_INIT_TYPE = 4, IB_PORT_RESET_QKEY_CNTR = 8 };
enum { IB_MAD_IGNORE_MKEY = 1 };
enum { IB_MAD_RESULT_SUCCESS = 1, IB_MAD_RESULT_REPLY = 2, IB_MAD_RESULT_CONSUMED = 4 };
#define IB_DEFAULT_PKEY_FULL 0xffff

enum {
	IB_PORT_SM = 1 << 1,
	IB_PORT_NOTICE_SUP = 1 << 2,
	IB_PORT_TRAP_SUP = 1 << 3,
	IB_PORT_SL_MAP_SUP = 1 << 6,
	IB_PORT_SYS_IMAGE_GUID_SUP = 1 << 11,
	IB_PORT_EXTENDED_SPEEDS_SUP = 1 << 14,
	IB_PORT_CAP_MASK2_SUP = 1 << 15,
	IB_PORT_VENDOR_CLASS_SUP = 1 << 20,
	IB_PORT_CAP_MASK_NOTICE_SUP = 1 << 22,
	IB_PORT_CLIENT_REG_SUP = 1 << 25,
};

enum ib_event_type {
	IB_EVENT_PORT_ACTIVE = 9,
	IB_EVENT_PORT_ERR,
	IB_EVENT_LID_CHANGE,
	IB_EVENT_PKEY_CHANGE,
	IB_EVENT_SM_CHANGE,
	IB_EVENT_CLIENT_REREGISTER = 17,
	IB_EVENT_GID_CHANGE,
};

union ib_gid {
	u8 raw[16];
	struct {
		__be64 subnet_prefix, interface_id;
	} global;
};

struct ib_device {
	char name[IB_DEVICE_NAME_MAX];
	char node_desc[IB_DEVICE_NODE_DESC_MAX];
	__be64 node_guid;
};

struct ib_event {
	struct ib_device *device;
	struct {
		u8 port_num;
	} element;
	enum ib_event_type event;
};

struct ib_port_attr {
	int state, max_mtu, active_mtu, gid_tbl_len;
	u32 port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	u16 pkey_tbl_len, port_cap_flags2;
	u32 sm_lid, lid;
	u8 lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width, phys_state;
	u16 active_speed;
};

struct ib_port_modify {
	u32 set_port_cap_mask, clr_port_cap_mask;
	u8 init_type;
};

struct ib_device_attr {
	u64 device_cap_flags, kernel_cap_flags;
};

#define IBK_LOCAL_DMA_LKEY 1
#define IBK_BLOCK_MULTICAST_LOOPBACK 2
#define IBK_ALLOW_USER_UNREG 4
#define IBK_UD_TSO 8

struct ib_ah {
	int unused;
};

struct ib_cq {
	int unused;
};

struct ib_qp {
	enum ib_qp_type qp_type;
	u32 qp_num;
};

struct ib_qp_cap {
	u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct ib_sge {
	u64 addr;
	u32 length, lkey;
};

enum ib_wc_status {
	IB_WC_SUCCESS,
};

struct kref {
	int refcount;
};

typedef struct {
	int refs;
} refcount_t;

struct completion {
	int done;
};

struct mutex {
	int locked;
};

struct ib_pd {
	int unused;
};

struct ib_ucontext {
	int unused;
};

struct ib_mr {
	u32 lkey, rkey;
};

struct ib_wc;
struct ib_grh;
struct ib_umem;
struct page;
struct ib_udata;
struct uverbs_attr_bundle;
struct ib_cq_init_attr;
struct ib_qp_init_attr;
struct ib_qp_attr;
struct ib_send_wr;
struct ib_recv_wr;
struct ib_device_ops;

/* The test defines these functions. */
bool ib_device_try_get(struct ib_device *dev);
void ib_device_put(struct ib_device *dev);
void ib_dispatch_event(struct ib_event *ev);
void fake_info(const struct ib_device *dev, const char *fmt, ...);
#define ibdev_info_ratelimited fake_info

/* --- MADs: IBTA 13.4, 14.2, 16.1 */

#define IB_MGMT_BASE_VERSION 1
#define IB_MGMT_CLASS_SUBN_LID_ROUTED 0x01
#define IB_MGMT_CLASS_PERF_MGMT 0x04
#define IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE 0x81
#define IB_MGMT_METHOD_GET 0x01
#define IB_MGMT_METHOD_SET 0x02
#define IB_MGMT_METHOD_TRAP 0x05
#define IB_MGMT_METHOD_TRAP_REPRESS 0x07
#define IB_MGMT_METHOD_RESP 0x80
#define IB_MGMT_METHOD_GET_RESP 0x81

struct ib_mad_hdr {
	u8 base_version, mgmt_class, class_version, method;
	__be16 status, class_specific;
	__be64 tid;
	__be16 attr_id, resv;
	__be32 attr_mod;
};

struct ib_mad {
	struct ib_mad_hdr mad_hdr;
	u8 data[232];
};
static_assert(sizeof(struct ib_mad) == 256);

#define IB_SMP_DATA_SIZE 64
#define IB_SMP_DIRECTION cpu_to_be16(0x8000)
#define IB_SMP_ATTR_NOTICE cpu_to_be16(0x0002)
#define IB_SMP_ATTR_NODE_DESC cpu_to_be16(0x0010)
#define IB_SMP_ATTR_NODE_INFO cpu_to_be16(0x0011)
#define IB_SMP_ATTR_GUID_INFO cpu_to_be16(0x0014)
#define IB_SMP_ATTR_PORT_INFO cpu_to_be16(0x0015)
#define IB_SMP_ATTR_PKEY_TABLE cpu_to_be16(0x0016)
#define IB_SMP_ATTR_SL_TO_VL_TABLE cpu_to_be16(0x0017)
#define IB_SMP_ATTR_VL_ARB_TABLE cpu_to_be16(0x0018)
#define IB_SMP_ATTR_SM_INFO cpu_to_be16(0x0020)
#define IB_NOTICE_TRAP_NODE_DESC_CHG 0x01
#define IB_NOTICE_TRAP_DR_NOTICE 0x80
#define IB_NOTICE_TRAP_DR_TRUNC 0x40

struct ib_smp {
	u8 base_version, mgmt_class, class_version, method;
	__be16 status;
	u8 hop_ptr, hop_cnt;
	__be64 tid;
	__be16 attr_id, resv;
	__be32 attr_mod;
	__be64 mkey;
	__be16 dr_slid, dr_dlid;
	u8 reserved[28];
	u8 data[IB_SMP_DATA_SIZE];
	u8 initial_path[64], return_path[64];
} __packed;
static_assert(sizeof(struct ib_smp) == 256);

struct ib_port_info {
	__be64 mkey, gid_prefix;
	__be16 lid, sm_lid;
	__be32 cap_mask;
	__be16 diag_code, mkey_lease_period;
	u8 local_port_num, link_width_enabled, link_width_supported, link_width_active;
	u8 linkspeed_portstate, portphysstate_linkdown, mkeyprot_resv_lmc, linkspeedactive_enabled;
	u8 neighbormtu_mastersmsl, vlcap_inittype, vl_high_limit, vl_arb_high_cap, vl_arb_low_cap;
	u8 inittypereply_mtucap, vlstallcnt_hoqlife, operationalvl_pei_peo_fpi_fpo;
	__be16 mkey_violations, pkey_violations, qkey_violations;
	u8 guid_cap, clientrereg_resv_subnetto, resv_resptimevalue, localphyerrors_overrunerrors;
	__be16 max_credit_hint;
	u8 resv, link_roundtrip_latency[3];
};

struct ib_node_info {
	u8 base_version, class_version, node_type, num_ports;
	__be64 sys_guid, node_guid, port_guid;
	__be16 partition_cap, device_id;
	__be32 revision;
	u8 local_port_num, vendor_id[3];
} __packed;

struct ib_class_port_info {
	u8 base_version, class_version;
	__be16 capability_mask;
	__be32 cap_mask2_resp_time;
	u8 redirect_gid[16];
	__be32 redirect_tcslfl;
	__be16 redirect_lid, redirect_pkey;
	__be32 redirect_qp, redirect_qkey;
	u8 trap_gid[16];
	__be32 trap_tcslfl;
	__be16 trap_lid, trap_pkey;
	__be32 trap_hlqp, trap_qkey;
};

#define IB_PMA_CLASS_CAP_EXT_WIDTH cpu_to_be16(1 << 9)
#define IB_PMA_CLASS_CAP_XMIT_WAIT cpu_to_be16(1 << 12)
#define IB_PMA_CLASS_PORT_INFO cpu_to_be16(0x0001)
#define IB_PMA_PORT_SAMPLES_CONTROL cpu_to_be16(0x0010)
#define IB_PMA_PORT_SAMPLES_RESULT cpu_to_be16(0x0011)
#define IB_PMA_PORT_COUNTERS cpu_to_be16(0x0012)
#define IB_PMA_PORT_COUNTERS_EXT cpu_to_be16(0x001d)

struct ib_pma_portsamplesresult {
	__be16 tag, sample_status;
	__be32 counter[15];
};

#endif
