/*
 * live: attaches to relays and prints rolling statistics.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/account.h"
#include "base/limits.h"
#include "base/now.h"
#include "base/process/machine.h"
#include "base/process/service.h"
#include "baseline/baseline.h"
#include "capture/captures.h"
#include "cmd/live.h"
#include "engine/exchange/checkpoint-file.h"
#include "history/retained-file.h"
#include "live/loop.h"
#include "run/asked.h"
#include "run/check-names.h"
#include "run/joined.h"
#include "run/run.h"
#include "run/say.h"
#include "run/storing.h"
#include "server/address.h"
#include "store/store.h"
#include "trigger/actions.h"

#define STATE_LOCK_US 200000 /* between attempts to lock the state file */

/* Until the end.  @output is open. */
static void run_loop(const struct options *options, struct loop_config *config,
		     const struct live_screen *screen, struct run_summary *summary)
{
	struct err err;

	if (screen && screen->open(&err) < 0) {
		say("%s", err.text);
		summary->exit = EXIT_FAILED;
		return;
	}
	if (loop_run(config, summary, &err) < 0) {
		summary->exit = EXIT_FAILED;
	}
	if (screen) {
		screen->close();
	}
	if (summary->exit != EXIT_DONE) {
		summary->exit = run_failed(config->output, &err);
	}
	if (storing_close(options, config->output) < 0) { /* before a state has them */
		summary->exit = EXIT_FAILED;
	}
	if (config->checkpoint_file && checkpoint_file_save(config->checkpoint_file, &err) < 0) {
		say("%s", err.text);
		summary->exit = EXIT_FAILED;
	}
	summary->exit = run_gate(options, config->actions, summary->exit);
}

static void ask_store(void *store, struct loop_store_windows *ret)
{
	const struct store_account account = store_account(store);

	assert(store);
	*ret = (struct loop_store_windows){ .closed = account.closed,
					    .stored = account.stored,
					    .spooled = account.spooled,
					    .lost = account.lost,
					    .given = account.given,
					    .settled = account.settled };
}

