/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauges read from a directory used as root: valid, odd, empty and missing files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/stage/test-stream.h"
#include "perf-source/gauges/gauge-files.h"

#define SECOND NANOSECONDS_A_SECOND

static char root[] = "/tmp/stackpipe-test-XXXXXX";
static struct gauges gauges;
static struct test_stream stream;

static void in_root(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", root, command);
	assert_int_equal(system(line), 0);
}

static void put(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	in_root("mkdir -p proc/pressure proc/net sys/block/sda && : > sys/block/sda/stat");
	test_stream_init(&stream);
	return gauges_init(&gauges, root, gauge_files, n_gauge_files);
}

static int tear_down(void **state)
{
	gauges_deinit(&gauges);
	test_stream_deinit(&stream);
	in_root("rm -r proc sys");
	return rmdir(root);
}

/* The value of a gauge after a look at this time; -1: none. */
static double look(uint64_t time, const char *name)
{
	assert_int_equal(gauges_read(&gauges, time), 0);
	for (size_t i = 0; i < gauges.n_gauges; i++) {
		const struct gauge *gauge = &gauges.gauges[i];

		if (!strcmp(gauge->name.name, name) && gauge->has_value)
			return (double)gauge->value / gauge->name.divisor;
	}
	return -1;
}

static void assert_near(double value, double expected)
{
	if (value < expected - 0.011 || value > expected + 0.011)
		fail_msg("%f is not %f", value, expected);
}

static void test_counters_are_emitted_as_rates(void **state)
{
	put("/proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0\nctxt 1000\n"
			  "procs_running 3\n");
	assert_near(look(1 * SECOND, "Running"), 3);
	assert_near(look(1 * SECOND, "Context Switches"), -1);
	put("/proc/stat",
	    "cpu  150 0 125 825 0 0 0 0 0 0\ncpu0 150 0 125 825 0 0 0 0\nctxt 6000\n");
	assert_near(look(3 * SECOND, "Context Switches"), 2500);
	put("/proc/stat",
	    "cpu  200 0 150 850 0 0 0 0 0 0\ncpu0 150 0 125 925 0 0 0 0\nctxt 6000\n");
	assert_near(look(4 * SECOND, "Combined"), 75);
	put("/proc/stat", "cpu  200 0 150 950 0 0 0 0 0 0\ncpu0 175 0 125 1000 0 0 0 0\nctxt 5\n");
	assert_near(look(5 * SECOND, "Total CPU 0"), 25);
	put("/proc/stat", "cpu  200 0 150 950 0 0 0 0 0 0\nctxt 5\n");
	assert_near(look(6 * SECOND, "Combined"), -1); /* no time has passed */
	assert_near(look(6 * SECOND, "Context Switches"), -1);
}

static void test_levels(void **state)
{
	put("/proc/meminfo",
	    "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\nDirty: 7 kB\n"
	    "SwapTotal: 100 kB\nSwapFree: 90 kB\n");
	assert_near(look(SECOND, "Used"), 600 * 1024);
	assert_near(look(SECOND, "Swap"), 10 * 1024);
	put("/proc/cpuinfo",
	    "processor\t: 0\ncpu MHz\t\t: 2445.400\n\nprocessor\t: 1\ncpu MHz : x\n");
	assert_near(look(SECOND, "CPU 0"), 2445.4);
	assert_near(look(SECOND, "CPU 1"), -1);
}

static void test_devices(void **state)
{
	put("/proc/diskstats",
	    "   8  0 sda 1 0 100 0 2 0 200 0 0 0 0\n   8 1 sda1 1 0 9 0 2 0 9 0\n"
	    "   7 0 loop0 1 0 100 0 2 0 200 0\n");
	put("/proc/net/dev", "Inter-| Receive\n face |bytes\n  eth0: 1000 1 0 0 0 0 0 0 500 1 0 0\n"
			     "eth0:1:7 1 1 1 1 1 1 1 9 9\n");
	look(1 * SECOND, "");
	put("/proc/diskstats", "   8  0 sda 1 0 110 0 2 0 240 0 0 0 0\n");
	put("/proc/net/dev", "  eth0: 3000 1 0 0 0 0 0 0 1000 1 0 0\n");
	assert_near(look(3 * SECOND, "Read (sda)"), 10 * 512 / 2);
	put("/proc/diskstats", "   8  0 sda 1 0 110 0 2 0 241 0 0 0 0\n");
	put("/proc/net/dev", "  eth0: 4000 1 0 0 0 0 0 0 1700 1 0 0\n");
	assert_near(look(4 * SECOND, "TX Bytes (eth0)"), 700);
	assert_near(look(4 * SECOND, "Written (sda)"), -1); /* second look at the same time */
	assert_near(look(5 * SECOND, "Read (loop0)"), -1);
	assert_near(look(5 * SECOND, "Read (sda1)"), -1);
}

