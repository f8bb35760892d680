// SPDX-License-Identifier: MIT
/*
 * Kernels of the CPU executor: each table against double precision with a stated bound, and every
 * table against the scalar one to the bit, over sizes with and without tails.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/exp.h"
#include "cpu/fp16.h"
#include "cpu/kernels.h"
#include "tiny_model.h"

#define MAX_N 200

static const uint32_t sizes[] = { 1, 2, 7, 8, 9, 16, 31, 32, 33, 64, 100, 199 };
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void randoms(float *dst, size_t n, float amplitude, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = amplitude * tiny_uniform(&seed);
}

/* Bits, except that any NaN equals any NaN. */
static void assert_same(const float *a, const float *b, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (fp32_to_bits(a[i]) != fp32_to_bits(b[i]) && !(isnan(a[i]) && isnan(b[i])))
			fail_msg("%s: element %zu of %zu: %a, scalar %a", what, i, n, (double)a[i],
				 (double)b[i]);
}

/* ---- half precision ---------------------------------------------------------------------- */

/* Value of finite half @h by its definition. */
static double half_value(uint16_t h)
{
	int exp = h >> 10 & 31, man = h & 1023;
	double v = exp ? ldexp(1024 + man, exp - 25) : ldexp(man, -24);

	return h & 0x8000 ? -v : v;
}

static void test_widen(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 65536; h++) {
		float v = fp16_widen(h);

		if ((h & 0x7c00) == 0x7c00) {
			assert_true((h & 0x3ff) ? isnan(v) : isinf(v) && (v < 0) == (h >> 15));
			continue;
		}
		assert_true((double)v == half_value(h) && !!signbit(v) == h >> 15);
		assert_int_equal(fp16_narrow(v), h);
	}
}

/* Between two neighbours: the midpoint goes to the even one, anything off it to the nearer one. */
static void test_narrow_rounds_to_even(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 0x7c00; h++) {
		double hi = h == 0x7bff ? 65536.0 : half_value(h + 1);
		float mid = (float)((half_value(h) + hi) / 2);
		uint16_t even = h & 1 ? h + 1 : h;

		assert_int_equal(fp16_narrow(mid), even);
		assert_int_equal(fp16_narrow(nextafterf(mid, 0)), h);
		assert_int_equal(fp16_narrow(nextafterf(mid, INFINITY)), h + 1);
		assert_int_equal(fp16_narrow(-mid), even | 0x8000);
	}
	assert_int_equal(fp16_narrow(FLT_MAX), 0x7c00);
	assert_int_equal(fp16_narrow(-INFINITY), 0xfc00);
	assert_int_equal(fp16_narrow(FLT_TRUE_MIN), 0);
	assert_true(isnan(fp16_widen(fp16_narrow(NAN))));
}

/* ---- exp --------------------------------------------------------------------------------- */

static void test_exp(void **state)
{
	double worst = 0;

	(void)state;
	for (double x = -87.0; x <= 88.0; x += 0.00137) {
		float f = (float)x;
		double ref = exp((double)f), err;

		if (ref < 2 * (double)FLT_MIN)
			continue; /* subnormal results have fewer bits */
		err = fabs(npu_exp(f) - ref) / ref;
		worst = err > worst ? err : worst;
	}
	/* The polynomial's 1.2e-7 and half a unit of the last rounding. */
	assert_true(worst < 1.2e-7 + 0x1p-24);
	assert_true(npu_exp(0.0f) == 1.0f && npu_exp(-0.0f) == 1.0f);
	assert_true(npu_exp(nextafterf(-87.0f, -INFINITY)) == 0.0f && npu_exp(-INFINITY) == 0.0f);
	assert_true(npu_exp(-87.0f) > 0.0f && npu_exp(88.0f) < INFINITY);
	assert_true(npu_exp(nextafterf(88.0f, INFINITY)) == INFINITY);
	assert_true(isnan(npu_exp(NAN)));
}

