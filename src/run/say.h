/*
 * say: messages for people, on standard error.
 */
#pragma once

/* Prints "sillage: ..." and a newline, as plain_message() leaves it; under systemd the line has a
 * log level. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The last line that was said, without "sillage: "; "": none was. */
#define SAY_BYTES 1024
void say_last(char line[SAY_BYTES]);

/* Has say() give its lines to @show instead, without "sillage: ".  NULL: as before. */
void say_to(void (*show)(const char *line));
