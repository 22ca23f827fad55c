/** How far a slider reaches around the value of a config, and in which steps. */
export interface Range {
  min: number;
  max: number;
  step: number;
}

const REACH = 4; // times the value
const SMALL = 16; // below that each number is worth a step

/** A width goes in steps that its heads divide evenly, with an even size of each head: others are refused. */
export function range(value: number, heads: number[]): Range {
  if (!Number.isInteger(value)) return { min: 0, max: REACH * value || 1, step: Math.max(value / 32, 0.001) };
  const max = Math.max(SMALL, REACH * value);
  if (value <= SMALL) return { min: Math.min(value, 1), max, step: 1 };
  const even = 2 * heads.filter((one) => one > 1 && value % one === 0).reduce(leastCommonMultiple, 1);
  const step =
    value % even === 0 && even <= value / 4 ? Math.max(even, evenStep(value, even)) : evenStep(value, 1);
  return { min: step, max: max - (max % step), step };
}

/** The numbers of heads that a slider offers: those that divide what they are, and its multiples. */
export function headCounts(value: number): number[] {
  const below = Array.from({ length: value }, (_, before) => before + 1);
  return [...below.filter((one) => value % one === 0), 2 * value, 3 * value, 4 * value];
}

/** The largest step of doubled ones that divides a value, with a dozen steps below it. */
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
