/* SPDX-License-Identifier: MIT */
/**
 * npu/session.h - run a language model: one sequence, its KV cache and the programs that extend it.
 *
 * A session owns its device handle, KV cache and compiled programs.  It is used by one thread at a
 * time; different sessions are independent and may share a model.  Results do not depend on the
 * device, on how tokens are split over calls, or on the number of threads: logits are equal to the
 * bit.
 */
#ifndef NPU_SESSION_H
#define NPU_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "npu/gguf.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_session npu_session;

#define NPU_SESSION_MAX_THREADS	256

struct npu_session_options {
	uint32_t struct_size;	/* sizeof(struct npu_session_options) */
	/* "cpu"; "sim" or "sim:CHIP"; "drm" or "drm:/dev/accel/accelN".
	 * NULL: environment NPU_DEVICE, else "drm".
	 */
	const char *device;
	uint32_t n_ctx;		/* positions of the KV cache; 0: the model's limit, at most 2048 */
	uint32_t prefill_chunk;	/* most tokens per run, 0: chosen for the device */
	int strict;		/* unplanned fallback to the CPU is an error; also NPU_STRICT=1 */
	int n_threads;		/* of CPU ops, at most NPU_SESSION_MAX_THREADS; 0: one */
};

/**
 * @opt may be NULL for defaults.  @model stays open until npu_session_close().
 * Logs one line (NPU_LOG_INFO) that says how many ops run where and why.
 * NPU_ERR_LIMIT: n_ctx beyond the model's limit, or a chip too small; NPU_ERR_STRICT: see above;
 * NPU_ERR_NO_DEVICE, NPU_ERR_UNSUPPORTED, NPU_ERR_FORMAT, NPU_ERR_NOMEM as they say.
 */
NPU_API npu_status npu_session_open(const npu_gguf *model, const struct npu_session_options *opt,
				    npu_session **out);
/** NULL is allowed. */
NPU_API void npu_session_close(npu_session *s);

NPU_API uint32_t npu_session_n_ctx(const npu_session *s);
NPU_API uint32_t npu_session_n_vocab(const npu_session *s);
/** Tokens in the KV cache; the next one gets this position. */
NPU_API uint32_t npu_session_pos(const npu_session *s);

/**
 * Append @n tokens (n >= 1) and compute logits for the last @n_logits of them (0..n).
 * @logits: [n_logits][n_vocab] floats, may be NULL if n_logits is 0.
 * NPU_ERR_LIMIT (n tokens do not fit into n_ctx) and NPU_ERR_INVALID (token id >= n_vocab) change
 * nothing.  Programs for prompts are compiled when first needed, so NPU_ERR_LIMIT, STRICT and NOMEM
 * can come from here for the reasons that npu_session_open() has.
 * After a device error (NPU_ERR_FAULT, TIMEOUT, CANCELLED, IO) the sequence keeps the tokens of
 * completed runs (npu_session_pos()); the same tokens may be tried again or the session reset,
 * unless the status is NPU_ERR_DEVICE_LOST.
 */
NPU_API npu_status npu_session_eval(npu_session *s, const uint32_t *tokens, uint32_t n,
				    float *logits, uint32_t n_logits);
/** Forget the sequence. */
NPU_API npu_status npu_session_reset(npu_session *s);

/** Cumulative since open.  What a device does not report is 0 (temperature: NAN). */
struct npu_session_stats {
	uint32_t struct_size;	/* set by the caller: sizeof(struct npu_session_stats) */
	uint64_t device_ns;	/* device time of jobs */
	uint64_t wall_ns;	/* wall time within npu_session_eval() */
	uint64_t cpu_ns;	/* CPU time of this process within npu_session_eval() */
	uint64_t dram_read_bytes, dram_write_bytes, macs; /* of the device */
	uint64_t jobs;
	double temperature_c;	/* die, at the end of the last job */
	uint64_t host_copied_bytes; /* inputs and outputs copied by the host */
	uint64_t energy_nj;	/* of jobs */
	uint64_t weight_bytes, kv_bytes, scratch_bytes, stream_bytes; /* memory held now */
};
NPU_API npu_status npu_session_get_stats(const npu_session *s, struct npu_session_stats *out);

/** Where the ops of the decode step run, one entry per kind of op (and per reason). */
struct npu_placement {
	const char *op;		/* "matmul" */
	uint32_t n_npu, n_cpu;
	const char *reason;	/* why on the CPU, NULL if none is */
};
/** The array belongs to the session. */
NPU_API const struct npu_placement *npu_session_placement(const npu_session *s, size_t *count);
/** Jobs submitted per decoded token; 0 on "cpu". */
NPU_API uint32_t npu_session_segments_per_decode(const npu_session *s);
/** "cpu", or the device's own name. */
NPU_API const char *npu_session_device_name(const npu_session *s);

#ifdef __cplusplus
}
#endif
#endif
