/** Texts to copy, by format. */
import { useSignal } from "@preact/signals";

export function Copies({ copies }: { copies: Record<string, string> }) {
  const status = useSignal("");
  const copied = async (format: string, text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      status.value = `${format} copied`;
    } catch {
      status.value = "the browser blocks copying; select the text below";
    }
  };
  return (
    <div class="copies">
      <p class="row">
        {Object.entries(copies).map(([format, text]) => (
          <button key={format} type="button" onClick={() => copied(format, text)}>
            Copy {format}
          </button>
        ))}
        <span role="status" class="note">
          {status.value}
        </span>
      </p>
      {Object.entries(copies).map(([format, text]) => (
        <details key={format}>
          <summary>{format}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
          <pre tabIndex={0} data-format={format}>
            {text}
          </pre>
        </details>
      ))}
    </div>
  );
}