static void test_pressure(void **state)
{
	put("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
	look(1 * SECOND, "");
	put("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1250000\n"
				 "full avg10=0.00 total=5\n");
	assert_near(look(2 * SECOND, "I/O (some)"), 25);
	put("/proc/pressure/io", "some total=x\nfull avg10=0.00 total=50005\n");
	assert_near(look(3 * SECOND, "I/O (full)"), 5);
	assert_near(look(3 * SECOND, "I/O (some)"), -1);
}

/* While one file is damaged in any way, the other files keep their values. */
static void test_a_damaged_file_affects_only_its_gauges(void **state)
{
	static const struct {
		const char *path, *good, *gauge;
		double expected;
	} files[] = {
		{ "/proc/stat", "procs_running 3\n", "Running", 3 },
		{ "/proc/meminfo", "Dirty: 7 kB\n", "Dirty", 7 * 1024 },
		{ "/proc/cpuinfo", "processor : 0\ncpu MHz : 100\n", "CPU 0", 100 },
	};
	static const char *const damage[] = {
		"",
		"\n\n\n",
		"cpu\nctxt\nprocs_running\nprocs_running x\n",
		"procs_running -1\n",
		"Dirty:\n",
		"Dirty: 99999999999999999999999999 kB\n",
		"cpu MHz : nan\ncpu MHz : -5\n",
		"cpu0 1\ncpu99999999999 1 2 3 4\ncpu 1 2 x\n",
		"\x01\xff garbage \xfe without end",
	};
	enum { N = sizeof(files) / sizeof(*files) };

	for (size_t i = 0; i < N; i++)
		put(files[i].path, files[i].good);
	for (size_t damaged = 0; damaged < N; damaged++) {
		for (size_t k = 0; k < sizeof(damage) / sizeof(*damage); k++) {
			put(files[damaged].path, damage[k]);
			for (size_t i = 0; i < N; i++)
				assert_near(look(SECOND, files[i].gauge),
					    i == damaged ? -1 : files[i].expected);
		}
		in_root("rm -r proc/net; mkdir proc/net"); /* some files are always missing */
		put(files[damaged].path, files[damaged].good);
	}
	in_root("rm proc/stat && mkdir proc/stat"); /* unreadable */
	assert_near(look(SECOND, "Running"), -1);
	assert_near(look(SECOND, "Dirty"), 7 * 1024);
	in_root("rmdir proc/stat && mkfifo proc/stat"); /* a FIFO must not block */
	assert_near(look(SECOND, "Running"), -1);
}

static void test_the_number_of_gauges_is_limited(void **state)
{
	FILE *file;
	char path[256];

	snprintf(path, sizeof(path), "%s/proc/stat", root);
	file = fopen(path, "w");
	for (int i = 0; i < 2 * GAUGES_MAX; i++)
		fprintf(file, "cpu%d 1 2 3 4\n", i);
	fclose(file);
	look(SECOND, "");
	assert_int_equal(gauges.n_gauges, GAUGES_MAX);
	assert_int_equal(gauges.n_refused, GAUGES_MAX);
}

static void test_names_come_before_values_and_once(void **state)
{
	union wire_view view;

	put("/proc/stat", "procs_running 3\nprocs_blocked 1\n");
	look(1 * SECOND, "");
	look(2 * SECOND, "");
	assert_true(gauges_have(&gauges, 1 * SECOND));
	assert_int_equal(gauges_emit(&gauges, &stream.stage, 1 * SECOND), 0);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_counter);
	assert_string_equal(view.counter.name.data, "Running");
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_counter);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_counter_values);
	assert_int_equal(view.counter_values.time, 1 * SECOND);
	assert_int_equal(view.counter_values.values.n, 2);
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_int_equal(gauges_emit(&gauges, &stream.stage, 9 * SECOND), 0);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_counter_values);
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_false(gauges_have(&gauges, UINT64_MAX - 1));
}

static void test_untaken_values_have_a_limit(void **state)
{
	put("/proc/stat", "procs_running 3\n");
	for (int i = 1; i <= GAUGE_SNAPSHOTS_MAX + 5; i++)
		look(i * SECOND, "");
	assert_int_equal(gauges.n_snapshots, GAUGE_SNAPSHOTS_MAX);
	assert_int_equal(gauges.n_dropped, 5);
	assert_int_equal(gauges.oldest, 6 * SECOND);
}

static void test_the_thread_runs_until_stopped(void **state)
{
	put("/proc/stat", "procs_running 3\n");
	assert_int_equal(gauges_start(&gauges, 1000000), 0);
	while (!gauges_have(&gauges, UINT64_MAX - 1))
		usleep(100);
	gauges_stop(&gauges);
	assert_int_equal(gauges_emit(&gauges, &stream.stage, UINT64_MAX - 1), 0);
	gauges_stop(&gauges);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_counters_are_emitted_as_rates),
		TEST(test_levels),
		TEST(test_devices),
		TEST(test_pressure),
		TEST(test_a_damaged_file_affects_only_its_gauges),
		TEST(test_the_number_of_gauges_is_limited),
		TEST(test_names_come_before_values_and_once),
		TEST(test_untaken_values_have_a_limit),
		TEST(test_the_thread_runs_until_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
