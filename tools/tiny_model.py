"""A model for llama.cpp that calls one tool and then says that it is done: no training, no chance.

    python tools/tiny_model.py VOCABULARY.gguf OUT.gguf '{"name": ..., "arguments": ...}' 'Done.'

The vocabulary is one of those in llama.cpp's ``models`` folder (``ggml-vocab-qwen2.gguf``). Tokens
are added to it: the reasoning, the call and the last text are one token each, in the form that
templates of Qwen3 and Hermes want, and so is ``<tool_response>``, which stands before the result of
a tool. The one layer looks for that token, everything else is decided by the last token:

    the end of a prompt -> reasoning -> the call, or the text if there was a result -> the end

Each kind of token has a dimension of its own. Queries and keys are zero, so attention is the mean
over all tokens: it moves how many of them are ``<tool_response>`` into a dimension that favours the
text over the call, whatever the length of the prompt. Needs ``gguf`` and ``numpy``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

WIDTH = 32
ANY, THOUGHT, CALLED, DONE, RESULT, SEEN = range(6)
"""Dimensions: kinds of tokens, and how many results were seen."""
GAIN = 1e4
"""One result among 60,000 tokens is seen."""
THINKS = "<think>\nI should look.\n</think>\n\n"
RESPONSE = "<tool_response>"
USER_DEFINED = 4


def make(vocabulary: str | Path, out: str | Path, call: str, done: str) -> None:
    """Write the model."""
    gguf: Any = import_module("gguf")
    np: Any = import_module("numpy")

    reader = gguf.GGUFReader(str(vocabulary))
    added = [RESPONSE, THINKS, f"<tool_call>\n{call}\n</tool_call>", done]
    fields = {name: field.contents() for name, field in reader.fields.items()}
    tokens = [*fields["tokenizer.ggml.tokens"], *added]
    kinds = [*fields["tokenizer.ggml.token_type"], *[USER_DEFINED] * len(added)]
    count = len(tokens)
    response, thinks, calls, says = range(count - len(added), count)
    end = fields["tokenizer.ggml.eos_token_id"]

    def zeros(rows: int = WIDTH, columns: int = WIDTH) -> Any:
        return np.zeros((rows, columns), dtype=np.float32)

    embedding = zeros(count)
    embedding[:, ANY] = 1
    for token, kind in ((response, RESULT), (thinks, THOUGHT), (calls, CALLED), (says, DONE)):
        embedding[token] = 0
        embedding[token, kind] = 1
    output = zeros(count)
    output[thinks, ANY] = output[thinks, RESULT] = 1e7
    output[calls, THOUGHT] = 10
    output[says, SEEN] = 100
    output[end, CALLED] = output[end, DONE] = 1e7
    value, moved = zeros(), zeros()
    value[0, RESULT] = 1
    moved[SEEN, 0] = GAIN

    writer = gguf.GGUFWriter(str(out), "llama")
    writer.add_context_length(131072)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(count)
    writer.add_tokenizer_model(fields["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(fields["tokenizer.ggml.pre"])
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(fields["tokenizer.ggml.merges"])
    writer.add_eos_token_id(end)
    writer.add_bos_token_id(fields["tokenizer.ggml.bos_token_id"])
    writer.add_add_bos_token(False)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    ones = np.ones(WIDTH, dtype=np.float32)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", ones)
    for name in ("attn_q", "attn_k", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", zeros())
    writer.add_tensor("blk.0.attn_v.weight", value)
    writer.add_tensor("blk.0.attn_output.weight", moved)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    make(*sys.argv[1:5])
