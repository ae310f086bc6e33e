/*
 * compare-html: compare.html as an array; embed.py makes it during the build.
 */
#ifndef SILLAGE_COMPARE_COMPARE_HTML_H
#define SILLAGE_COMPARE_COMPARE_HTML_H

extern const unsigned char compare_html[]; /* zero-terminated */

#endif
