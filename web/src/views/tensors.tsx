import { signal } from "@preact/signals";
import { answering } from "../answer";
import { ask } from "../engine";
import { whole } from "../numbers";
import { Problems } from "../parts/problems";
import { source } from "../state";
import type { Tensor } from "../types";

const answer = answering(() => ask<Tensor[]>("tensors", JSON.stringify(source.value)));
const filter = signal("");
const SHOWN = 400; // rows that a browser lays out at once

export function TensorsView() {
  const { result, problems } = answer.value;
  if (problems.length) return <Problems problems={problems} text={source.value.text} />;
  if (!result) return <p role="status">counting …</p>;
  const found = result.filter((one) => one.name.includes(filter.value));
  return (
    <section>
      <label>
        Filter
        <input
          type="search"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
      </label>
      <p>
        {whole(found.length)} of {whole(result.length)} tensors
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col">shape</th>
            <th scope="col">elements</th>
            <th scope="col" />
          </tr>
        </thead>
        <tbody>
          {found.slice(0, SHOWN).map((one) => (
            <tr key={one.name}>
              <td>{one.name}</td>
              <td>{one.shape.join(" × ")}</td>
              <td class="number">{whole(one.numel)}</td>
              <td>{told(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.length > SHOWN ? <p>the first {SHOWN}; a longer filter shows the others</p> : null}
    </section>
  );
}

function told(tensor: Tensor): string {
  if (tensor.tied_to) return `tied to ${tensor.tied_to}`;
  if (tensor.kind === "buffer") return "buffer";
  return tensor.trainable ? "" : "frozen";
}
