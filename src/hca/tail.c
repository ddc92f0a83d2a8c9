/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include "crc/crc.h"

/*
 * With HCA_CRC_ICRC no VCRC is computed, because the ICRC, which the receiver checks, reveals any
 * damage on a link inside this process. TCP and UDP checksums must be complete here, because an
 * ICRC over a partial checksum would be wrong once the checksum is completed.
 */
void hca_tail_seal(struct pkt *p, enum hca_crc crc)
{
	if (pkt_is_train(p) && crc != HCA_CRC_LAZY) {
		train_seal(p, crc == HCA_CRC_FULL);
		return;
	}
	switch (crc) {
	case HCA_CRC_FULL:
		crc_pkt_seal(p);
		break;
	case HCA_CRC_ICRC:
		crc_pkt_seal_icrc(p);
		break;
	case HCA_CRC_LAZY:
		crc_pkt_pad(p);
		break;
	}
}

static enum crc_verdict verdict(const struct pkt *p)
{
	if (pkt_is_train(p))
		return train_check(p);
	return p->flags & PKT_CRC ? crc_pkt_check(p) : crc_pkt_check_icrc(p);
}

enum hca_drop hca_tail_check(const struct pkt *p)
{
	switch (verdict(p)) {
	case CRC_OK:
		return HCA_OK;
	case CRC_BAD_VCRC:
		return HCA_DROP_VCRC;
	case CRC_BAD_ICRC:
		return HCA_DROP_ICRC;
	case CRC_BAD_LEN:
		break;
	}
	return HCA_DROP_LEN;
}
