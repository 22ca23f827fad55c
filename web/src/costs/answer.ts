/** The cost reports; archspec/schemas/flops.json, cache.json and memory.json define each entry. */
import type { Problem } from "../engine";
import type { Call } from "../generated";
import type { Whole } from "../numbers";

export type Part<Result> = { result: Result } | { problems: Problem[] };

/** A table of the command line: in `module|>params`, `>` aligns a column to the right. */
export interface ReportTable {
  columns: string;
  rows: string[][];
  header: boolean;
}

export interface Flops {
  architecture: string;
  tokens: number;
  flops: Whole;
  masked_flops: Whole | null;
  flops_per_token: number | null; // null for a class that runs on images, videos or audio
  received: [title: string, text: string][]; // what the model receives, and what became of each file
  notes: string[];
  tables: ReportTable[];
}

export interface Cache {
  batch: number;
  tokens: number;
  cache_elements: Whole;
  cache_bytes: Record<string, Whole>;
  weights_bytes: Whole;
  holds: Record<string, { tokens: Whole | null; batch: Whole }>; // null: any number of tokens
  notes: string[];
  tables: ReportTable[];
}

export interface Memory {
  dtype: string;
  weights: { format: string; elements: number; bytes: number }[];
  cache_bytes: Record<string, Whole>;
  temporary_memory: Record<string, { bytes: Whole; validated: boolean; needed_by: string }>;
  total_bytes: Record<string, Whole>;
  notes: string[];
}

export interface Step {
  flops: Whole | null;
  data_parallel: number;
  tensor_parallel: number;
  pipeline_parallel: number;
  parts: { name: string; dtype: string; sharded_across: number; bytes: Whole }[];
  loss_bytes: Whole | null;
  unsupported: string | null;
  notes: string[];
  total_bytes: Whole;
  excluded: string[];
}

/** The inputs of a call that a class takes, each with the size of an item if none is given. */
export type Inputs = { [Name in keyof Call]?: string };

export interface Costs {
  memory: Part<Memory>;
  cache: Part<Cache>;
  flops: Part<Flops>;
  training: Part<Step>;
}

export interface Answered extends Costs {
  inputs: Inputs;
}
