/** Numbers as the command line writes them. */

export const whole = (value: number): string => value.toLocaleString("en-US");

export function percent(part: number, all: number): string {
  return `${(all ? (100 * part) / all : 0).toFixed(2)}%`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** `474.7 MiB`. */
export function bytes(value: number): string {
  const step = Math.min(SIZES.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${(value / 2 ** (10 * step)).toFixed(step ? 1 : 0)} ${SIZES[step]}`;
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
