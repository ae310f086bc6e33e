/*
 * missing: see missing.h.
 */
#include "setup/missing.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"

#define GROUP "tracing" /* lttng-sessiond's, unless it was started with another */

/* Whether root's session daemon would serve this process. */
static bool may_ask_root(void)
{
	const struct group *tracing = getgrnam(GROUP);
	int count = getgroups(0, NULL);
	gid_t *groups = mem_alloc(((size_t)(count > 0 ? count : 0) + 1) * sizeof(*groups));
	bool is_member = geteuid() == 0 || (tracing && getegid() == tracing->gr_gid);

	count = getgroups(count, groups);
	for (int i = 0; tracing && i < count; i++) {
		is_member |= groups[i] == tracing->gr_gid;
	}
	free(groups);
	return is_member;
}

void missing_kernel(struct err *err)
{
	struct utsname host = { 0 };
	/* A daemon that refuses may be gone before lttng has sent all: SIGPIPE, and no text. */
	bool is_silent = geteuid() != 0 && strstr(err->text, "exit status 141");

	(void)uname(&host);
	if (strstr(err->text, "Kernel tracer not available")) {
		(void)err_raise(err, -ENODEV,
				"kernel %s has no tracer: install the package lttng-modules-dkms, "
				"then `systemctl restart lttng-sessiond`; for a container, on its "
				"host",
				host.release);
	} else if (is_silent || strstr(err->text, "requires a root lttng-sessiond")) {
		(void)err_raise(
			err, -EPERM,
			may_ask_root()
				? "root's session daemon does not run: "
				  "`sudo systemctl start lttng-sessiond`"
				: "only root and the group " GROUP
				  " may record the kernel: use sudo, or `sudo usermod -aG " GROUP
				  " $USER` and log in again");
	}
}
