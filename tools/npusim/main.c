// SPDX-License-Identifier: MIT
/* npusim: serves modelled NE1 devices over vfio-user until SIGINT or SIGTERM. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chip.h"
#include "ctl.h"
#include "dev_key.h"
#include "device.h"
#include "dma.h"
#include "log.h"
#include "replay.h"
#include "trace.h"

#define DEVICES_MAX	16
#define THREADS_MAX	64
#define DEFAULT_CHIP	"edge"
#define KEY_FILE_MAX	4096

struct options {
	const char *sockets[DEVICES_MAX];
	unsigned int n_sockets;
	const char *chip, *key, *trace, *control, *replay;
	struct sim_device_config device;
	struct sim_fuses fuses;
};

enum {
	OPT_SOCKET = 256,
	OPT_CHIP,
	OPT_THREADS,
	OPT_MODE,
	OPT_LOG,
	OPT_TRACE,
	OPT_MSI,
	OPT_PCI,
	OPT_KEY,
	OPT_MIN_SVN,
	OPT_WINDOW,
	OPT_CONTROL,
	OPT_REPLAY,
	OPT_HELP
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "chip", required_argument, NULL, OPT_CHIP },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "trace", required_argument, NULL, OPT_TRACE },
	{ "plain-msi", no_argument, NULL, OPT_MSI },
	{ "pci", required_argument, NULL, OPT_PCI },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "min-security-version", required_argument, NULL, OPT_MIN_SVN },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "replay", required_argument, NULL, OPT_REPLAY },
	{ "debug-window", no_argument, NULL, OPT_WINDOW },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static const char usage[] =
	"usage: npusim --socket PATH [--socket PATH]... [options]\n"
	"  --socket PATH              serve a device at this UNIX socket (up to 16)\n"
	"  --chip NAME|FILE           chip profile (default " DEFAULT_CHIP ")\n"
	"  --threads N                host threads for the arithmetic (default: processors)\n"
	"  --mode fast|paced          as fast as the host allows, or not ahead of host time\n"
	"  --log LEVEL                error, warn, info or debug (default warn)\n"
	"  --trace FILE               write events to FILE\n"
	"  --plain-msi                offer MSI only, no MSI-X\n"
	"  --pci vectors=N|bar=BYTES|revision=N  an odd configuration space\n"
	"  --key FILE                 boot key (64 hex digits) instead of the development key\n"
	"  --min-security-version N   refuse firmware of a lower security version (default 0)\n"
	"  --control PATH             serve requests for faults and counts at this UNIX socket\n"
	"  --replay FILE              run the job of a core dump again; 0: it ends the same\n"
	"  --debug-window             registers in BAR 0 by which a guest can arm faults\n";

static int fail(const char *what, const char *value, const char *want)
{
	fprintf(stderr, "npusim: %s '%s': %s\n", what, value, want);
	return -1;
}

static int parse_number(const char *text, unsigned long min, unsigned long max, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	return errno || end == text || *end || *text == '-' || *out < min || *out > max ? -1 : 0;
}

static int set_mode(struct options *opts, const char *mode)
{
	if (!strcmp(mode, "fast"))
		opts->device.pace = SIM_FAST;
	else if (!strcmp(mode, "paced"))
		opts->device.pace = SIM_PACED;
	else
		return fail("--mode", mode, "not fast or paced");
	return 0;
}

static int set_pci(struct sim_pci_shape *pci, const char *text)
{
	const char *value = strchr(text, '=');
	unsigned long n;

	if (value && !strncmp(text, "vectors=", 8) && !parse_number(value + 1, 1, NE1_MSIX_VECTORS, &n))
		pci->msix_vectors = n;
	else if (value && !strncmp(text, "bar=", 4) && !parse_number(value + 1, 4096, NE1_BAR_SIZE, &n) &&
		 !(n & (n - 1)))
		pci->bar0_bytes = n;
	else if (value && !strncmp(text, "revision=", 9) && !parse_number(value + 1, 0, 255, &n))
		pci->revision = n;
	else
		return fail("--pci", text, "not vectors=1..4, bar=4096..524288 or revision=0..255");
	return 0;
}

static int set_option(struct options *opts, int opt, const char *arg)
{
	unsigned long n;
	int level;

	switch (opt) {
	case OPT_SOCKET:
		if (opts->n_sockets == DEVICES_MAX)
			return fail("--socket", arg, "more than 16 devices");
		opts->sockets[opts->n_sockets++] = arg;
		return 0;
	case OPT_CHIP:
		opts->chip = arg;
		return 0;
	case OPT_THREADS:
		if (parse_number(arg, 1, THREADS_MAX, &n))
			return fail("--threads", arg, "not 1 to 64");
		opts->device.threads = n;
		return 0;
	case OPT_MODE:
		return set_mode(opts, arg);
	case OPT_LOG:
		level = sim_log_parse_level(arg);
		if (level < 0)
			return fail("--log", arg, "not error, warn, info or debug");
		sim_log_set_level(level);
		return 0;
	case OPT_TRACE:
		opts->trace = arg;
		return 0;
	case OPT_MSI:
		opts->device.pci.msix_vectors = 0;
		return 0;
	case OPT_PCI:
		return set_pci(&opts->device.pci, arg);
	case OPT_KEY:
		opts->key = arg;
		return 0;
	case OPT_MIN_SVN:
		if (parse_number(arg, 0, UINT32_MAX, &n))
			return fail("--min-security-version", arg, "not 0 to 4294967295");
		opts->fuses.min_security_version = n;
		return 0;
	case OPT_CONTROL:
		opts->control = arg;
		return 0;
	case OPT_REPLAY:
		opts->replay = arg;
		return 0;
	case OPT_WINDOW:
		opts->device.debug_window = true;
		return 0;
	default:
		fputs(usage, stderr);
		return -1;
	}
}

/* 1: help was asked for and printed. */
static int parse_options(struct options *opts, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		if (set_option(opts, opt, optarg))
			return -1;
	}
	if (optind < argc)
		return fail("argument", argv[optind], "not an option (npusim --help)");
	if (opts->replay ? opts->n_sockets : !opts->n_sockets) {
		fputs(usage, stderr);
		return -1;
	}
	return 0;
}

