"""The names that configs use for one size."""

from __future__ import annotations

_DIMENSIONS = (  # the names that configs use for one size, each in a string
    "hidden_size d_model n_embd n_embed dim embed_dim hidden_dim model_dim d_embed",
    "num_hidden_layers num_layers n_layer n_layers num_blocks n_blocks depth",
    "num_attention_heads num_heads n_head n_heads attention_heads",
    "num_key_value_heads num_kv_heads n_head_kv n_kv_heads n_kv_head multi_query_group_num",
    "intermediate_size ffn_dim d_ff n_inner ffn_hidden_size mlp_dim dim_feedforward d_inner",
    "vocab_size n_vocab padded_vocab_size",
    "num_experts num_local_experts n_routed_experts moe_num_experts",
)
SYNONYMS = {name: names.split() for names in _DIMENSIONS for name in names.split()}
