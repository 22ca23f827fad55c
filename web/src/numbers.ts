/** Formats numbers like the command line. */

/** A whole number; a string of digits if JavaScript would round it. */
export type Whole = number | bigint | string;

export function whole(value: Whole): string {
  return (typeof value === "string" ? BigInt(value) : value).toLocaleString("en-US");
}

/** `+1,024`. */
export function signed(value: Whole): string {
  return Number(value) > 0 ? `+${whole(value)}` : whole(value);
}

export function percent(part: Whole, all: Whole): string {
  return `${(Number(all) ? (100 * Number(part)) / Number(all) : 0).toFixed(2)}%`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** `474.7 MiB`. */
export function bytes(value: Whole): string {
  const count = Number(value);
  const step = Math.min(SIZES.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 2 ** (10 * step)).toFixed(step ? 1 : 0)} ${SIZES[step]}`;
}

const PREFIXES = ["", "k", "M", "G", "T", "P", "E", "Z"];

/** `3.9 PFLOPs`. */
export function flops(value: Whole): string {
  const count = Number(value);
  const step = Math.min(PREFIXES.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return `${Number((count / 10 ** (3 * step)).toPrecision(3))} ${PREFIXES[step]}FLOPs`;
}

const SCALES: [number, string][] = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
];

/** `6.74B`. */
export function short(value: Whole): string {
  const count = Number(value);
  const [scale, letter] = SCALES.find(([one]) => count >= one) ?? [1, ""];
  return `${Number((count / scale).toPrecision(3))}${letter}`;
}
