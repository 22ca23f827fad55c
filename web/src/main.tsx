import { render } from "preact";
import { App } from "./app";
import { takeDroppedFiles } from "./explore/file";
import { followAddress } from "./state";
import "./style.css";

takeDroppedFiles();
await followAddress();
render(<App />, document.getElementById("app") as HTMLElement);
