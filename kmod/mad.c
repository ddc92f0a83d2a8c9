// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include "uib.h"

static bool is_request(u8 method)
{
	return !(method & IB_MGMT_METHOD_RESP) && method != IB_MGMT_METHOD_TRAP_REPRESS &&
	       method != IB_MGMT_METHOD_TRAP;
}

static int process_smp(struct uib_dev *dev, int flags, struct ib_smp *smp)
{
	if (smp->method == IB_MGMT_METHOD_TRAP_REPRESS && uib_trap_repress(dev, smp))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	/*
	 * Responses, traps and SMInfo (which only an SM has) are not for the SMA. Leave these MADs
	 * to ib_core, which passes them to the agents of other programs.
	 */
	if (!is_request(smp->method) || smp->attr_id == IB_SMP_ATTR_SM_INFO)
		return IB_MAD_RESULT_SUCCESS;
	if (!uib_sma(dev, smp, flags & IB_MAD_IGNORE_MKEY))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

int uib_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	struct uib_dev *dev = to_uib(ibdev);

	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		*out = *in;
		return process_smp(dev, flags, (struct ib_smp *)out);
	case IB_MGMT_CLASS_PERF_MGMT:
		if (!is_request(in->mad_hdr.method))
			return IB_MAD_RESULT_SUCCESS;
		*out = *in;
		uib_pma(dev, out);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}
