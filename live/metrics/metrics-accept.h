/*
 * metrics-accept: which form of the figures a client prefers, by its header Accept.
 */
#pragma once

enum metrics_form { METRICS_TEXT, METRICS_OPEN, METRICS_PROTOBUF };

/* "TYPE;PARAMETER=VALUE;q=0.5,TYPE,...".  The form with the highest q, of several the first; text
 * if it names none.  @accept: NULL is fine. */
enum metrics_form metrics_accept(const char *accept);
