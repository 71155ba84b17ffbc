import { workerData } from "node:worker_threads";
import { compileMapping } from "../find/mapped-facts.ts";
import { createShapeReader } from "../find/shape.ts";
import { translateRequest } from "../translate.ts";
import { type ReadingThreadData, serveReading } from "./protocol.ts";

const { mapping, readsShapes } = workerData as ReadingThreadData;
const shapes = readsShapes ? createShapeReader() : undefined;
const options = { mapping: compileMapping(mapping), shapes };

/** Entry of the thread that reads bodies. It loads the translator and nothing else. */
serveReading((body, contentType) => translateRequest(body, contentType, options), shapes?.forget);
