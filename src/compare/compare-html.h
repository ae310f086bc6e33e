/*
 * compare-html: compare.html as an array; embed.py makes it during the build.
 */
#pragma once

extern const unsigned char compare_html[]; /* zero-terminated */
