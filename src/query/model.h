/*
 * model: labels, periods, calls and jobs of some program, as a file of text.
 *
 *     # ROS 2: callbacks, and messages from publisher to callback
 *     label  callback = ros2:rclcpp_callback_register key=$pid,callback name=symbol
 *     period callback = ros2:callback_start; ros2:callback_end;
 *                       by $tid, callback; group callback
 *
 * "tracer TEXT" says what records its events, if LTTng cannot.  Each other item is written as in
 * the options --label, --period, --call and --job.  A line that begins with a blank continues the
 * one before; # begins a comment, and the first one says what the model is of.
 */
#pragma once

#include "query/period.h"

/* Adds the items of a file; they get @name as their model.  Negative: the error names file and
 * line, and what was before it stays. */
int model_read(struct period_set *set, const char *path, const char *name, struct err *err);
/* What the first comment says; from malloc().  NULL: there is none, or no such file. */
char *model_summary(const char *path);
