/** What costs are asked of: a call, a training step, an accelerator. */
import { computed } from "@preact/signals";
import optimizers from "../../../formulas/optimizers.json";
import weights from "../../../formulas/weight_formats.json";
import found from "../../data/accelerators.json";
import { bytes } from "../numbers";
import type { Room } from "../parts/stacked-bar";
import { keep } from "../state";

/** `tokens`: none for as many as are usual. */
export interface Call {
  batch: number;
  tokens: number | null;
  past: number;
  encoder_tokens: number | null;
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

/** An accelerator: its memory as the vendor states it, and the bytes that count; what programs get where that is less. */
export interface Accelerator {
  name: string;
  memory: string;
  bytes: number;
  source: string;
  given?: string;
}

export const ACCELERATORS: Accelerator[] = found.accelerators;
export const ABOUT_MEMORY: string = found.about;
export const SOURCES: Record<string, { title: string; url: string }> = found.sources;
export const GIVEN: Record<string, { memory: string; to: string; url: string }> = found.given;
export const OPTIMIZERS: Record<string, { about: string }> = optimizers;
const dtypes = Object.entries<{ bytes: number; common?: boolean }>(weights.dtypes).filter(
  ([, one]) => one.common,
);
export const DTYPES = dtypes.map(([name]) => name);
export const TRAINED_DTYPES = dtypes.filter(([, { bytes }]) => bytes > 1).map(([name]) => name);
export const QUANTIZED: Record<string, { quantizes: string }> = weights.formats;
export const FORMATS = [...TRAINED_DTYPES, ...Object.keys(QUANTIZED)];

export const call = keep<Call>("call", {
  batch: 1,
  tokens: null,
  past: 0,
  encoder_tokens: null,
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
export const OWN = "own"; // in place of an accelerator's name: memory of any size
export const chosen = keep("accelerator", "NVIDIA H100 SXM");
export const ownGib = keep("memory_gib", 8, (given) =>
  typeof given === "number" && given > 0 ? given : undefined,
);

/** The accelerator that is chosen; none for memory of one's own, or a name that an address has made up. */
export const accelerator = computed(() => ACCELERATORS.find(({ name }) => name === chosen.value));

/** The memory in which something fits or does not. */
export const room = computed((): Room => {
  const one = accelerator.value;
  if (!one) {
    const own = Math.floor(ownGib.value * 2 ** 30); // no part of a byte
    return { called: `the ${ownGib.value.toLocaleString("en-US")} GiB`, bytes: own, most: own };
  }
  const read = one.given ? `${bytes(one.bytes)} for programs` : bytes(one.bytes);
  return {
    called: `the ${one.memory} (${read}) of ${one.name}`,
    bytes: one.bytes,
    most: one.given ? one.bytes : (one.bytes / 1e9) * 2 ** 30,
  };
});
