/*
 * overview-html: overview.html as an array; embed.py makes it during the build.
 */
#pragma once

extern const unsigned char overview_html[]; /* zero-terminated */
