import { workerData } from "node:worker_threads";
import { Translator, type TranslatorOptions } from "../translator.ts";
import { serveReading } from "./protocol.ts";

/** Entry of the thread that reads bodies. It loads only the translator. */
serveReading(new Translator(workerData as TranslatorOptions));
