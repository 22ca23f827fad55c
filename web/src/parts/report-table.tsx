/** A table as the command line prints it. */
import type { ReportTable as Told } from "../costs/answer";

export function ReportTable({ table, name }: { table: Told; name: string }) {
  const columns = table.columns.split("|");
  const right = columns.map((one) => one.startsWith(">"));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section class="scrolls" aria-label={name} tabIndex={0}>
      <table>
        {table.header ? (
          <thead>
            <tr>
              {columns.map((one, column) => (
                <th key={one} scope="col" class={right[column] ? "number" : ""}>
                  {one.replace(/^>/, "")}
                </th>
              ))}
            </tr>
          </thead>
        ) : null}
        <tbody>
          {table.rows.map((cells) => (
            <tr key={cells.join("|")}>
              {cells.map((cell, column) => (
                <td key={columns[column]} class={right[column] ? "number" : ""}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
