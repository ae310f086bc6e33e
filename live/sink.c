/*
 * sink: the table of sinks, and opening and closing of outputs.
 */
#include "live/sink.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct sink *const sinks[] = { &sink_text, &sink_json, NULL };

const struct sink *sink_find(const char *name)
{
	for (size_t i = 0; sinks[i]; i++) {
		if (strcmp(sinks[i]->name, name) == 0) {
			return sinks[i];
		}
	}
	return NULL;
}

static void look_at_terminal(struct output *output)
{
	const char *no_colour = getenv("NO_COLOR");
	struct winsize size;

	output->is_terminal = isatty(fileno(output->out));
	output->has_colour = output->is_terminal && !(no_colour && *no_colour);
	output->columns = 80;
	if (output->is_terminal && ioctl(fileno(output->out), TIOCGWINSZ, &size) == 0 &&
	    size.ws_col > 0) {
		output->columns = size.ws_col;
	}
}

int output_open(struct output *output, struct err *err)
{
	output->out = output->path ? fopen(output->path, "we") : stdout;
	if (!output->out) {
		return err_raise(err, -errno, "cannot write to %s: %s", output->path,
				 strerror(errno));
	}
	look_at_terminal(output);
	return 0;
}

int output_reopen(struct output *output, struct err *err)
{
	FILE *again;

	if (!output->path) {
		return 0;
	}
	again = fopen(output->path, "ae");
	if (!again) {
		return err_raise(err, -errno, "cannot open %s again: %s", output->path,
				 strerror(errno));
	}
	(void)fclose(output->out); /* output_check() reported what could not be written */
	output->out = again;
	return 0;
}

int output_check(struct output *output, struct err *err)
{
	errno = 0;
	if (fflush(output->out) != 0 || ferror(output->out)) {
		int code = errno ? errno : EIO;

		return err_raise(err, -code, "writing to %s: %s",
				 output->path ? output->path : "standard output", strerror(code));
	}
	return 0;
}

int output_close(struct output *output, struct err *err)
{
	int r = output_check(output, err);

	if (output->path && fclose(output->out) != 0 && r == 0) {
		r = err_raise(err, -errno, "closing %s: %s", output->path, strerror(errno));
	}
	output->out = NULL;
	return r;
}

void trace_identity_fini(struct trace_identity *identity)
{
	free(identity->host);
	free(identity->session);
	free(identity->domain);
	free(identity->path);
	memset(identity, 0, sizeof(*identity));
}
