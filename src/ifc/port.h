/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IFC_PORT_H
#define IFC_PORT_H

#include "ifc/ifc.h"

/*
 * ifc_port_refresh() - Read the port's attributes, and pass them to the SA client and to the
 * interfaces on the port
 */
void ifc_port_refresh(struct ifc_port *p, ns_t now);

#endif
