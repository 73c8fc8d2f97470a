/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five names of glibc 2.38, for an older glibc. Debian's libdw.a and libelf.a are compiled against
 * a glibc that redirects the C23 forms of these functions to such names. They differ from the plain
 * ones only in reading a "0b" prefix as binary, on which elfutils does not rely. From glibc 2.38 on
 * this file must be empty, as the plain names lead back here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if !__GLIBC_PREREQ(2, 38)

long __isoc23_strtol(const char *s, char **end, int base);
unsigned long __isoc23_strtoul(const char *s, char **end, int base);
unsigned long long __isoc23_strtoull(const char *s, char **end, int base);
int __isoc23_sscanf(const char *s, const char *format, ...);
int __isoc23_fscanf(FILE *file, const char *format, ...);

long __isoc23_strtol(const char *s, char **end, int base)
{
	return strtol(s, end, base);
}

unsigned long __isoc23_strtoul(const char *s, char **end, int base)
{
	return strtoul(s, end, base);
}

unsigned long long __isoc23_strtoull(const char *s, char **end, int base)
{
	return strtoull(s, end, base);
}

int __isoc23_sscanf(const char *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsscanf(s, format, args);
	va_end(args);
	return n;
}

int __isoc23_fscanf(FILE *file, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vfscanf(file, format, args);
	va_end(args);
	return n;
}

#endif
