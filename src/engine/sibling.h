/*
 * sibling: which stream it is of which no packet can be read, by its name.
 *
 * LTTng calls the streams of a channel CHANNEL_0, CHANNEL_1 and so on, by their CPUs.  A name says
 * that only where another stream shows that it does.
 */
#pragma once

struct stream;

/* Of a recorded stream that is not identified and has lost packets: it goes on with the one of its
 * name that a run before had (--state); or it is identified if a sibling is known, a stream of
 * another CPU whose name ends with the number of that.  Then it begins where the first of these
 * does. */
void sibling_identify(struct stream *stream);
