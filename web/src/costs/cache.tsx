/** The KV cache after a forward pass, and how much of it fits the accelerator. */
import { bytes, type Whole, whole } from "../numbers";
import { ReportTable } from "../parts/report-table";
import type { Cache } from "./answer";
import { room } from "./asked";

const ALLOCATIONS: Record<string, string> = {
  exact: "exact (DynamicCache)",
  static: "static (StaticCache)",
  pages: "pages (serving engines)",
};

export function CacheOf({ cache }: { cache: Cache }) {
  return (
    <>
      <p>{whole(cache.cache_elements)} elements</p>
      <ReportTable
        name="bytes of the cache"
        table={{
          columns: `allocation|>bytes|>|>most tokens at batch ${whole(cache.batch)}|>largest batch at ${whole(cache.tokens)} tokens`,
          header: true,
          rows: Object.entries(cache.cache_bytes).map(([name, count]) => [
            ALLOCATIONS[name] ?? name,
            ...exactAndShort(count),
            ...held(cache, name),
          ]),
        }}
      />
      <p class="note">{heldBeside(cache)}</p>
      {cache.notes.map((one) => (
        <p class="note" key={one}>
          {one}
        </p>
      ))}
      {cache.tables.slice(1).map((one) => (
        <ReportTable key={one.columns} table={one} name="tensors of the cache" />
      ))}
    </>
  );
}

const exactAndShort = (count: Whole) => [whole(count), bytes(count)];

function held({ holds }: Cache, name: string): string[] {
  const most = holds[name];
  if (!most) return [];
  return [most.tokens === null ? "any number" : whole(most.tokens), whole(most.batch)];
}

function heldBeside({ weights_bytes }: Cache): string {
  const { called, bytes: size } = room.value;
  const weights = `the weights (${bytes(weights_bytes)})`;
  if (Number(weights_bytes) > size) return `Nothing fits: ${weights} exceed ${called}.`;
  // the answer does not say whether memory or positions end first
  return `Limits: what ${called} can hold after ${weights}, without temporary memory, and the model's maximum number of positions.`;
}
