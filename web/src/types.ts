/** The answers of the engine; archspec/schemas/ says what each entry means. */
import type { Whole } from "./numbers";

export interface Counts {
  architecture: string;
  model_type: string;
  params: Whole;
  trainable_params: Whole;
  active_params: Whole;
  active_params_without_lookup: Whole;
  embedding_params: Whole;
  non_embedding_params: Whole;
  buffers: Whole;
  dtype: string;
  format: string;
  bytes: Whole | null;
  notes: string[];
  transformers_version: string;
}

export interface Module {
  module: string;
  name: string;
  label: string;
  copies: number;
  params: Whole;
  buffers: Whole;
  marks: string[];
  children: Module[];
}

export interface Counted {
  counts: Counts;
  tree: Module;
}

export interface Tensor {
  name: string;
  shape: number[];
  numel: Whole;
  kind: "parameter" | "buffer";
  trainable: boolean;
  tied_to: string | null;
}

export interface Catalogue {
  model_types: { model_type: string; architectures: string[] }[];
}

export interface FieldValue {
  field: string;
  symbol: string;
  types: string[];
  value: unknown;
  given: boolean;
  computed: boolean;
  choices: string[];
}

export interface Leading {
  value: Whole;
  growing: string[];
  dropped_latex: string;
  dropped_value: Whole;
  dropped_share: number;
}

export interface Formula {
  architecture: string;
  value: Whole;
  latex: string;
  parts: { label: string; latex: string; value: Whole; share: number }[];
  leading: Leading | null;
  symbols: { field: string; symbol: string; latex: string; meaning: string; value: Whole }[];
  definitions: Record<string, string>;
  assumptions: string[];
  unused: string[];
  copies: Record<"LaTeX" | "LaTeX document" | "Python" | "Markdown", string>;
}
