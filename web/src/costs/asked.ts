/** What costs are asked of: a call, a training step, an accelerator. */
import optimizers from "../../../formulas/optimizers.json";
import found from "../../data/accelerators.json";
import { keep } from "../state";

export interface Call {
  batch: number;
  tokens: number;
  past: number;
  memory: number | null;
  dtype: string | null;
  weights: string | null;
  last: boolean;
}

export interface Training {
  dtype: string;
  optimizer: string;
  attention: string;
  checkpointing: boolean;
  data_parallel: number;
  zero: number;
  tensor_parallel: number;
  pipeline_parallel: number;
  expert_parallel: number;
}

export interface Accelerator {
  name: string;
  memory: string;
  bytes: number;
  source: string;
}

export const ACCELERATORS: Accelerator[] = found.accelerators;
export const ABOUT_MEMORY: string = found.about;
export const OPTIMIZERS: Record<string, { about: string }> = optimizers;
export const DTYPES = ["float32", "bfloat16", "float16", "float8_e4m3fn"];
export const TRAINED_DTYPES = ["bfloat16", "float16", "float32"];
export const FORMATS = [...DTYPES, "int8", "int4", "nf4", "fp4", "mxfp4"];

export const call = keep<Call>("call", {
  batch: 1,
  tokens: 2048,
  past: 0,
  memory: null,
  dtype: null,
  weights: null,
  last: false,
});
export const training = keep<Training>("training", {
  dtype: "bfloat16",
  optimizer: "adamw",
  attention: "flash",
  checkpointing: false,
  data_parallel: 1,
  zero: 0,
  tensor_parallel: 1,
  pipeline_parallel: 1,
  expert_parallel: 1,
});
export const chosen = keep("accelerator", "NVIDIA H100 SXM");

/** The accelerator that is chosen; the first of all for a name that an address has made up. */
export function accelerator(): Accelerator {
  const one = ACCELERATORS.find(({ name }) => name === chosen.value) ?? ACCELERATORS[0];
  if (!one) throw new Error("data/accelerators.json is empty");
  return one;
}
