// SPDX-License-Identifier: MIT
/* What the program gets from its surroundings: signals, and standard files that may be closed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "run.h"

volatile sig_atomic_t interrupted;

static struct {
	uintptr_t start, end;
	char message[512];
} mapped_model;

static void on_signal(int sig)
{
	interrupted = sig;
}

void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* Other addresses: back to the access, which now ends the program. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr;
	ssize_t n;

	(void)sig;
	(void)context;
	if (at < mapped_model.start || at >= mapped_model.end)
		return;
	n = write(STDERR_FILENO, mapped_model.message, strlen(mapped_model.message));
	_exit(n < 0 ? EXIT_OTHER : EXIT_FILE);
}

void guard_model(const npu_gguf *model)
{
	const struct sigaction sa = { .sa_sigaction = on_bus_error,
				      .sa_flags = SA_SIGINFO | SA_RESETHAND };
	const struct npu_gguf_tensor *first = npu_gguf_tensor_at(model, 0);

	if (!first)
		return;
	mapped_model.start = (uintptr_t)first->data - first->offset;
	mapped_model.end = mapped_model.start + npu_gguf_size(model);
	snprintf(mapped_model.message, sizeof(mapped_model.message),
		 "npu-run: %.400s: the file became shorter while it was in use\n",
		 npu_gguf_path(model));
	sigaction(SIGBUS, &sa, NULL);
}

void hold_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}
