import { attempts, type Problem } from "../engine";

/** Errors with the source line and a caret, as on the command line. */
export function Problems({ problems }: { problems: Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <div role="alert" class="problems">
      {problems.map((one) => (
        <div key={one.message}>
          <p>
            {one.line ? `line ${one.line}, column ${one.column}: ` : ""}
            {one.message}
          </p>
          {one.excerpt ? <Excerpt parts={one.excerpt} /> : null}
          {one.help ? <p class="help">{one.help}</p> : null}
          {one.report ? <pre class="report">{one.report}</pre> : null}
          {one.unloaded ? (
            <button type="button" onClick={() => (attempts.value += 1)}>
              Try again
            </button>
          ) : null}
        </div>
      ))}
    </div>
  );
}

/** Errors below the input that they are about, which refers to their `id`. */
export function InputProblems({ problems, id }: { problems: Problem[]; id: string }) {
  if (problems.length === 0) return null;
  return (
    <div id={id} class="wide">
      {problems.map((one) => (
        <p key={one.message} role="alert" class="refusal">
          {one.message} <span class="help">{one.help}</span>
        </p>
      ))}
    </div>
  );
}

/** The hidden text before the carets aligns them in any font. */
function Excerpt({ parts: [before, there, after] }: { parts: NonNullable<Problem["excerpt"]> }) {
  return (
    <pre>
      {`${before}${there}${after}\n`}
      <span class="before">{before}</span>
      {"^".repeat(Math.max(1, [...there].length))}
    </pre>
  );
}
