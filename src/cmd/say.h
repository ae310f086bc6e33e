/*
 * say: messages for people.
 */
#ifndef SILLAGE_CMD_SAY_H
#define SILLAGE_CMD_SAY_H

/* A line on standard error: "sillage: ...". */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
