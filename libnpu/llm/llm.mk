# SPDX-License-Identifier: MIT
# Language-model front end: tokenizer, chat templates, sampler.

libnpu-src += libnpu/llm/utf8.c libnpu/llm/vocab.c libnpu/llm/pretok.c libnpu/llm/bpe.c \
	      libnpu/llm/tokenizer.c libnpu/llm/detok.c libnpu/llm/chat.c libnpu/llm/sampler.c
