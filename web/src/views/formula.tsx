/** The closed form, with its symbols and assumptions. */
import { computed } from "@preact/signals";
import { Fragment } from "preact";
import { answering } from "../answer";
import { askLatest } from "../engine";
import { asked, Options } from "../formula/options";
import { Tex } from "../formula/tex";
import { percent, whole } from "../numbers";
import { Copies } from "../parts/copies";
import { Problems } from "../parts/problems";
import { source, view } from "../state";
import type { Formula, Leading } from "../types";

const answer = answering(() => {
  if (view.value !== "formula") return undefined;
  const of = source.value;
  return askLatest<Formula>("formula", JSON.stringify(of), asked.value).then((found) => ({ ...found, of }));
});
/** The symbols of the model's formula, empty until there is one. */
const symbols = computed(() => {
  const { result } = answer.value;
  return result?.of === source.value ? result.symbols : [];
});

export function FormulaView() {
  const { result, pending, problems } = answer.value;
  return (
    <section class="formula" aria-busy={pending} aria-label="formula">
      <Options fields={symbols.value.map((one) => one.field)} example={example(symbols.value)} />
      {problems.length ? <Problems problems={problems} /> : null}
      {pending ? (
        <p role="status" class="note">
          {result ? "deriving the formula …" : "loading SymPy and deriving the formula …"}
        </p>
      ) : null}
      {result && !problems.length ? <Shown formula={result} /> : null}
    </section>
  );
}

/** A common assumption, if the formula has its fields. */
function example(all: Formula["symbols"]): string {
  const meant = (meaning: string) => all.find((one) => one.meaning.startsWith(meaning))?.field;
  const [inner, width] = [meant("feed-forward width"), meant("model width")];
  return inner && width ? `${inner} = 4*${width}` : "";
}

function Shown({ formula }: { formula: Formula }) {
  const { leading, value, parts } = formula;
  const sign = leading ? "\\approx" : "=";
  const name = `N_{\\mathrm{${asked.value.quantity.replaceAll("_", "\\_")}}}`;
  return (
    <>
      <h2>{formula.architecture}</h2>
      <div class="display">
        <Tex latex={`${name} ${sign} ${formula.latex}`} />
      </div>
      <p>
        {leading ? `≈ ${whole(leading.value)}, exactly ` : "= "}
        <output id="formula-value">{whole(value)}</output> at the values below
      </p>
      {leading ? <Dropped leading={leading} /> : null}
      {parts.length ? <Parts parts={parts} sign={sign} /> : null}
      <Legend formula={formula} />
      <Assumptions formula={formula} />
      <h3>Copy</h3>
      <Copies copies={formula.copies} />
    </>
  );
}

function Dropped({ leading }: { leading: Leading }) {
  const growing = leading.growing.join(", ") || "no field";
  if (leading.dropped_latex === "0") {
    return <p class="note">growing: {growing}; no terms were dropped</p>;
  }
  return (
    <p class="note">
      growing: {growing}; dropped: <Tex latex={leading.dropped_latex} />, which is{" "}
      {whole(leading.dropped_value)} ({percent(leading.dropped_share, 1)}) here
    </p>
  );
}

function Parts({ parts, sign }: { parts: Formula["parts"]; sign: string }) {
  return (
    <>
      <h3>By {asked.value.by}</h3>
      <ul class="parts">
        {parts.map((one, rank) => (
          <li key={rank}>
            <b>{one.label || "all"}</b>
            <span class="display">
              <Tex latex={`${sign} ${one.latex}`} />
            </span>
            <span class="number">
              {whole(one.value)} ({percent(one.share, 1)})
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Legend({ formula }: { formula: Formula }) {
  return (
    <>
      <h3>Symbols</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section class="scrolls" aria-label="symbols" tabIndex={0}>
        <table class="legend">
          <thead>
            <tr>
              <th scope="col">symbol</th>
              <th scope="col">field</th>
              <th scope="col" class="number">
                value
              </th>
              <th scope="col">meaning</th>
            </tr>
          </thead>
          <tbody>
            {formula.symbols.map((one) => (
              <tr key={one.field}>
                <td>
                  <Tex latex={one.latex} />
                </td>
                <td>{one.field in formula.definitions ? "" : <Field name={one.field} />}</td>
                <td class="number">{whole(one.value)}</td>
                <td>{one.meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

/** A field's name that may break between its words. */
function Field({ name }: { name: string }) {
  return name.split(/(?<=[_.])/).map((word, rank) => (
    <Fragment key={rank}>
      {word}
      <wbr />
    </Fragment>
  ));
}

function Assumptions({ formula }: { formula: Formula }) {
  return (
    <>
      {formula.assumptions.length ? <h3>Valid for</h3> : null}
      <ul class="assumptions">
        {formula.assumptions.map((one) => (
          <li key={one}>
            <code>{one}</code>
          </li>
        ))}
      </ul>
      {formula.unused.length ? <p class="note">not in the formula: {formula.unused.join(", ")}</p> : null}
    </>
  );
}
