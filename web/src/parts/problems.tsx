import type { Problem } from "../engine";

/** What is refused, with the line of the pasted text and a caret, as on the command line. */
export function Problems({ problems, text }: { problems: Problem[]; text?: string | undefined }) {
  if (problems.length === 0) return null;
  return (
    <div role="alert" class="problems">
      {problems.map((one) => (
        <div key={one.message}>
          <p>
            {one.line && !one.text ? `line ${one.line}, column ${one.column}: ` : ""}
            {one.message}
          </p>
          {one.line && (one.text ?? text) ? <pre>{pointed(one.text ?? text ?? "", one)}</pre> : null}
          {one.help ? <p class="help">{one.help}</p> : null}
        </div>
      ))}
    </div>
  );
}

const CONTEXT = 80; // characters of a line: of longer ones what stands around the place

function pointed(text: string, { line = 1, column = 1, width = 1 }: Problem): string {
  const start = Math.max(0, column - 1 - CONTEXT / 2);
  const shown = (text.split("\n")[line - 1] ?? "").replaceAll("\t", " ").slice(start, start + CONTEXT);
  const offset = column - 1 - start;
  const carets = "^".repeat(Math.max(1, Math.min(width, shown.length - offset)));
  return `${shown}\n${" ".repeat(offset)}${carets}`;
}
