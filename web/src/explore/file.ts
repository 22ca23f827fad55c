/** A config.json from this device: chosen, or dropped anywhere on the page. */
import { signal } from "@preact/signals";
import { bytes } from "../numbers";
import { source, textShown } from "../state";

const MOST_BYTES = 2 ** 20; // no config comes near it; weights do

export const refusedFile = signal("");

export async function showFile(file: File): Promise<void> {
  textShown.value = true;
  if (file.size > MOST_BYTES) {
    refusedFile.value = `${file.name} is no config.json: it has ${bytes(file.size)}`;
    return;
  }
  refusedFile.value = "";
  source.value = { text: await file.text(), label: file.name };
}

/** Beside the page's fields a browser would leave the page for what is dropped. */
export function takeDroppedFiles(): void {
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return; // a text goes into the field that it is dropped on
    event.preventDefault();
    void showFile(file);
  });
}
