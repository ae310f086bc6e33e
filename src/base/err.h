/*
 * err: the message of one failure, in a buffer that the caller owns.
 *
 * A function that can fail on bad input takes a `struct err *` last.  It returns a negative errno
 * and leaves a message that makes sense on its own.  Callers add what they were doing with
 * err_note(); only the commands print.  Nothing here allocates, so running out of memory can be
 * reported too.  Long messages are cut.
 */
#pragma once

struct err {
	char text[512];
};

/* Sets the message.  Returns @code, which must be negative. */
int err_raise(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "what the caller was doing: " in front of the message.  Returns @code. */
int err_note(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
