import { translateRequest } from "../translate.ts";
import { serveReading } from "./protocol.ts";

/** Entry of the thread that reads bodies. It loads the translator and nothing else. */
serveReading(translateRequest);
