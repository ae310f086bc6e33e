/*
 * err: one message about one failure, in a buffer the caller owns.
 *
 * A function that can fail on bad input takes a `struct err *` last, returns a
 * negative errno and leaves a message that makes sense alone.  Callers add what
 * they were doing with err_note() on the way up; only the commands print.
 * Nothing here allocates, so running out of memory can be reported too.
 */
#ifndef SILLAGE_BASE_ERR_H
#define SILLAGE_BASE_ERR_H

struct err {
	char text[512];
};

/* Sets the message and returns @code, which must be negative. */
int err_raise(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "what we were doing: " in front of the message and returns @code. */
int err_note(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
