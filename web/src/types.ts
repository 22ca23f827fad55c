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
