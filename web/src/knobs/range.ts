/** The range and the step of a slider around the config's value. */
export interface Range {
  min: number;
  max: number;
  step: number;
}

const REACH = 4; // times the value
const SMALL = 16; // up to this value the step is 1

/** The step of a width keeps it a multiple of 2 × its head counts, because other widths are refused. */
export function range(value: number, heads: number[]): Range {
  if (!Number.isInteger(value)) return { min: 0, max: REACH * value || 1, step: Math.max(value / 32, 0.001) };
  const max = Math.max(SMALL, REACH * value);
  if (value <= SMALL) return { min: Math.min(value, 1), max, step: 1 };
  const even = 2 * heads.filter((one) => one > 1 && value % one === 0).reduce(leastCommonMultiple, 1);
  const step =
    value % even === 0 && even <= value / 4 ? Math.max(even, evenStep(value, even)) : evenStep(value, 1);
  return { min: step, max: max - (max % step), step };
}

/** The head counts that a slider offers: divisors and small multiples of the config's value. */
export function headCounts(value: number): number[] {
  const below = Array.from({ length: value }, (_, before) => before + 1);
  return [...below.filter((one) => value % one === 0), 2 * value, 3 * value, 4 * value];
}

/** The largest power-of-two multiple of `first` that divides the value at least a dozen times. */
function evenStep(value: number, first: number): number {
  let step = first;
  while (value % (2 * step) === 0 && 2 * step <= value / 12) step *= 2;
  return step;
}

function leastCommonMultiple(a: number, b: number): number {
  return (a * b) / greatestCommonDivisor(a, b);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
