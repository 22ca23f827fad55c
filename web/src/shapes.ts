/** Validates values of an address, which may be edited, truncated or from another version. */

/** Returns a valid value, or undefined. */
export type Read<Value> = (given: unknown) => Value | undefined;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Accepts one of a list of values. */
export function oneOf<Value>(values: readonly Value[]): Read<Value> {
  return (given) => values.find((one) => one === given);
}

/**
 * Accepts values of the type of an initial value: lists hold texts, and null also allows a whole number or a text.
 * A missing entry gets its initial value; `few` restricts some entries.
 */
export function like<Value>(first: Value, few: Record<string, readonly string[]> = {}): Read<Value> {
  return (given) => {
    const whole = isRecord(first) && isRecord(given) ? { ...first, ...given } : given;
    const chosen = isRecord(whole) ? whole : {};
    const known = Object.entries(few).every(([name, values]) => values.includes(String(chosen[name])));
    return known && hasType(whole, first) ? (whole as Value) : undefined;
  };
}

function hasType(given: unknown, first: unknown): boolean {
  if (first === null) return given === null || typeof given === "string" || Number.isSafeInteger(given);
  if (typeof first === "number") return Number.isSafeInteger(given);
  if (Array.isArray(first)) return Array.isArray(given) && given.every((one) => typeof one === "string");
  if (!isRecord(first)) return typeof given === typeof first;
  if (!isRecord(given)) return false;
  return Object.entries(given).every(
    ([name, one]) => Object.hasOwn(first, name) && hasType(one, first[name]),
  );
}
