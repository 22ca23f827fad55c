/** The answers on costs; archspec/schemas/flops.json, cache.json and memory.json say what each entry means. */
import type { Problem } from "../engine";

export type Part<Result> = { result: Result } | { problems: Problem[] };

/** A table as the command line prints it: `module|>params`, of which `>` aligns to the right. */
export interface ReportTable {
  columns: string;
  rows: string[][];
  header: boolean;
}

export interface Flops {
  flops: number;
  masked_flops: number | null;
  flops_per_token: number;
  tables: ReportTable[];
}

export interface Cache {
  cache_elements: number;
  cache_bytes: Record<string, number>;
  weights_bytes: number;
  holds: Record<string, { tokens: number; batch: number }>;
  tables: ReportTable[];
}

export interface Memory {
  dtype: string;
  weights: { format: string; bytes: number }[];
  cache_bytes: Record<string, number>;
  working_set: Record<string, { bytes: number; exact: boolean; needed_by: string }>;
  total_bytes: Record<string, number>;
}

export interface Step {
  flops: number | null;
  parts: { name: string; dtype: string; shared_by: number; bytes: number }[];
  not_described: string | null;
  total_bytes: number | null;
}

export interface Costs {
  flops: Part<Flops>;
  memory: Part<Memory>;
  cache: Part<Cache>;
  training: Part<Step>;
}
