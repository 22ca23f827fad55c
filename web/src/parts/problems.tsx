import type { Problem } from "../engine";

/** What is refused, with the line of the pasted text and a caret, as on the command line. */
export function Problems({ problems, text }: { problems: Problem[]; text?: string | undefined }) {
  if (problems.length === 0) return null;
  return (
    <div role="alert" class="problems">
      {problems.map((one) => (
        <div key={one.message}>
          <p>
            {one.line ? `line ${one.line}, column ${one.column}: ` : ""}
            {one.message}
          </p>
          {one.line && text ? <pre>{pointed(text, one)}</pre> : null}
          {one.help ? <p class="help">{one.help}</p> : null}
        </div>
      ))}
    </div>
  );
}

function pointed(text: string, { line = 1, column = 1, width = 1 }: Problem): string {
  const shown = text.split("\n")[line - 1] ?? "";
  return `${shown}\n${" ".repeat(column - 1)}${"^".repeat(Math.max(1, width))}`;
}
