/** The overridden fields, shown in every view. */
import { turn } from "../knobs/fields";
import { source } from "../state";

export function SetFields() {
  const { set, ...rest } = source.value;
  if (!set) return null;
  return (
    <p class="set-fields">
      set:{" "}
      {Object.entries(set).map(([field, value]) => (
        <button key={field} type="button" onClick={() => turn(field, undefined)}>
          <span class="unseen">reset </span>
          {field} = {JSON.stringify(value)} ✕
        </button>
      ))}
      <button type="button" onClick={() => (source.value = rest)}>
        reset all
      </button>
    </p>
  );
}
