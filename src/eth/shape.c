/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/shape.h"

#include <string.h>

#include "eth/priv.h"

const struct eth_shape_ops *eth_shape_ops(enum eth_shape shape)
{
	static const struct eth_shape_ops *const ops[] = {
		[ETH_SHAPE_ETHERNET] = &eth_shape_ether,
		[ETH_SHAPE_INFINIBAND] = &eth_shape_ib,
	};

	return ops[shape];
}

bool eth_hw_is_unset(const struct eth_if *e, const uint8_t *hw)
{
	static const uint8_t zero[ETH_HW_MAX];

	return !memcmp(hw, zero, e->shape->alen) || e->shape->to(e, hw) == ETH_TO_ALL;
}
