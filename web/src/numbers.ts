/** Numbers as the command line writes them. */

/** A whole number; its digits where JavaScript would round it. */
export type Whole = number | string;

export function whole(value: Whole): string {
  return (typeof value === "string" ? BigInt(value) : value).toLocaleString("en-US");
}

export function percent(part: number, all: number): string {
  return `${(all ? (100 * part) / all : 0).toFixed(2)}%`;
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
export function short(value: number): string {
  const [scale, letter] = SCALES.find(([one]) => value >= one) ?? [1, ""];
  return `${Number((value / scale).toPrecision(3))}${letter}`;
}
