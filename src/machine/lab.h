/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_LAB_H
#define CLI_LAB_H

/*
 * The fabric that `uipoib vm` starts if the user gives neither an instance nor a file: a switch
 * with one host and with free ports for VMs.
 *
 *	h1, uib0 10.4.0.1 --- 1 Switch1 2 --- ib0 10.4.0.100
 */

#include "conf/conf.h"

struct topo;

#define LAB_HOST "h1"
#define LAB_HOST_ADDR "10.4.0.1"
#define LAB_VM_ADDR "10.4.0.100"
#define LAB_PREFIX "/16"

/*
 * lab_make() - Make the configuration and the topology; the caller frees them by conf_free() and
 * lab_free_topo(). Return: 0 or -ENOMEM
 */
int lab_make(struct conf *ret_conf, struct topo **ret_topo);
void lab_free_topo(struct topo *t);

#endif
