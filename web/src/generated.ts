/** Written by `python -m tools.release` from archspec/tables/: edit these. */
import type { Whole } from "./numbers";

export interface Counts {
  /** the class */
  architecture: string;
  /** the model type */
  model_type: string;
  /** unique parameters; tied weights count once */
  params: Whole;
  /** unique parameters with requires_grad */
  trainable_params: Whole;
  /** parameters used per token: the top-k of E routed experts, and everything else in full, embedding tables included */
  active_params: Whole;
  /** active parameters excluding lookup-only embedding tables, as on model cards; a table tied to the output embeddings is included */
  active_params_without_lookup: Whole;
  /** the tables of every nn.Embedding and the weight of get_output_embeddings(); tied weights count once */
  embedding_params: Whole;
  /** all parameters except embedding_params */
  non_embedding_params: Whole;
  /** elements of persistent buffers */
  buffers: Whole;
  /** the dtype of unquantized parameters: the requested one, else the config's */
  dtype: string;
  /** the weight formats that `bytes` assumes */
  format: string;
  /** bytes of the parameters; null if the dtype or quantization is unsupported */
  bytes: Whole | null;
  /** notes on this count */
  notes: string[];
  /** the version of transformers that the specs match */
  transformers_version: string;
}

export interface Call { batch: number; tokens: number | null; past: number; encoder_tokens: number | null; text_tokens: number | null; images: string[]; videos: string[]; audios: string[]; processed: boolean; dtype: string | null; weights: string | null; group_size: number | null; last: boolean }
export const CALL: Call = {"batch": 1, "tokens": null, "past": 0, "encoder_tokens": null, "text_tokens": null, "images": [], "videos": [], "audios": [], "processed": false, "dtype": null, "weights": null, "group_size": null, "last": false};

export interface Training { dtype: string; optimizer: string; attention: string; checkpointing: boolean; data_parallel: number; zero: number; tensor_parallel: number; pipeline_parallel: number; expert_parallel: number }
export const TRAINING: Training = {"dtype": "bfloat16", "optimizer": "adamw", "attention": "flash", "checkpointing": false, "data_parallel": 1, "zero": 0, "tensor_parallel": 1, "pipeline_parallel": 1, "expert_parallel": 1};

export interface Axis { name: keyof Call & string; help: string; usual: string }
export const AXES: Axis[] = [{"name": "batch", "help": "batch size: number of sequences", "usual": ""}, {"name": "tokens", "help": "new tokens per sequence", "usual": "2048, or the model's maximum if smaller"}, {"name": "past", "help": "tokens in the KV cache before the forward pass", "usual": ""}, {"name": "encoder_tokens", "help": "encoder sequence length; required for an encoder-decoder", "usual": "0 for other models"}];
export interface Quantity { name: keyof Counts; title: string; help: string }
export const QUANTITIES: Quantity[] = [{"name": "params", "title": "params", "help": "unique parameters; tied weights count once"}, {"name": "trainable_params", "title": "trainable", "help": "unique parameters with requires_grad"}, {"name": "active_params", "title": "active", "help": "parameters used per token: the top-k of E routed experts, and everything else in full, embedding tables included"}, {"name": "active_params_without_lookup", "title": "active without lookup", "help": "active parameters excluding lookup-only embedding tables, as on model cards; a table tied to the output embeddings is included"}, {"name": "embedding_params", "title": "embedding", "help": "the tables of every nn.Embedding and the weight of get_output_embeddings(); tied weights count once"}, {"name": "non_embedding_params", "title": "non-embedding", "help": "all parameters except embedding_params"}, {"name": "buffers", "title": "persistent buffers", "help": "elements of persistent buffers"}];
export const BUDGETS: { name: string; help: string }[] = [{"name": "params", "help": "target parameter count (7e9, 1.3B), or a range (6e9..7e9)"}, {"name": "active_params", "help": "target count of active parameters, or a range"}, {"name": "non_embedding_params", "help": "target count of non-embedding parameters, or a range"}, {"name": "bytes", "help": "limit on the bytes of the weights, e.g. 16GiB"}, {"name": "flops", "help": "target FLOPs of training on --tokens T, e.g. 1e22"}, {"name": "memory", "help": "limit on the memory of weights and KV cache, e.g. 80GiB"}, {"name": "compute", "help": "training compute in FLOPs, e.g. 1e21; target the model size that --law predicts for it"}];
export const GROUPS = ["repetition", "component", "module", "layer", "polynomial"] as const;