static int load_key(struct options *opts)
{
	char text[KEY_FILE_MAX] = SIM_DEV_KEY_HEX;
	const char *from = opts->key ? opts->key : "built in";
	FILE *file;
	size_t n;

	if (opts->key) {
		file = fopen(opts->key, "re");
		if (!file)
			return fail("--key", opts->key, strerror(errno));
		n = fread(text, 1, sizeof(text) - 1, file);
		text[n] = 0;
		fclose(file);
	}
	if (sim_key_parse(text, opts->fuses.key))
		return fail("boot key", from, "no line of 64 hex digits");
	return 0;
}

static int run(const struct options *opts, const sigset_t *signals)
{
	struct sim_device *devices[DEVICES_MAX] = { NULL };
	struct sim_device_config config = opts->device;
	int status = EXIT_FAILURE, sig;
	struct sim_ctl *ctl = NULL;
	unsigned int n;

	for (n = 0; n < opts->n_sockets; n++) {
		config.socket = opts->sockets[n];
		devices[n] = sim_device_new(&config);
		if (!devices[n])
			goto out;
	}
	if (opts->control) {
		ctl = sim_ctl_new(opts->control, devices, n);
		if (!ctl)
			goto out;
	}
	sigwait(signals, &sig);
	status = EXIT_SUCCESS;
out:
	sim_ctl_free(ctl);
	while (n--)
		sim_device_free(devices[n]);
	return status;
}

int main(int argc, char **argv)
{
	struct options opts = {
		.device.threads = 1,
		.device.pci = { NE1_MSIX_VECTORS, NE1_BAR_SIZE, NE1_VERSION_MAJOR },
	};
	struct sim_chip chip;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	sigset_t signals;
	char err[256];
	int status;

	if (cpus > 0)
		opts.device.threads = cpus < THREADS_MAX ? cpus : THREADS_MAX;
	status = parse_options(&opts, argc, argv);
	if (status)
		return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	if (opts.replay)
		return sim_replay(opts.replay, opts.chip);
	if (sim_chip_load(opts.chip ? opts.chip : DEFAULT_CHIP, &chip, err, sizeof(err))) {
		fprintf(stderr, "npusim: %s\n", err);
		return EXIT_FAILURE;
	}
	if (sim_bootrom_init()) {
		fprintf(stderr, "npusim: libsodium does not initialise\n");
		return EXIT_FAILURE;
	}
	if (sim_dma_survive_truncation()) {
		fprintf(stderr, "npusim: no handler for SIGBUS: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (load_key(&opts))
		return EXIT_FAILURE;
	if (opts.trace) {
		opts.device.trace = sim_trace_open(opts.trace);
		if (!opts.device.trace) {
			fail("--trace", opts.trace, strerror(errno));
			return EXIT_FAILURE;
		}
	}
	opts.device.chip = &chip;
	opts.device.fuses = &opts.fuses;

	/* All threads inherit the mask, so that only sigwait() sees them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	status = run(&opts, &signals);
	sim_trace_close(opts.device.trace);
	return status;
}
