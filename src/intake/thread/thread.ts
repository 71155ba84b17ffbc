import { workerData } from "node:worker_threads";
import { Translator } from "../translator.ts";
import { type ReadingThreadData, serveReading } from "./protocol.ts";

/** Entry of the thread that reads bodies. It loads only the translator. */
serveReading(new Translator(workerData as ReadingThreadData));
