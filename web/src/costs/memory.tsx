/** The memory of a forward pass, compared with the accelerator's. */
import { bytes, type Whole, whole } from "../numbers";
import { ReportTable } from "../parts/report-table";
import { StackedBar } from "../parts/stacked-bar";
import type { Memory } from "./answer";
import { call, QUANTIZED, room } from "./asked";

export function MemoryOf({ memory }: { memory: Memory }) {
  return (
    <>
      {groupedBySize(memory).map(([allocation, ...others], rank, all) => {
        const alive = memory.temporary_memory[allocation];
        if (!alive) return null;
        return (
          <div key={allocation} id={`memory-${allocation}`}>
            {all.length > 1 ? <h3>Cache: {[allocation, ...others].join(", ")}</h3> : null}
            <StackedBar
              room={room.value}
              least={!alive.validated}
              segments={[
                ...memory.weights.map((one) => ({ name: `weights in ${one.format}`, bytes: one.bytes })),
                { name: `cache in ${memory.dtype}`, bytes: memory.cache_bytes[allocation] ?? 0 },
                {
                  name: alive.validated ? "temporary memory" : "temporary memory, lower bound",
                  bytes: alive.bytes,
                },
              ]}
            />
            <p class="note">{validation(alive)}</p>
            {rank === 0 ? <NotTaken memory={memory} /> : null}
          </div>
        );
      })}
      {memory.notes.map((one) => (
        <p class="note" key={one}>
          {one}
        </p>
      ))}
      <details>
        <summary>in bytes</summary>
        <InBytes memory={memory} />
      </details>
    </>
  );
}

function validation({ validated, needed_by }: Memory["temporary_memory"][string]): string {
  return validated
    ? `Validated against torch's allocations; the peak is in ${needed_by}.`
    : `A lower bound: peak temporary memory is not validated for this model; the output of ${needed_by} is included.`;
}

/** The cache allocations, grouped by their size as printed; the bar shows the first of a group. */
function groupedBySize(memory: Memory): [string, ...string[]][] {
  const weights = memory.weights.reduce((sum, one) => sum + one.bytes, 0);
  const found = new Map<string, [string, ...string[]]>();
  for (const name of Object.keys(memory.temporary_memory)) {
    const written = bytes(weights + Number(memory.cache_bytes[name] ?? 0));
    const names = found.get(written);
    if (names) names.push(name);
    else found.set(written, [name]);
  }
  return [...found.values()];
}

/** Notes the weights that the chosen format leaves unquantized. */
function NotTaken({ memory }: { memory: Memory }) {
  const taken = QUANTIZED[call.value.weights ?? ""]?.quantizes;
  const [, left] = memory.weights;
  if (!taken || !left) return null;
  const all = memory.weights.reduce((sum, one) => sum + one.elements, 0);
  return (
    <p class="note">
      {call.value.weights} quantizes {taken}: {whole(left.elements)} of {whole(all)} parameters stay in{" "}
      {left.format}.
    </p>
  );
}

function InBytes({ memory }: { memory: Memory }) {
  const allocations = Object.entries(memory.temporary_memory);
  const same = (count: Whole) => allocations.map(() => whole(count));
  const rows = [
    ...memory.weights.map((one) => [`weights in ${one.format}`, ...same(one.bytes)]),
    [`cache in ${memory.dtype}`, ...allocations.map(([name]) => whole(memory.cache_bytes[name] ?? 0))],
    ["temporary memory", ...allocations.map(([, one]) => bound(one.validated, one.bytes))],
    ["total", ...allocations.map(([name, one]) => bound(one.validated, memory.total_bytes[name] ?? 0))],
  ];
  const heads = allocations.map(([name]) => (name === "none" ? ">bytes" : `>cache ${name}`));
  return (
    <ReportTable
      name="inference memory"
      table={{ columns: ["part", ...heads].join("|"), header: true, rows }}
    />
  );
}

const bound = (validated: boolean, count: Whole) => (validated ? whole(count) : `≥ ${whole(count)}`);
