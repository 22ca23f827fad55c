/** The FLOPs of a forward pass, by module. */
import { flops as short, whole } from "../numbers";
import { Fact } from "../parts/fact";
import { Icicle } from "../parts/icicle";
import { ReportTable } from "../parts/report-table";
import type { Flops } from "./answer";
import { flopsTree } from "./tree";

export function FlopsOf({ flops }: { flops: Flops }) {
  const { architecture, masked_flops, flops_per_token, tables } = flops;
  return (
    <>
      <p class="total">
        <output id="flops">{whole(flops.flops)}</output> FLOPs ({short(flops.flops)})
      </p>
      <dl class="facts">
        <Fact
          title="within the attention mask"
          value={masked_flops === null ? "not available" : whole(masked_flops)}
        />
        {flops_per_token === null ? null : (
          <Fact title="per token" value={whole(Math.round(flops_per_token))} />
        )}
      </dl>
      {flops.notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {tables.slice(1).map((one) => (
        <div key={one.columns}>
          <Icicle
            title="FLOPs by module"
            tree={flopsTree(architecture, one.rows)}
            amount={(module) => module.flops}
            said={short}
          />
          <details>
            <summary>by module</summary>
            <ReportTable table={one} name="FLOPs by module" />
          </details>
        </div>
      ))}
    </>
  );
}
