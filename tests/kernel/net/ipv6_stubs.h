/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"
