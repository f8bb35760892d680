#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Find out which variant of a DRM interface the kernel's headers have.
# usage: probe.sh OUTPUT COMPILER FLAGS...
# Stable kernels backport interface changes, so their version says nothing.
set -e

out=$1
shift
dir=$(mktemp -d "${TMPDIR:-/tmp}/npuedge-probe.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# probe NAME INCLUDES CODE: NPUEDGE_HAVE_NAME is defined if CODE compiles.
probe() {
	name=$1
	{
		for h in $2; do
			echo "#include <$h>"
		done
		echo "$3"
	} >"$dir/$name.c"
	shift 3
	if "$@" -Wno-missing-prototypes -Wno-missing-declarations -Werror=implicit-function-declaration \
		-c -o "$dir/$name.o" "$dir/$name.c" >"$dir/$name.log" 2>&1; then
		echo "#define NPUEDGE_HAVE_$name 1"
	else
		echo "/* NPUEDGE_HAVE_$name is not set */"
	fi
}

# If this fails, the compiler or its flags are wrong, and every answer would be "no".
if [ "$(probe SANITY drm/gpu_scheduler.h 'void f(struct drm_gpu_scheduler *s);' "$@")" != \
     "#define NPUEDGE_HAVE_SANITY 1" ]; then
	cat "$dir/SANITY.log" >&2
	exit 1
fi

{
	echo "/* Made by probe.sh; do not edit. */"
	probe SCHED_INIT_ARGS drm/gpu_scheduler.h \
		'int f(struct drm_gpu_scheduler *s, struct drm_sched_init_args *a) { return drm_sched_init(s, a); }' "$@"
	probe SCHED_JOB_CLIENT_ID drm/gpu_scheduler.h \
		'int f(struct drm_sched_job *j, struct drm_sched_entity *e) { return drm_sched_job_init(j, e, 1, 0, 1ull); }' "$@"
	probe SCHED_NO_HANG drm/gpu_scheduler.h 'int f(void) { return DRM_GPU_SCHED_STAT_NO_HANG; }' "$@"
	probe GPUVM_MAP_REQ drm/drm_gpuvm.h \
		'int f(struct drm_gpuvm *v, struct drm_gpuvm_map_req *r) { return drm_gpuvm_sm_map(v, 0, r); }' "$@"
	probe GPUVM_IMMEDIATE_MODE drm/drm_gpuvm.h 'int f(void) { return DRM_GPUVM_IMMEDIATE_MODE; }' "$@"
	probe GPUVA_LOCK drm/drm_gem.h 'void f(struct drm_gem_object *o) { mutex_lock(&o->gpuva.lock); }' "$@"
	probe DRIVER_GEM_GPUVA drm/drm_drv.h 'int f(void) { return DRIVER_GEM_GPUVA; }' "$@"
	probe DRM_DRIVER_DATE drm/drm_drv.h 'void f(struct drm_driver *d) { d->date = 0; }' "$@"
	probe FENCE_TIMELINE_NAME linux/dma-fence.h \
		'void *f(struct dma_fence *d) { return (void *)dma_fence_timeline_name(d); }' "$@"
	# came together with signalling that drops a fence's operations, which no compiler can see
	probe FENCE_DETACHED_OPS linux/dma-fence.h 'int f(void) { return DMA_FENCE_FLAG_INLINE_LOCK_BIT; }' "$@"
	probe SYSTEM_DFL_WQ linux/workqueue.h 'void *f(void) { return system_dfl_wq; }' "$@"
	probe GEM_HUGE_MNT drm/drm_gem.h \
		'int f(struct drm_device *d) { return drm_gem_huge_mnt_create(d, "within_size"); }' "$@"
	probe GEM_OBJECT_ACTIVE drm/drm_gem.h 'int f(void) { return DRM_GEM_OBJECT_ACTIVE; }' "$@"
	probe IMPORT_NS_BARE linux/module.h 'MODULE_IMPORT_NS(DMA_BUF);' "$@"
	# huge_fault has an order, and pages of memory may be mapped by it
	probe PMD_FAULT "linux/mm.h linux/huge_mm.h" \
		'#ifndef CONFIG_ARCH_SUPPORTS_PMD_PFNMAP
		#error
		#endif
		int f(struct vm_fault *v, unsigned long pfn) { return vmf_insert_pfn_pmd(v, pfn, 1); }' "$@"
	probe COPY_STRUCT_TO_USER linux/uaccess.h \
		'int f(void __user *d, void *s) { return copy_struct_to_user(d, 1, s, 1, 0); }' "$@"
} >"$out.tmp"
mv "$out.tmp" "$out"
