/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FAULT_PRIV_H
#define FABRIC_FAULT_PRIV_H

#include "fabric/fault.h"

#define FAULT_TIME_MAX NS_SEC(60)

/* All fields that the kind uses are in range. */
bool fault_spec_ok(const struct fault_spec *s);

#endif
