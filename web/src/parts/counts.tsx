/** The counts of a model, as facts, an icicle plot and a tree of modules. */
import { dtype } from "../counted";
import { QUANTITIES } from "../generated";
import { bytes, short, type Whole, whole } from "../numbers";
import type { Counted, Counts } from "../types";
import { Icicle } from "./icicle";
import { ModuleTree } from "./module-tree";
import { OptionsOf, Select } from "./select";

const FACTS = QUANTITIES.filter(({ name }) => name !== "params");

/** `stale`: the last change was refused, and these are the counts before it. */
export function CountsOf({ counts, tree, stale = false }: Counted & { stale?: boolean }) {
  return (
    <>
      <h2>{counts.architecture}</h2>
      <p class="total">
        <output id="params">{whole(counts.params)}</output> parameters ({short(counts.params)})
        {stale ? <small class="refusal"> before the error</small> : null}
      </p>
      <dl class="facts">
        {FACTS.map(({ name, title, help }) => (
          <div key={name} title={help}>
            <dt>{title}</dt>
            <dd data-count={name}>{whole(counts[name] as Whole)}</dd>
          </div>
        ))}
        <Bytes counts={counts} />
      </dl>
      {counts.notes.length ? <h3>Notes</h3> : null}
      <ul class="notes">
        {counts.notes.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
      <Icicle
        title="parameters by module"
        tree={tree}
        amount={(module) => Number(module.params)}
        said={(params) => `${Number.isSafeInteger(params) ? whole(params) : short(params)} parameters`}
      />
      <h3>Modules</h3>
      <div class="modules">
        <ModuleTree module={tree} all={tree.params} />
      </div>
    </>
  );
}

const DTYPES = ["float32", "bfloat16", "float16", "float8_e4m3fn", "int8", "float64"];

function Bytes({ counts }: { counts: Counts }) {
  const known = DTYPES.includes(counts.format) ? DTYPES : [counts.format, ...DTYPES];
  return (
    <div class="wide">
      <dt>
        <Select
          class="inline"
          label="bytes in"
          value={counts.format}
          choose={(chosen) => (dtype.value = DTYPES.includes(chosen) ? chosen : "")}
        >
          <OptionsOf values={known} />
        </Select>
      </dt>
      <dd data-count="bytes">
        {counts.bytes === null ? "unknown" : `${whole(counts.bytes)} (${bytes(counts.bytes)})`}
      </dd>
    </div>
  );
}
