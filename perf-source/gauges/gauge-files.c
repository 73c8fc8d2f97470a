/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "perf-source/gauges/gauge-files.h"

enum { HUNDREDTHS = 100, SECTOR_BYTES = 512, NUMBERS_MAX = 20 };

/* Parses decimal numbers separated by blanks; returns how many precede anything else. */
static size_t parse_numbers(const char *text, uint64_t *ret, size_t n_max)
{
	size_t n = 0;
	char *end;

	while (n < n_max) {
		while (*text == ' ' || *text == '\t')
			text++;
		if (!isdigit((unsigned char)*text))
			break;
		errno = 0;
		ret[n] = strtoull(text, &end, 10);
		if (errno || (*end && !isspace((unsigned char)*end)))
			break;
		text = end;
		n++;
	}
	return n;
}

static void set(struct gauge *gauge, uint64_t value)
{
	if (!gauge)
		return;
	gauge->value = value;
	gauge->has_value = true;
}

/*
 * Sets by how much a growing total has grown per `unit` nanoseconds. The first reading gives no
 * value, nor does a total that shrinks, which was reset.
 */
static void set_rate(struct gauge *gauge, uint64_t total, uint64_t time, uint64_t unit)
{
	if (!gauge)
		return;
	if (gauge->total_at && total >= gauge->total && time > gauge->total_at)
		set(gauge, (double)(total - gauge->total) * unit / (time - gauge->total_at) + 0.5);
	gauge->total = total;
	gauge->total_at = time;
}

static struct gauge *find(struct gauges *gauges, uint32_t divisor, const char *category,
			  const char *description, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
static struct gauge *find(struct gauges *gauges, uint32_t divisor, const char *category,
			  const char *description, const char *format, ...)
{
	struct gauge_name name = { .divisor = divisor };
	va_list arguments;

	snprintf(name.category, sizeof(name.category), "%s", category);
	snprintf(name.description, sizeof(name.description), "%s", description);
	va_start(arguments, format);
	vsnprintf(name.name, sizeof(name.name), format, arguments);
	va_end(arguments);
	return gauges_find(gauges, &name);
}

/*
 * "cpu0 user nice system idle iowait irq softirq steal …" in ticks: the share that was not idle.
 * user and nice include guest and guest_nice.
 */
static void parse_cpu(struct gauges *gauges, const char *line)
{
	enum { IDLE = 3, IOWAIT = 4, LEAST = 4, COUNTED = 8 };
	bool is_all = line[3] == ' ';
	uint64_t ticks[NUMBERS_MAX], all = 0, idle;
	char *behind = (char *)line + 3;
	unsigned long cpu = is_all ? 0 : strtoul(behind, &behind, 10);
	size_t n = *behind == ' ' ? parse_numbers(behind, ticks, NUMBERS_MAX) : 0;
	struct gauge *gauge;

	if (n < LEAST)
		return;
	for (size_t i = 0; i < n && i < COUNTED; i++)
		all += ticks[i];
	idle = ticks[IDLE] + (n > IOWAIT ? ticks[IOWAIT] : 0);
	gauge = is_all ? find(gauges, HUNDREDTHS, "CPU Percent", "Combined CPU usage", "Combined")
		       : find(gauges, HUNDREDTHS, "CPU Percent", "CPU usage", "Total CPU %lu", cpu);
	if (!gauge)
		return;
	/* Here total_at holds the ticks of all kinds instead of a time. */
	if (gauge->total_at && all > gauge->total_at && all - idle >= gauge->total)
		set(gauge,
		    (all - idle - gauge->total) * 100 * HUNDREDTHS / (all - gauge->total_at));
	gauge->total = all - idle;
	gauge->total_at = all;
}

static bool begins(const char *line, const char *prefix)
{
	return !strncmp(line, prefix, strlen(prefix));
}

static void parse_stat(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	uint64_t number;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (begins(line, "cpu"))
			parse_cpu(gauges, line);
		else if (begins(line, "ctxt ") && parse_numbers(line + 5, &number, 1))
			set_rate(find(gauges, 1, "Scheduler", "Context switches per second",
				      "Context Switches"),
				 number, time, NANOSECONDS_A_SECOND);
		else if (begins(line, "processes ") && parse_numbers(line + 10, &number, 1))
			set_rate(find(gauges, 1, "Scheduler", "Forks and clones per second",
				      "Forks"),
				 number, time, NANOSECONDS_A_SECOND);
		else if (begins(line, "procs_running ") && parse_numbers(line + 14, &number, 1))
			set(find(gauges, 1, "Scheduler", "Running and runnable threads", "Running"),
			    number);
		else if (begins(line, "procs_blocked ") && parse_numbers(line + 14, &number, 1))
			set(find(gauges, 1, "Scheduler", "Threads blocked on disk I/O", "Blocked"),
			    number);
	}
}

/* Finds a line "NAME: 123 kB"; its value in bytes. */
static bool find_kib(const char *text, const char *name, uint64_t *ret)
{
	const char *line = text;
	size_t size = strlen(name);

	while (line && (strncmp(line, name, size) || line[size] != ':')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line || !parse_numbers(line + size + 1, ret, 1))
		return false;
	*ret *= 1024;
	return true;
}

