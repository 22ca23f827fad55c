import { render } from "preact";
import { App } from "./app";
import { followAddress } from "./state";
import "./style.css";

await followAddress();
render(<App />, document.getElementById("app") as HTMLElement);