/* ---- every table against double ---------------------------------------------------------- */

static double silu_ref(double x)
{
	return x / (1.0 + exp(-x));
}

static void check_activations(const struct cpu_kernels *k)
{
	float x[MAX_N], y[MAX_N], out[MAX_N];

	for (size_t s = 0; s < N_SIZES; s++) {
		uint32_t n = sizes[s];

		randoms(x, n, 12.0f, 3 + n);
		randoms(y, n, 3.0f, 4 + n);
		k->silu(out, x, n);
		for (uint32_t i = 0; i < n; i++)
			assert_true(fabs(out[i] - silu_ref(x[i])) <= 4e-7 * fabs(silu_ref(x[i])));
		k->swiglu(out, x, y, n);
		for (uint32_t i = 0; i < n; i++)
			assert_true(fabs(out[i] - silu_ref(x[i]) * y[i]) <=
				    5e-7 * fabs(silu_ref(x[i]) * y[i]));
	}
}

static void check_rms_norm(const struct cpu_kernels *k)
{
	float x[MAX_N], w[MAX_N], out[MAX_N];

	for (size_t s = 0; s < N_SIZES; s++) {
		uint32_t n = sizes[s];
		double sum = 0;

		randoms(x, n, 2.0f, 5 + n);
		randoms(w, n, 1.5f, 6 + n);
		for (uint32_t i = 0; i < n; i++)
			sum += (double)x[i] * x[i];
		k->rms_norm(out, x, w, n, 1e-5f);
		for (uint32_t i = 0; i < n; i++) {
			double ref = x[i] / sqrt(sum / n + (double)1e-5f) * w[i];

			/* n / 8 roundings a lane, halved by the root, and six more. */
			assert_true(fabs(out[i] - ref) <= (n / 16.0 + 6) * 0x1p-24 * fabs(ref));
		}
	}
}

static void check_rope(const struct cpu_kernels *k)
{
	float x[64], table[64], out[64];

	randoms(x, 64, 3.0f, 7);
	for (int i = 0; i < 32; i++) {
		table[i] = cosf(0.1f * i);
		table[32 + i] = sinf(0.1f * i);
	}
	for (int neox = 0; neox < 2; neox++) {
		k->rope(out, x, table, 64, neox);
		for (int i = 0; i < 32; i++) {
			int i0 = neox ? i : 2 * i, i1 = neox ? i + 32 : 2 * i + 1;
			double c = table[i], s = table[32 + i];

			assert_true(fabs(out[i0] - (x[i0] * c - x[i1] * s)) < 4 * 3.0 * 0x1p-24);
			assert_true(fabs(out[i1] - (x[i0] * s + x[i1] * c)) < 4 * 3.0 * 0x1p-24);
		}
	}
}

/* Three tiles against a softmax over all of them at once. */
static void check_softmax(const struct cpu_kernels *k)
{
	enum { TILE = 24, TILES = 3, VALID = 61, FIRST = 5, HD = 12 };
	float s[TILE * TILES], p[TILE], o[HD] = { 0 }, v[TILE * TILES][HD];
	struct cpu_softmax st = { .m = -FLT_MAX };
	const float scale = 0.25f;
	double sum = 0, ref[HD] = { 0 };

	randoms(s, TILE * TILES, 30.0f, 8);
	randoms(v[0], TILE * TILES * HD, 2.0f, 9);
	for (int j = FIRST; j < VALID; j++) {
		double e = exp((double)s[j] * scale);

		sum += e;
		for (int d = 0; d < HD; d++)
			ref[d] += e * v[j][d];
	}
	for (int t = 0; t < TILES; t++) {
		uint32_t first = t == 0 ? FIRST : 0, end = t == 2 ? VALID - 2 * TILE : TILE;

		k->softmax(p, s + t * TILE, &st, o, HD, TILE, first, end, scale);
		for (uint32_t j = 0; j < TILE; j++)
			assert_true(j >= first && j < end ? p[j] >= 0 && p[j] <= 1 : p[j] == 0);
		k->mm(o, HD, p, TILE, v[t * TILE], HD, 1, TILE, HD);
	}
	/* Probabilities have 11 bits. */
	for (int d = 0; d < HD; d++)
		assert_true(fabs(o[d] / st.l - ref[d] / sum) < 2.0 * 0x1p-11);
	/* A tile without valid columns changes nothing. */
	{
		struct cpu_softmax before = st;
		float o_before[HD];

		memcpy(o_before, o, sizeof(o));
		k->softmax(p, s, &st, o, HD, TILE, 7, 7, scale);
		assert_memory_equal(&before, &st, sizeof(st));
		assert_memory_equal(o_before, o, sizeof(o));
		for (int j = 0; j < TILE; j++)
			assert_true(p[j] == 0);
	}
}

