import { workerData } from "node:worker_threads";
import { compileMapping } from "../find/mapped-facts.ts";
import { createShapeReader } from "../find/shape.ts";
import { type ReadingOptions, translateRequest } from "../translate.ts";
import { type ReadingThreadData, serveReading } from "./protocol.ts";

const { mapping, sources, readsShapes } = workerData as ReadingThreadData;
const taken = new Set(sources.map(({ name }) => name));
const options = new Map<string | undefined, ReadingOptions>();

/** Of a source that is configured no longer, alerts may still wait to be read. */
function optionsOf(source: string | undefined): ReadingOptions {
  const known = options.get(source);
  if (known !== undefined) return known;
  const own = sources.find(({ name }) => name === source)?.mapping;
  const made: ReadingOptions = {
    mapping: compileMapping({ ...mapping, ...own, severities: { ...mapping?.severities, ...own?.severities } }),
    shapes: readsShapes ? createShapeReader(source) : undefined,
    naming: { is: source, taken },
  };
  options.set(source, made);
  return made;
}

function forgetShapes(ids: string[]): void {
  for (const { shapes } of options.values()) shapes?.forget(ids);
}

/** Entry of the thread that reads bodies. It loads the translator and nothing else. */
serveReading(({ body, contentType, source }) => translateRequest(body, contentType, optionsOf(source)), forgetShapes);
