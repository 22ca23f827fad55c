/** The answers of the engine; archspec/schemas/ says what each entry means. */
export interface Counts {
  architecture: string;
  model_type: string;
  params: number;
  trainable_params: number;
  active_params: number;
  active_params_without_lookup: number;
  embedding_params: number;
  non_embedding_params: number;
  buffers: number;
  dtype: string;
  bytes: number | null;
  notes: string[];
  transformers_version: string;
}

export interface Module {
  module: string;
  name: string;
  label: string;
  copies: number;
  params: number;
  buffers: number;
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
  numel: number;
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
  value: number;
  growing: string[];
  dropped_latex: string;
  dropped_value: number;
  dropped_share: number;
}

export interface Formula {
  architecture: string;
  value: number;
  latex: string;
  parts: { label: string; latex: string; value: number; share: number }[];
  leading: Leading | null;
  symbols: { field: string; symbol: string; latex: string; meaning: string; value: number }[];
  definitions: Record<string, string>;
  assumptions: string[];
  unused: string[];
  copies: Record<"LaTeX" | "LaTeX document" | "Python" | "Markdown", string>;
}
