/*
 * calls-parts: the tables of system calls as texts.
 */
#pragma once

#include "ftrace/convert.h"

extern const char *const calls_numbers[CONVERT_MACHINES];
extern const char calls_arguments[];
