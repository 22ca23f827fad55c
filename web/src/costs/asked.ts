/** The inputs of costs: a call, a training step, an accelerator. */
import { computed } from "@preact/signals";
import optimizers from "../../../formulas/optimizers.json";
import weights from "../../../formulas/weight_formats.json";
import found from "../../data/accelerators.json";
import { CALL, type Call, TRAINING, type Training } from "../generated";
import { bytes } from "../numbers";
import type { Room } from "../parts/stacked-bar";
import { keep } from "../state";

export type { Call, Training } from "../generated";

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

export const call = keep<Call>("call", CALL);
export const training = keep<Training>("training", TRAINING);
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