/* Small integers are exact in any order, so a wrong index cannot hide behind a bound. */
static void check_mm_integers(const struct cpu_kernels *k)
{
	enum { M = 5, K = 37, N = 77 };
	static float a[M * K], b[K * N], c[M * N];
	uint32_t seed = 10;

	for (int i = 0; i < M * K; i++)
		a[i] = (int)(tiny_random(&seed) % 17) - 8;
	for (int i = 0; i < K * N; i++)
		b[i] = (int)(tiny_random(&seed) % 31) - 15;
	for (int i = 0; i < M * N; i++)
		c[i] = i;
	k->mm(c, N, a, K, b, N, M, K, N);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			int sum = i * N + j;

			for (int kk = 0; kk < K; kk++)
				sum += (int)a[i * K + kk] * (int)b[kk * N + j];
			assert_true(c[i * N + j] == sum);
		}
}

static void check_unpack(const struct cpu_kernels *k)
{
	enum { STRIDE = 45 };
	static uint8_t qs[STRIDE * CPU_PANEL];
	static float q[CPU_GROUP * CPU_PANEL];
	uint32_t seed = 11;

	for (size_t i = 0; i < sizeof(qs); i++)
		qs[i] = tiny_random(&seed) >> 7;
	for (uint32_t rows = 1; rows <= CPU_PANEL; rows++) {
		k->unpack_q4(q, qs, STRIDE, rows);
		for (uint32_t i = 0; i < CPU_GROUP; i++)
			for (uint32_t r = 0; r < CPU_PANEL; r++) {
				uint8_t byte = qs[r * STRIDE + i % 16];

				assert_true(q[i * CPU_PANEL + r] == (r >= rows ? 0
								     : i < 16  ? byte & 15
									       : byte >> 4));
			}
		k->unpack_q8(q, qs, STRIDE, rows);
		for (uint32_t i = 0; i < CPU_GROUP; i++)
			for (uint32_t r = 0; r < CPU_PANEL; r++)
				assert_true(q[i * CPU_PANEL + r] ==
					    (r >= rows ? 0 : (int8_t)qs[r * STRIDE + i]));
	}
}

/* Integers that fit a float exactly; so does any partial sum. */
static void check_dot(const struct cpu_kernels *k)
{
	enum { STRIDE = 45 };
	static uint8_t qs[STRIDE * CPU_PANEL];
	float a[CPU_GROUP], part[CPU_PANEL];
	uint32_t seed = 12;

	for (size_t i = 0; i < sizeof(qs); i++)
		qs[i] = tiny_random(&seed) >> 7;
	for (int i = 0; i < CPU_GROUP; i++)
		a[i] = (int)(tiny_random(&seed) % 200) - 100;
	for (int bits = 4; bits <= 8; bits += 4) {
		(bits == 4 ? k->dot_q4 : k->dot_q8)(part, a, qs, STRIDE);
		for (int r = 0; r < CPU_PANEL; r++) {
			const uint8_t *row = qs + r * STRIDE;
			int sum = 0;

			for (int i = 0; i < CPU_GROUP; i++)
				sum += (int)a[i] * (bits == 8 ? (int8_t)row[i]
						    : i < 16  ? row[i] & 15
							      : row[i - 16] >> 4);
			assert_true(part[r] == sum);
		}
	}
}

