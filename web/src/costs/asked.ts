/** The inputs of costs: the forward pass, the training step and the accelerator. */
import { computed } from "@preact/signals";
import gguf from "../../../formulas/gguf_types.json";
import optimizers from "../../../formulas/optimizers.json";
import weights from "../../../formulas/weight_formats.json";
import found from "../../data/accelerators.json";
import { CALL, type Call, TRAINING, type Training } from "../generated";
import { bytes } from "../numbers";
import type { Room } from "../parts/stacked-bar";
import { keep } from "../state";

export type { Call, Training } from "../generated";

/** An accelerator: the vendor's figure, the bytes, and the bytes that programs can use if those are fewer. */
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
export const FORMATS = [...TRAINED_DTYPES, ...Object.keys(QUANTIZED), ...Object.keys(gguf.files)];

export const call = keep<Call>("call", CALL);
export const training = keep<Training>("training", TRAINING);
export const OWN = "own"; // instead of an accelerator's name: memory of any size
export const chosen = keep("accelerator", "NVIDIA H100 SXM");
export const ownGib = keep("memory_gib", 8, (given) =>
  typeof given === "number" && given > 0 ? given : undefined,
);

/** The chosen accelerator; undefined for custom memory or an unknown name in the address. */
export const accelerator = computed(() => ACCELERATORS.find(({ name }) => name === chosen.value));

/** The memory that the costs are compared with. */
export const room = computed((): Room => {
  const one = accelerator.value;
  if (!one) {
    const own = Math.floor(ownGib.value * 2 ** 30); // whole bytes
    return { called: `the ${ownGib.value.toLocaleString("en-US")} GiB`, bytes: own, most: own };
  }
  const read = one.given ? `${bytes(one.bytes)} for programs` : bytes(one.bytes);
  return {
    called: `the ${one.memory} (${read}) of ${one.name}`,
    bytes: one.bytes,
    most: one.given ? one.bytes : (one.bytes / 1e9) * 2 ** 30,
  };
});