static int follow(const struct options *options, struct loop_config *config,
		  const struct live_screen *screen)
{
	struct output own = run_output_of(options);
	struct output *output = screen ? screen->output : &own;
	struct run_summary summary = { 0 };
	uint64_t begin = now_monotonic_ns();
	struct baseline *baseline = NULL;
	struct output also;
	struct err err;
	int r;

	if (output_open(output, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	config->output = output;
	config->engine.top = output->top;
	config->on_input = screen ? screen->on_input : NULL;
	config->input_user = screen ? screen->user : NULL;
	r = storing_open(options, false, &config->engine, output, &also, &err);
	if (r == 0) {
		r = baseline_open(options, config->actions, NULL, say, &baseline, &err);
		if (r < 0) {
			(void)storing_close(options, output);
		}
	}
	if (r < 0) {
		say("%s", err.text);
		(void)output_close(output, &(struct err){ 0 });
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	if (config->metrics || config->wants_phases) {
		run_list_containers(output, &config->engine);
	}
	config->on_store = ask_store;
	config->store = storing_in(output);
	run_loop(options, config, screen, &summary);
	(void)baseline_close(baseline);
	summary.wall_ns = now_monotonic_ns() - begin;
	output_end(output, &summary);
	if (output_close(output, &err) < 0 && summary.exit == EXIT_DONE) {
		summary.exit = run_failed(output, &err);
	}
	if (options->stats) {
		config->engine.stats->turn_ns = summary.turn_ns;
		stats_print(config->engine.stats, summary.events, summary.packets, summary.bytes,
			    summary.wall_ns, say);
	}
	return summary.exit;
}

/* Fleets differ: what a process may have by default grows with the machine. */
static uint64_t memory_of(const struct options *options)
{
	uint64_t part = machine_memory("") / LIVE_MEMORY_PART;

	return options->has_max_memory || part < options->max_memory ? options->max_memory : part;
}

/* One number is the bound of all.  By default half of it is the most that packets may have which
 * are kept for captures; more than three quarters leave too little for what brings them. */
static int share_memory(const struct options *options, struct account *account, struct err *err)
{
	uint64_t most = memory_of(options), history = most / 2;

	if (options->history_bytes > 0 && !options->history_dir) {
		history = options->history_bytes;
		if (history > most / 4 * 3 && options->has_max_memory) {
			return err_raise(err, -EINVAL,
					 "--history is more than three quarters of --max-memory, "
					 "which is the bound of both; --history-dir keeps packets "
					 "on disk");
		}
		most = history > most / 4 * 3 ? (history / 3 + 1) * 4 : most;
	}
	account_init(account, most, history, true);
	return 0;
}

/* Opens the packet file of --history-dir, if it is given.  Without a size it may take half of the
 * free space there. */
static int make_store(const struct options *options, struct loop_config *config,
		      uint64_t *history_bytes, struct err *err)
{
	const uint64_t least = (uint64_t)16 << 20, most = (uint64_t)1 << 30;
	uint64_t segment_bytes;
	struct statvfs fs;

	if (!options->history_dir) {
		return 0;
	}
	if (options->history_bytes == 0 && statvfs(options->history_dir, &fs) == 0) {
		*history_bytes = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
	}
	segment_bytes = *history_bytes / 64;
	segment_bytes = segment_bytes < least ? least : segment_bytes > most ? most : segment_bytes;
	config->engine.store = retained_file_new(options->history_dir, segment_bytes, err);
	return config->engine.store ? 0 : -EINVAL;
}

/* What the run measures (run/asked.h). */
struct asked_texts {
	char *text, *json;
};

/* Sets up captures, if it is said where their packets come from: --history, or --before alone. */
static int make_captures(const struct options *options, const struct live_screen *screen,
			 const struct asked_texts *asked, struct loop_config *config,
			 struct err *err)
{
	struct captures_config captures = {
		.dir = options->capture_dir,
		.account = config->engine.account,
		.history_ns = options->history_ns,
		.history_bytes = options->history_bytes ? options->history_bytes : UINT64_MAX,
		.before_ns = options->before_ns,
		.after_ns = options->after_ns,
		.keep_count = options->keep_count,
		.keep_bytes = options->keep_bytes,
		.per_hour = options->per_hour,
		.asked = asked->text,
		.measured = asked->json,
		.has_spans = options->periods.all.count + options->periods.jobs.count > 0,
		.say = say,
	};

	if (!options->has_history && !options->has_before) {
		if (config->actions && actions_captures(config->actions) && !options->dry_run) {
			return err_raise(
				err, -EINVAL,
				"a trigger captures, which needs --history (how much to keep) or "
				"--before (how much to get from the relay)");
		}
		return 0;
	}
	config->recalls = !options->has_history;
	if (config->recalls) {
		captures.history_ns = UINT64_MAX;
	} else if (captures.before_ns > captures.history_ns) {
		if (options->has_before) {
			return err_raise(err, -EINVAL,
					 "--before is longer than --history; without --history it "
					 "is fetched from the relay");
		}
		captures.before_ns = captures.history_ns;
	}
	if (options->dry_run) {
		return 0;
	}
	if (make_store(options, config, &captures.history_bytes, err) < 0) {
		return -EINVAL;
	}
	if (screen && screen->dir) {
		captures.dir = screen->dir;
		captures.before_ns = captures.history_ns;
		captures.after_ns = 0;
		captures.on_written = screen->on_written;
		config->on_captured = screen->on_captured;
	}
	config->captures = captures_new(&captures);
	config->control = options->control;
	return 0;
}

/*
 * Stand-by: while another process has the state file, waits until that has ended; a signal ends
 * this one.  Then the file is what the other left.  *ret_lock stays -1 without a state file.
 */
static int wait_for_state(const struct options *options, int *ret_lock, struct err *err)
{
	bool said = false;
	int r;

	assert(*ret_lock < 0);
	if (!options->state) {
		return 0;
	}
	while ((r = checkpoint_file_lock(options->state, err)) == -EAGAIN) {
		if (!said && options->verbosity >= 0) {
			say("another process uses %s; waiting to take over from it",
			    options->state);
		}
		said = true;
		service_notify("READY=1\nWATCHDOG=1");
		(void)usleep(STATE_LOCK_US);
	}
	if (said && r >= 0 && options->verbosity >= 0) {
		say("taking over");
	}
	if (r < 0) {
		return r;
	}
	*ret_lock = r;
	return 0;
}

/* An address that is no address is wrong usage, before anything begins. */
static int check_listen(const char *option, const char *address, struct err *err)
{
	struct address parsed;

	return address ? address_parse(option, address, &parsed, err) : 0;
}

int live_follow(const struct options *options, const char **args, const struct live_screen *screen)
{
	struct account account;
	struct loop_config config = { .engine.account = &account };
	struct live_names names = { .options = options };
	struct period_set joined = options->periods;
	struct stats stats = { 0 };
	struct url *urls = NULL;
	const struct asked_texts asked = { asked_text(options), asked_json(options) };
	struct err err;
	int status = EXIT_USAGE, lock = -1;

	if (check_listen("--metrics", options->metrics, &err) < 0 ||
	    check_listen("--web", options->web, &err) < 0 ||
	    run_urls(args, &urls, &config.url_count, &err) < 0 ||
	    run_actions(options, &config.actions, &err) < 0 ||
	    share_memory(options, &account, &err) < 0 ||
	    make_captures(options, screen, &asked, &config, &err) < 0) {
		say("%s", err.text);
	} else {
		config.urls = urls;
		run_fill_loop(options, &config);
		config.joins = joined_live(options);
		if (config.joins) {
			period_set_join(&joined);
			config.engine.periods = &joined;
		}
		config.check_names = run_check_live_names;
		config.names_user = &names;
		names.actions = config.actions;
		config.engine.stats = options->stats ? &stats : NULL;
		if (wait_for_state(options, &lock, &err) < 0 ||
		    run_checkpoint_file(options, &config.engine, &config.checkpoint_file, &err) <
			    0) {
			say("%s", err.text);
		} else {
			status = follow(options, &config, screen);
			joined_say_apart(options);
		}
		stats_fini(&stats);
	}
	run_live_names_fini(&names);
	checkpoint_file_free(config.checkpoint_file);
	if (lock >= 0) {
		(void)close(lock);
	}
	captures_free(config.captures);
	free(asked.text);
	free(asked.json);
	retained_file_free(config.engine.store);
	run_actions_free(config.actions);
	run_urls_free(urls, config.url_count);
	return status;
}

static int run(const struct options *options)
{
	return live_follow(options, options->args, NULL);
}

const struct command cmd_live = {
	.name = "live",
	.args = "[URL...]",
	.summary = "attach to live sessions, print rolling statistics until they end",
	.examples = "  sillage live net://localhost\n"
		    "  sudo sillage live                              this host\n"
		    "  sillage live -i 500ms -f json 'net://relay:5344/host/web*/prod'\n",
	.options = FOR_LIVE,
	.alone = &cmd_watch,
	.run = run,
};