static void check_table(const struct cpu_kernels *k)
{
	check_activations(k);
	check_rms_norm(k);
	check_rope(k);
	check_softmax(k);
	check_mm_integers(k);
	check_unpack(k);
	check_dot(k);
}

static void test_scalar_table(void **state)
{
	(void)state;
	check_table(&npu_cpu_kernels_scalar);
}

static void test_avx2_table(void **state)
{
	(void)state;
	if (!npu_cpu_kernels_avx2()) {
#ifdef __x86_64__
		assert_false(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#endif
		skip();
	}
	check_table(npu_cpu_kernels_avx2());
}

/* ---- tables against each other ----------------------------------------------------------- */

/* Finite values of all magnitudes, infinities, NaN, zeros of both signs, subnormals. */
static void awkward(float *dst, size_t n, uint32_t seed)
{
	static const float special[] = {
		0.0f,	  -0.0f,	INFINITY,    -INFINITY, NAN,	      FLT_MAX,
		-FLT_MAX, FLT_TRUE_MIN, 0x1.8p-130f, -87.0f,	88.0f,	      -87.5f,
		88.5f,	  65519.0f,	65520.0f,    0x1p-25f,	0x1.002p-14f, 0x1.ffcp-15f,
	};

	for (size_t i = 0; i < n; i++) {
		uint32_t r = tiny_random(&seed);

		if (r % 5 == 0)
			dst[i] = special[r / 5 % (sizeof(special) / sizeof(special[0]))];
		else if (r % 5 == 1)
			dst[i] = fp32_from_bits(tiny_random(&seed));
		else
			dst[i] = 8.0f * tiny_uniform(&seed);
	}
}

static void compare_vectors(const struct cpu_kernels *k, uint32_t n, uint32_t seed)
{
	const struct cpu_kernels *ref = &npu_cpu_kernels_scalar;
	float x[MAX_N], y[MAX_N], a[MAX_N], b[MAX_N];
	uint16_t ha[MAX_N], hb[MAX_N];

	awkward(x, n, seed);
	awkward(y, n, seed + 1);
	k->silu(a, x, n), ref->silu(b, x, n);
	assert_same(a, b, n, "silu");
	k->swiglu(a, x, y, n), ref->swiglu(b, x, y, n);
	assert_same(a, b, n, "swiglu");
	k->add(a, x, y, n), ref->add(b, x, y, n);
	assert_same(a, b, n, "add");
	k->mul(a, x, y, n), ref->mul(b, x, y, n);
	assert_same(a, b, n, "mul");
	k->rms_norm(a, x, y, n, 1e-6f), ref->rms_norm(b, x, y, n, 1e-6f);
	assert_same(a, b, n, "rms_norm");
	k->narrow(ha, x, n), ref->narrow(hb, x, n);
	k->widen(a, ha, n), ref->widen(b, hb, n);
	assert_same(a, b, n, "narrow and widen");
	randoms(x, n, 5.0f, seed);
	k->rms_norm(a, x, y, n, 1e-6f), ref->rms_norm(b, x, y, n, 1e-6f);
	assert_same(a, b, n, "rms_norm");
}

static void compare_mm(const struct cpu_kernels *k, uint32_t m, uint32_t kk, uint32_t n,
		       uint32_t seed)
{
	static float a[8 * 80], b[80 * MAX_N], c[8 * MAX_N], d[8 * MAX_N];

	randoms(a, m * kk, 3.0f, seed);
	randoms(b, kk * n, 3.0f, seed + 1);
	randoms(c, m * n, 1.0f, seed + 2);
	memcpy(d, c, sizeof(c));
	k->mm(c, n, a, kk, b, n, m, kk, n);
	npu_cpu_kernels_scalar.mm(d, n, a, kk, b, n, m, kk, n);
	assert_same(c, d, m * n, "mm");
}

static void compare_end_group(const struct cpu_kernels *k, uint32_t seed)
{
	float acc[2][3 * CPU_PANEL], p[3 * CPU_PANEL], scale[CPU_PANEL], min[CPU_PANEL], sum[9];

	randoms(p, 3 * CPU_PANEL, 100.0f, seed);
	randoms(scale, CPU_PANEL, 0.1f, seed + 1);
	randoms(min, CPU_PANEL, 0.1f, seed + 2);
	randoms(sum, 9, 10.0f, seed + 3);
	for (int with_min = 0; with_min < 2; with_min++) {
		randoms(acc[0], 3 * CPU_PANEL, 1.0f, seed + 4);
		memcpy(acc[1], acc[0], sizeof(acc[0]));
		k->end_group(acc[0], p, scale, with_min ? min : NULL, sum, 4, 3);
		npu_cpu_kernels_scalar.end_group(acc[1], p, scale, with_min ? min : NULL, sum, 4,
						 3);
		assert_same(acc[0], acc[1], 3 * CPU_PANEL, "end_group");
	}
}

static void compare_dot(const struct cpu_kernels *k, uint32_t seed)
{
	uint8_t qs[CPU_PANEL * 34];
	float a[CPU_GROUP], p[2][CPU_PANEL];

	randoms(a, CPU_GROUP, 3.0f, seed);
	for (size_t i = 0; i < sizeof(qs); i++)
		qs[i] = tiny_random(&seed) >> 9;
	k->dot_q4(p[0], a, qs, 34), npu_cpu_kernels_scalar.dot_q4(p[1], a, qs, 34);
	assert_same(p[0], p[1], CPU_PANEL, "dot_q4");
	k->dot_q8(p[0], a, qs, 34), npu_cpu_kernels_scalar.dot_q8(p[1], a, qs, 34);
	assert_same(p[0], p[1], CPU_PANEL, "dot_q8");
}

static void compare_softmax(const struct cpu_kernels *k, uint32_t cols, uint32_t first,
			    uint32_t end, uint32_t seed)
{
	float s[MAX_N], p[2][MAX_N], o[2][20];
	struct cpu_softmax st[2] = { { -1.5f, 3.0f }, { -1.5f, 3.0f } };

	randoms(s, cols, 40.0f, seed);
	randoms(o[0], 20, 4.0f, seed + 1);
	memcpy(o[1], o[0], sizeof(o[0]));
	k->softmax(p[0], s, &st[0], o[0], 20, cols, first, end, 0.125f);
	npu_cpu_kernels_scalar.softmax(p[1], s, &st[1], o[1], 20, cols, first, end, 0.125f);
	assert_same(p[0], p[1], cols, "softmax p");
	assert_same(o[0], o[1], 20, "softmax o");
	assert_memory_equal(&st[0], &st[1], sizeof(st[0]));
}

static void test_same_bits(void **state)
{
	const struct cpu_kernels *k = npu_cpu_kernels();

	(void)state;
	for (size_t i = 0; i < N_SIZES; i++) {
		for (uint32_t seed = 1; seed < 20; seed++)
			compare_vectors(k, sizes[i], 100 * seed + i);
		for (uint32_t m = 1; m <= 5; m++)
			compare_mm(k, m, 1 + 13 * m, sizes[i], 7 * m + i);
	}
	for (uint32_t seed = 1; seed < 50; seed++) {
		uint32_t first = seed % 40, end = first + seed * 3 % 25;

		compare_end_group(k, seed);
		compare_dot(k, seed);
		compare_softmax(k, 64, first, end, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widen),
		cmocka_unit_test(test_narrow_rounds_to_even),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_scalar_table),
		cmocka_unit_test(test_avx2_table),
		cmocka_unit_test(test_same_bits),
	};

	return cmocka_run_group_tests_name("cpu_kernels", tests, NULL, NULL);
}