static void parse_meminfo(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	uint64_t total, left;

	if (find_kib(text, "MemTotal", &total) && find_kib(text, "MemAvailable", &left) &&
	    left <= total)
		set(find(gauges, 1, "Memory", "Bytes not available to programs", "Used"),
		    total - left);
	if (find_kib(text, "SwapTotal", &total) && find_kib(text, "SwapFree", &left) && total &&
	    left <= total)
		set(find(gauges, 1, "Memory", "Bytes of swap in use", "Swap"), total - left);
	if (find_kib(text, "Dirty", &left))
		set(find(gauges, 1, "Memory", "Bytes waiting to be written back", "Dirty"), left);
}

/* diskstats also lists partitions, which their disks include, and devices that are no disks. */
static bool is_disk(const struct gauges *gauges, const char *name)
{
	char path[256];
	FILE *file;

	if (begins(name, "loop") || begins(name, "ram") || begins(name, "zram") ||
	    strchr(name, '/'))
		return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s/stat", gauges->root, name);
	file = fopen(path, "re");
	if (file)
		fclose(file);
	return file;
}

/* "major minor name reads merged sectors ms writes merged sectors …" */
static void parse_diskstats(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	enum { READ = 2, WRITTEN = 6, LEAST = 7 };
	char *line;

	while ((line = strsep(&text, "\n"))) {
		uint64_t numbers[NUMBERS_MAX];
		char name[24];
		int at = 0;

		if (sscanf(line, " %*u %*u %23s%n", name, &at) != 1 ||
		    parse_numbers(line + at, numbers, NUMBERS_MAX) < LEAST ||
		    !is_disk(gauges, name))
			continue;
		set_rate(find(gauges, 1, "Disk", "Bytes read per second", "Read (%s)", name),
			 numbers[READ] * SECTOR_BYTES, time, NANOSECONDS_A_SECOND);
		set_rate(find(gauges, 1, "Disk", "Bytes written per second", "Written (%s)", name),
			 numbers[WRITTEN] * SECTOR_BYTES, time, NANOSECONDS_A_SECOND);
	}
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes …" */
static void parse_net(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	enum { RECEIVED = 0, SENT = 8, LEAST = 9 };
	char *line;

	while ((line = strsep(&text, "\n"))) {
		uint64_t numbers[NUMBERS_MAX];
		char *colon = strrchr(line, ':'); /* the last: an alias has one in its name */
		char *name = line + strspn(line, " ");

		if (!colon || colon - name > 16 || colon == name ||
		    parse_numbers(colon + 1, numbers, NUMBERS_MAX) < LEAST)
			continue;
		*colon = 0;
		set_rate(find(gauges, 1, "Network", "Bytes received per second", "RX Bytes (%s)",
			      name),
			 numbers[RECEIVED], time, NANOSECONDS_A_SECOND);
		set_rate(find(gauges, 1, "Network", "Bytes sent per second", "TX Bytes (%s)", name),
			 numbers[SENT], time, NANOSECONDS_A_SECOND);
	}
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": total is microseconds of stalls. */
static void parse_pressure(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		const char *total = strstr(line, " total=");
		bool is_some = begins(line, "some "), is_full = begins(line, "full ");
		uint64_t stalled;

		if (!total || (!is_some && !is_full) ||
		    !parse_numbers(total + strlen(" total="), &stalled, 1))
			continue;
		set_rate(find(gauges, HUNDREDTHS, "Pressure",
			      is_some ? "Percentage of time in which some threads stalled"
				      : "Percentage of time in which all threads stalled",
			      "%s (%s)", what, is_some ? "some" : "full"),
			 stalled, time, 100 * HUNDREDTHS * NANOSECONDS_A_MICROSECOND);
	}
}

/* "processor	: 0", "cpu MHz		: 2445.400" */
static void parse_cpuinfo(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	unsigned long cpu = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		const char *colon = strchr(line, ':');
		double mhz;

		if (!colon)
			continue;
		if (begins(line, "processor"))
			cpu = strtoul(colon + 1, NULL, 10);
		else if (begins(line, "cpu MHz") && (mhz = strtod(colon + 1, NULL)) > 0 &&
			 mhz < 1e6)
			set(find(gauges, HUNDREDTHS, "CPU Frequency", "MHz", "CPU %lu", cpu),
			    mhz * HUNDREDTHS);
	}
}

/* "123 (name) S …": fields 14 and 15 are the ticks that this process has used (proc(5)). */
static void parse_own_stat(struct gauges *gauges, char *text, uint64_t time, const char *what)
{
	enum { SKIPPED = 12 }; /* fields between the name and utime */
	char *at = strrchr(text, ')');
	uint64_t ticks[2];

	for (int i = 0; at && i < SKIPPED; i++)
		at = strchr(at + 1, ' ');
	if (at && parse_numbers(at, ticks, 2) == 2)
		set_rate(find(gauges, HUNDREDTHS, "Recorder",
			      "CPU time of perf-source, percent of one CPU", "perf-source"),
			 (ticks[0] + ticks[1]) * 100 * HUNDREDTHS / sysconf(_SC_CLK_TCK), time,
			 NANOSECONDS_A_SECOND);
}

const struct gauge_file gauge_files[] = {
	{ "/proc/stat", parse_stat },
	{ "/proc/meminfo", parse_meminfo },
	{ "/proc/diskstats", parse_diskstats },
	{ "/proc/net/dev", parse_net },
	{ "/proc/pressure/cpu", parse_pressure, "CPU" },
	{ "/proc/pressure/memory", parse_pressure, "Memory" },
	{ "/proc/pressure/io", parse_pressure, "I/O" },
	{ "/proc/cpuinfo", parse_cpuinfo },
	{ "/proc/self/stat", parse_own_stat },
};

const size_t n_gauge_files = sizeof(gauge_files) / sizeof(*gauge_files);
