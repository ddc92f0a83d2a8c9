/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad/ep.h"

struct mad_addr mad_addr_smp_dr(void)
{
	return mad_addr_smp_lid(IB_LID_PERMISSIVE);
}

struct mad_addr mad_addr_smp_lid(uint16_t lid)
{
	return (struct mad_addr){ .qp = IB_QP0, .lid = lid, .pkey = IB_PKEY_DEFAULT };
}

struct mad_addr mad_addr_gmp(uint16_t lid, uint8_t sl)
{
	return (struct mad_addr){
		.qp = IB_QP1,
		.sl = sl,
		.lid = lid,
		.pkey = IB_PKEY_DEFAULT,
		.qpn = IB_QP1,
		.qkey = IB_QP1_QKEY,
	};
}
