import { isJsonObject, type JsonObject } from "../core/json.ts";
import { findCandidates } from "./fact-names.ts";
import { listLeaves } from "./leaves.ts";

const shared = ["externalURL", "groupKey", "receiver"] as const;

/**
 * An alert of a group with what the group says for all: common labels and annotations, address, group key and receiver
 * where it lacks them. The group's title and message tell of all its alerts at once, so an alert that can be titled by
 * anything of its own does not get them. Neither argument is changed.
 */
export function inheritEnvelope(item: JsonObject, envelope: JsonObject | undefined): JsonObject {
  if (envelope === undefined) return item;
  const merged = Object.assign(Object.create(null) as JsonObject, item);
  mergeInto(merged, "labels", envelope.commonLabels);
  mergeInto(merged, "annotations", envelope.commonAnnotations);
  for (const key of shared) {
    const value = envelope[key];
    if (merged[key] === undefined && value !== undefined) merged[key] = value;
  }
  if (envelope.title === undefined && envelope.message === undefined) return merged;
  const own = findCandidates(listLeaves(merged).leaves);
  if (own.title.length > 0 || own.text.length > 0) return merged;
  for (const key of ["title", "message"] as const) {
    const value = envelope[key];
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function mergeInto(
  merged: JsonObject,
  key: "labels" | "annotations",
  common: JsonObject[string] | undefined,
): void {
  const own = merged[key];
  if (!isJsonObject(common) || (own !== undefined && !isJsonObject(own))) return;
  merged[key] = Object.assign(Object.create(null) as JsonObject, common, own);
}
