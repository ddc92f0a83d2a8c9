/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_IID_H
#define IPOIB_IID_H

/* IPv6 interface identifiers, RFC 4391 §8. All octets are in network order. */

#include <stddef.h>
#include <stdint.h>

/**
 * ipoib_iid_from_guid() - Write the interface identifier that is made of a port GUID
 *
 * RFC 4391 does not say how to recognize a GUID that is a modified EUI-64 already. If the u bit (0x02 of the first
 * octet) of the GUID is set, this function treats the GUID as modified and does not change it. Otherwise this
 * function sets the bit.
 */
void ipoib_iid_from_guid(uint8_t ret[8], uint64_t guid);

/*
 * ipoib_iid_complement() - Write the interface identifier that is a port GUID with the u bit
 * complemented (draft-pelissier-ipoib-encaparp-00 §4)
 */
void ipoib_iid_complement(uint8_t ret[8], uint64_t guid);

/*
 * ipoib_iid_from_lid() - Write the identifier 0000:00ff:fe00:LID, which is for IP subnets within
 * one IB subnet and changes with the LID
 */
void ipoib_iid_from_lid(uint8_t ret[8], uint16_t lid);

/*
 * Stable opaque identifiers, RFC 7217, which RFC 8064 recommends. The kernel computes an identifier
 * for each prefix. Its inputs are the prefix, the number of collisions that duplicate address
 * detection found, and a secret that uipoib gives to the kernel. RFC 7217 has further inputs: the
 * interface, its link, and a secret of the administrator or of the machine. uipoib computes the
 * secret for the kernel from these further inputs.
 */
#define IPOIB_STABLE_SECRET 16 /* octets, the least that RFC 7217 section 5 recommends */

/**
 * ipoib_stable_secret() - Make the secret that uipoib gives to the kernel for an interface
 * @secret:	secret of the administrator or the machine
 * @guid:	port GUID
 * @pkey:	P_Key of the link, whose membership bit is ignored
 * @name:	name of the interface and its host, because several interfaces can use the same port and P_Key
 */
void ipoib_stable_secret(uint8_t ret[IPOIB_STABLE_SECRET],
			 const uint8_t secret[IPOIB_STABLE_SECRET], uint64_t guid, uint16_t pkey,
			 const char *name);

/*
 * ipoib_machine_secret() - Make the secret of a machine from @machine, the @len octets of the
 * machine's identifier. The identifier cannot be computed from the secret
 */
void ipoib_machine_secret(uint8_t ret[IPOIB_STABLE_SECRET], const void *machine, size_t len);

/*
 * ipoib_linklocal() - Write the address of fe80::/64 with the interface identifier @iid, RFC 4391
 * §8.1
 */
void ipoib_linklocal(uint8_t ret[16], const uint8_t iid[8]);

#endif
