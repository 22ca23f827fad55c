/** What costs are asked of: a call, a training step, an accelerator. */
import { computed } from "@preact/signals";
import optimizers from "../../../formulas/optimizers.json";
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
export const DTYPES = ["float32", "bfloat16", "float16", "float8_e4m3fn"];
export const TRAINED_DTYPES = ["bfloat16", "float16", "float32"];
const LINEAR = "the weights of linear layers, not embeddings, nor experts that are one tensor";
const EXPERTS = "the weights of linear layers and of experts, not embeddings";
export const QUANTIZED: Record<string, string> = {
  int8: LINEAR,
  nf4: LINEAR,
  "nf4-double": LINEAR,
  fp4: LINEAR,
  awq: EXPERTS,
  int4: EXPERTS,
  gptq: EXPERTS,
  fp8: EXPERTS,
  nvfp4: EXPERTS,
  mxfp4: "the experts of gpt-oss",
  "mlx-4bit": "the weights of linear layers and embeddings",
  "mlx-8bit": "the weights of linear layers and embeddings",
  q8_0: "all matrices",
};
export const FORMATS = [...DTYPES.filter((one) => !one.startsWith("float8")), ...Object.keys(QUANTIZED)];

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
