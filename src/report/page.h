/* The report as one HTML page that needs nothing else: data, style and script are inside, and it may load nothing. */
#ifndef TT_REPORT_PAGE_H
#define TT_REPORT_PAGE_H

#include "report/runlog.h"

#include <stdio.h>

/** Write the page of n runs; x is "step", "tokens" or "time": the axis shown first. Curves of more than 2,000 points are
 *  thinned. */
void tt_page_write(const tt_runlog *runs, int n, const char *x, FILE *out);

#endif
