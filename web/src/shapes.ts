/** Values of an address in the shape that the page takes: an address is made by hand, cut off, or of another version. */

/** A value as the page takes it; undefined for one of another shape. */
export type Read<Value> = (given: unknown) => Value | undefined;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One of a few. */
export function oneOf<Value>(values: readonly Value[]): Read<Value> {
  return (given) => values.find((one) => one === given);
}

/**
 * What is of the kind of a first value: lists hold texts, and where the first is null, a whole number or a text may be.
 * An entry that is missing is as at first; some entries are one of a few.
 */
export function like<Value>(first: Value, few: Record<string, readonly string[]> = {}): Read<Value> {
  return (given) => {
    const whole = isRecord(first) && isRecord(given) ? { ...first, ...given } : given;
    const chosen = isRecord(whole) ? whole : {};
    const known = Object.entries(few).every(([name, values]) => values.includes(String(chosen[name])));
    return known && alike(whole, first) ? (whole as Value) : undefined;
  };
}

function alike(given: unknown, first: unknown): boolean {
  if (first === null) return given === null || typeof given === "string" || Number.isSafeInteger(given);
  if (typeof first === "number") return Number.isSafeInteger(given);
  if (Array.isArray(first)) return Array.isArray(given) && given.every((one) => typeof one === "string");
  if (!isRecord(first)) return typeof given === typeof first;
  if (!isRecord(given)) return false;
  return Object.entries(given).every(([name, one]) => Object.hasOwn(first, name) && alike(one, first[name]));
}
