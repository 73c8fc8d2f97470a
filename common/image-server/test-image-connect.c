/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Only a server that proves the key is accepted, and connecting never waits for long. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/image-server/image-connect.h"
#include "common/image-server/test-image-listener.h"

enum { NOBODY = 65534 };

/* RFC 4231, cases 1, 2 and 4. */
static void test_the_mac_matches_rfc_4231(void **state)
{
	static const struct {
		const char *key, *data;
		size_t key_size, size;
		uint8_t begin[4];
	} cases[] = {
		{ "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
		  "Hi There",
		  20,
		  8,
		  { 0xb0, 0x34, 0x4c, 0x61 } },
		{ "Jefe", "what do ya want for nothing?", 4, 28, { 0x5b, 0xdc, 0xc1, 0x46 } },
		{ "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31",
		  "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd"
		  "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd"
		  "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd",
		  25,
		  50,
		  { 0x82, 0x55, 0x8a, 0x38 } },
	};
	uint8_t mac[HMAC_SHA256_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hmac_sha256(cases[i].key, cases[i].key_size, cases[i].data, cases[i].size, mac);
		assert_memory_equal(mac, cases[i].begin, sizeof(cases[i].begin));
	}
}

/* Another key, nonce or role, or one flipped bit of the MAC. */
static void test_a_proof_holds_for_one_connection_and_role(void **state)
{
	const struct image_key key = { 11, 22 }, other = { 22, 11 };
	struct image_nonces nonces, turned, changed;
	uint8_t mac[HMAC_SHA256_SIZE];
	const struct wire_blob blob = { mac, sizeof(mac) }, cut = { mac, sizeof(mac) - 1 };

	assert_true(image_nonce_make(&nonces.client) && image_nonce_make(&nonces.server));
	turned = (struct image_nonces){ nonces.server, nonces.client };
	changed = nonces;
	changed.server.size--;
	image_proof_make(&key, &nonces, IMAGE_ROLE_CLIENT, mac);
	assert_true(image_proof_holds(&key, &nonces, IMAGE_ROLE_CLIENT, &blob));
	assert_false(image_proof_holds(&key, &nonces, IMAGE_ROLE_SERVER, &blob));
	assert_false(image_proof_holds(&other, &nonces, IMAGE_ROLE_CLIENT, &blob));
	assert_false(image_proof_holds(&key, &turned, IMAGE_ROLE_CLIENT, &blob));
	assert_false(image_proof_holds(&key, &changed, IMAGE_ROLE_CLIENT, &blob));
	assert_false(image_proof_holds(&key, &nonces, IMAGE_ROLE_CLIENT, &cut));
	mac[31] ^= 1;
	assert_false(image_proof_holds(&key, &nonces, IMAGE_ROLE_CLIENT, &blob));
}

static int connect_to(struct test_door *door)
{
	int fd;

	test_door_begin(door);
	fd = image_connect(&door->hello);
	test_door_end(door);
	return fd;
}

static void test_the_server_is_connected_to(void **state)
{
	struct test_door door;
	int fd;

	test_door_open(&door, 1);
	fd = connect_to(&door);
	assert_true(fd >= 0);
	assert_true(door.fd >= 0); /* it has received our proof */
	close(fd);
	test_door_close(&door);
}

static void test_a_server_without_the_key_is_rejected(void **state)
{
	struct test_door door;

	test_door_open(&door, 1);
	door.key.low ^= 1;
	assert_int_equal(connect_to(&door), -EPERM);
	assert_int_equal(door.fd, -1); /* received no proof */
	door.key.low ^= 1;
	door.role = IMAGE_ROLE_CLIENT; /* a client's proof is not a server's */
	assert_int_equal(connect_to(&door), -EPERM);
	test_door_close(&door);
}

static void test_connecting_without_listener_fails_at_once(void **state)
{
	struct wire_hello hello = { 0 };

	assert_int_equal(image_connect(&hello), -ECONNREFUSED);
	snprintf(hello.image_server, sizeof(hello.image_server), "stackpipe-nobody-listens");
	assert_int_equal(image_connect(&hello), -ECONNREFUSED);
	memset(hello.image_server, 'x', sizeof(hello.image_server) - 1);
	assert_int_equal(image_connect(&hello), -ECONNREFUSED);
}

/* Connecting times out soon if the backlog is full or the listener stays silent. */
static void test_a_silent_server_times_out(void **state)
{
	struct test_door door, others;
	struct wire_hello hello;

	test_door_open(&door, 0);
	assert_int_equal(image_connect(&door.hello), -ETIMEDOUT); /* fills its backlog */
	assert_int_equal(image_connect(&door.hello), -ETIMEDOUT);
	test_door_open(&others, 1);
	hello = others.hello;
	test_door_close(&others);
	assert_int_equal(image_connect(&hello), -ECONNREFUSED);
	test_door_close(&door);
}

/* Another user owns the address and has the key, from a readable stream. */
static void test_a_server_of_another_user_is_rejected(void **state)
{
	struct test_door door = { 0 };
	int ends[2], fd;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgroups(0, NULL) < 0 || setuid(NOBODY) < 0)
			_exit(1);
		test_door_open(&door, 1);
		if (write(ends[1], &door.hello, sizeof(door.hello)) < 0)
			_exit(1);
		test_door_let_in(&door);
		_exit(door.fd < 0 ? 0 : 2);
	}
	assert_int_equal(read(ends[0], &door.hello, sizeof(door.hello)), sizeof(door.hello));
	fd = image_connect(&door.hello);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(fd, -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_mac_matches_rfc_4231),
		cmocka_unit_test(test_a_proof_holds_for_one_connection_and_role),
		cmocka_unit_test(test_the_server_is_connected_to),
		cmocka_unit_test(test_a_server_without_the_key_is_rejected),
		cmocka_unit_test(test_connecting_without_listener_fails_at_once),
		cmocka_unit_test(test_a_silent_server_times_out),
		cmocka_unit_test(test_a_server_of_another_user_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
