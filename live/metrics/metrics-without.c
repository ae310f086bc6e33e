/*
 * metrics-without: a build without protobuf-c serves text alone.
 */
#include <stdlib.h>

#include "live/metrics/metrics.h"

bool metrics_has_protobuf(void)
{
	return false;
}

char *metrics_protobuf(const struct metrics *metrics, size_t *ret_len)
{
	return metrics_text(metrics, false, ret_len); /* nobody gets here */
}
