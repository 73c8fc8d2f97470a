/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front-end's commands. Each parses its own arguments and returns an exit status. */
#pragma once

int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_heap(int argc, char **argv);
int command_top(int argc, char **argv);
int command_doctor(int argc, char **argv);
