/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/base/reading-share.h"

static const struct reading_user *find_user(const struct reading_share *share, uid_t user)
{
	for (size_t i = 0; i < share->n_users; i++)
		if (share->users[i].user == user)
			return &share->users[i];
	return NULL;
}

size_t reading_share_allows(const struct reading_share *share, uid_t user, uint64_t n_left,
			    uint64_t now)
{
	const struct reading_user *known = find_user(share, user);

	if (share->rest_until > now)
		return 0;
	if (!known || known->rest_until <= now)
		return READING_PIECE;
	return n_left <= READING_SMALL ? READING_SMALL : 0;
}

static struct reading_user *get_user(struct reading_share *share, uid_t user)
{
	struct reading_user *found = (struct reading_user *)find_user(share, user);

	if (found)
		return found;
	if (share->n_users < READING_USERS_MAX) {
		found = &share->users[share->n_users++];
	} else {
		found = &share->users[0];
		for (size_t i = 1; i < share->n_users; i++)
			if (share->users[i].rest_until < found->rest_until)
				found = &share->users[i];
	}
	*found = (struct reading_user){ .user = user };
	return found;
}

/* After reading for `took`, no reading for `share` times that, less the saved time. */
static void rest(uint64_t *until, uint64_t took, unsigned int share, uint64_t saved_max,
		 uint64_t now)
{
	uint64_t saved = saved_max * share;
	uint64_t oldest = now > saved ? now - saved : 0;

	*until = (*until > oldest ? *until : oldest) + took * share;
}

void reading_share_use(struct reading_share *share, uid_t user, uint64_t began, uint64_t ended)
{
	uint64_t took = ended - began;

	rest(&share->rest_until, took, READING_SHARE, READING_SAVED_NS, ended);
	rest(&get_user(share, user)->rest_until, took, READING_SHARE_USER, READING_SAVED_USER_NS,
	     ended);
}
