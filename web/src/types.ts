/** The reports of the engine; archspec/schemas/ defines each entry. */
import type { Counts } from "./generated";
import type { Whole } from "./numbers";

export type { Counts } from "./generated";

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

export interface Catalog {
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
