/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_RMPP_H
#define WIRE_RMPP_H

/*
 * Management classes with an RMPP header, and the number of octets before their data (IBTA 13.6,
 * 16)
 */

#include <stdbool.h>
#include <stddef.h>

#include "wire/sa.h"

#define RMPP_HDR_MAX 64 /* largest number of octets of headers that each segment repeats */

static inline bool mad_class_has_oui(uint8_t mgmt_class)
{
	return mgmt_class >= MAD_CLASS_VENDOR2_MIN && mgmt_class <= MAD_CLASS_VENDOR2_MAX;
}

/*
 * rmpp_hdr_len() - Return the number of octets of headers that each segment of a class repeats; 0:
 * the class does not use RMPP
 */
static inline size_t rmpp_hdr_len(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case MAD_CLASS_SA:
		return SA_DATA_OFF;
	case MAD_CLASS_DEVICE:
	case MAD_CLASS_DEVICE_ADM:
	case MAD_CLASS_BIS:
		return RMPP_HDR_MAX;
	default:
		return mad_class_has_oui(mgmt_class) ? SA_HDR_OFF + 4 : 0;
	}
}

#endif
