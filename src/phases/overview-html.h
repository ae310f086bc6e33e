/*
 * overview-html: overview.html as an array; embed.py makes it during the build.
 */
#ifndef SILLAGE_PHASES_OVERVIEW_HTML_H
#define SILLAGE_PHASES_OVERVIEW_HTML_H

extern const unsigned char overview_html[]; /* zero-terminated */

#endif
