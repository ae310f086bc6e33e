/*
 * last: the last resort after a signal.
 *
 * Every wait hears a signal (base/now.h), and what has to be finished has STOP_LAST_NS.  A disk
 * that hangs, or a library that waits, hears nothing.  So a thread looks from then on whether the
 * process still does anything, and ends it at once if it has used no processor time for
 * LAST_IDLE_S.  A handler could not: it runs in the first thread, which may be the one that waits.
 * What it leaves is as after a power cut: states and stores are whole, unfinished captures are
 * swept.
 */
#pragma once

/* Before signals can come; again: nothing. */
void last_prepare(void);
/* From the handler of a signal, again and again: it ends the process with 128 + @number. */
void last_begin(int number);
