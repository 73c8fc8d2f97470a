/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cap-ng.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/base/capabilities.h"

static bool is_kept(const int *kept, size_t n, int capability)
{
	for (size_t i = 0; i < n; i++)
		if (kept[i] == capability)
			return true;
	return false;
}

bool capabilities_keep(const int *kept, size_t n)
{
	bool has[CAP_LAST_CAP + 1];

	if (capng_get_caps_process() < 0)
		return false;
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		has[i] = is_kept(kept, n, i) && capng_have_capability(CAPNG_PERMITTED, i);
	capng_clear(CAPNG_SELECT_ALL);
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (has[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, i);
	/* Without privileges the bounding set cannot change, and has nothing to bound. */
	if (capng_apply(CAPNG_SELECT_ALL) < 0 && capng_apply(CAPNG_SELECT_CAPS) < 0)
		return false;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    capng_get_caps_process() < 0)
		return false;
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (!has[i] && capng_have_capability(CAPNG_PERMITTED, i))
			return false;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool capabilities_have(int capability)
{
	return capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, capability);
}
