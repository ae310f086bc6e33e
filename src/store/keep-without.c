/*
 * keep-without: there is no server in this build; see keep.h.
 */
#include <errno.h>

#include "store/keep-state.h"

int keep_pass_server(const struct keep_pass *pass, struct err *err)
{
	return err_raise(err, -ENOTSUP, "%s: this build has no ClickHouse", pass->url);
}
