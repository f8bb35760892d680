// SPDX-License-Identifier: MIT
/* Names and block sizes of the tensor types. */
#include "npu/gguf.h"

const char *npu_tensor_type_name(npu_tensor_type type)
{
	switch (type) {
#define TYPE_NAME(id, nr, name, elems, bytes) case id: return name;
	NPU_TENSOR_TYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
	}
	return NULL;
}

uint32_t npu_tensor_type_block_elems(npu_tensor_type type)
{
	switch (type) {
#define TYPE_ELEMS(id, nr, name, elems, bytes) case id: return elems;
	NPU_TENSOR_TYPE_LIST(TYPE_ELEMS)
#undef TYPE_ELEMS
	}
	return 0;
}

uint32_t npu_tensor_type_block_bytes(npu_tensor_type type)
{
	switch (type) {
#define TYPE_BYTES(id, nr, name, elems, bytes) case id: return bytes;
	NPU_TENSOR_TYPE_LIST(TYPE_BYTES)
#undef TYPE_BYTES
	}
	return 0;
}
