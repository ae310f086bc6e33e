/*
 * text: the text sink: tables for people, one report after the other.
 *
 *   testhost/kernel  14:03:07.000 .. 14:03:08.000  31,204 events/s      the header
 *
 *   cpu   busy 54.2 %  idle 45.8 %  unknown 0.0 %                       figures of the trace
 *     CPU         BUSY    SHARE ...                                     a list
 *       0       813 ms   81.3 %  ||||||||||||| ...
 *     ... and 3 more
 *
 * Lines are as wide as the terminal, else 120 columns; cells that do not fit are left out.
 */
#pragma once

#include "output/sink.h"

extern const struct sink sink_text;
