/** Reads a config.json that is chosen, or dropped anywhere on the page. */
import { signal } from "@preact/signals";
import { bytes } from "../numbers";
import { source, textShown } from "../state";

const MOST_BYTES = 2 ** 20; // far more than any config, less than weights

export const refusedFile = signal("");

export async function showFile(file: File): Promise<void> {
  textShown.value = true;
  if (file.size > MOST_BYTES) {
    refusedFile.value = `${file.name} is not a config.json: it has ${bytes(file.size)}`;
    return;
  }
  refusedFile.value = "";
  source.value = { text: await file.text(), label: file.name };
}

/** Handles drops outside of fields, for which a browser would leave the page. */
export function takeDroppedFiles(): void {
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return; // the field handles dropped text
    event.preventDefault();
    void showFile(file);
  });
}
