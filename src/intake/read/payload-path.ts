import { isJsonObject, type Json } from "../../core/json.ts";

/**
 * Looks up a path such as `event.id`, `payload.event.id`, `items[0].id` or `labels["a.b"]` in a payload; undefined when
 * there is nothing. A leading `payload.` is the matchers' way to say the same and is passed over.
 */
export function lookUp(payload: Json, path: string): Json | undefined {
  let value: Json | undefined = payload;
  for (const step of stepsOf(path)) {
    if (Array.isArray(value)) value = /^\d+$/.test(step) ? value[Number(step)] : undefined;
    else value = isJsonObject(value) ? value[step] : undefined;
  }
  return value;
}

function stepsOf(path: string): string[] {
  const steps = [...path.matchAll(/\["([^"]*)"\]|\['([^']*)'\]|\[(\d+)\]|([^.[\]]+)/g)].map(
    ([, double, single, index, name]) => double ?? single ?? index ?? name ?? "",
  );
  return steps.length > 1 && steps[0] === "payload" ? steps.slice(1) : steps;
}
