/** The reports on two models; archspec/schemas/diff.json defines each entry. */
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

/** `notes`: on the FLOPs of both calls. */
export interface CostChanges {
  changes: CostChange[];
  notes: string[];
}

/** `diff` is null if a side is refused; `sources` are the sources of both sides. */
export interface Compared {
  sources: [Source, Source];
  a: Part<Counts>;
  b: Part<Counts>;
  diff: Changes | null;
  costs?: Part<CostChanges>;
}

/** Closed forms: one per change, in the same order, and their sum. */
export interface Forms {
  changes: { formula: string | null }[];
  formula: string | null;
  missing: string;
}

/** An integer field and its value. */
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
