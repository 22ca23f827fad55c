/** The answers on two models; archspec/schemas/diff.json says what each entry means. */
import type { Part } from "../costs/answer";
import type { Whole } from "../numbers";
import type { Source } from "../state";
import type { Counts, FieldValue } from "../types";

export interface Change {
  kind: string;
  module: string;
  before: string;
  after: string;
  params: Whole;
  buffers: Whole;
}

export interface Changes {
  changes: Change[];
  prefixes: [string, string];
  fields: Record<string, { a: unknown; b: unknown }>;
}

export interface CostChange {
  quantity: string;
  before: Whole;
  after: Whole;
}

/** `notes` are on the FLOPs of both calls. */
export interface CostChanges {
  changes: CostChange[];
  notes: string[];
}

/** `diff` is null where one of the sides is refused; `sources` are what the sides were asked as. */
export interface Compared {
  sources: [Source, Source];
  a: Part<Counts>;
  b: Part<Counts>;
  diff: Changes | null;
  costs?: Part<CostChanges>;
}

/** Closed forms: of each change, in the order of changes, and of the whole. */
export interface Forms {
  changes: { formula: string | null }[];
  formula: string | null;
  missing: string;
}

/** A field that is a size, and its value. */
export interface Size {
  field: string;
  value: number;
}

export function sizesIn(fields: FieldValue[]): Size[] {
  return fields.flatMap(({ field, types, value }) =>
    types.includes("int") && Number.isSafeInteger(value) && Number(value) > 0
      ? [{ field, value: Number(value) }]
      : [],
  );
}
