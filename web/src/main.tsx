import { render } from "preact";
import { App } from "./app";
import { followAddress } from "./state";
import "./style.css";

followAddress();
render(<App />, document.getElementById("app") as HTMLElement);
