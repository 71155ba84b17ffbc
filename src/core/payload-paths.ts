import { type PathStep, writeFieldPath } from "./field-path.ts";
import { isJsonObject, type Json } from "./json.ts";

/** One place of a payload, by the name that a matcher takes. */
export interface PayloadNode {
  /** `payload.items[0].id` */
  path: string;
  steps: PathStep[];
  value: Json;
}

/** Nobody writes a longer path, and a sender may make one of any length. */
const longestPath = 300;
const deepest = 32;

/**
 * The places of a payload in its order, each before what is in it, at most `mostNodes` of them. Its cost is bounded by that
 * number, whatever the payload holds.
 */
export function listPayloadNodes(payload: Json, mostNodes: number): PayloadNode[] {
  const nodes: PayloadNode[] = [];
  const waiting: PayloadNode[] = [{ path: "payload", steps: [], value: payload }];
  for (let node = waiting.pop(); node !== undefined && nodes.length < mostNodes; node = waiting.pop()) {
    nodes.push(node);
    if (node.steps.length >= deepest) continue;
    const room = mostNodes - nodes.length;
    const members = membersOf(node.value, room).flatMap(([step, value]) => {
      const steps = [...node.steps, step];
      const path = writeFieldPath({ kind: "payload", steps });
      return path.length > longestPath ? [] : [{ path, steps, value }];
    });
    waiting.push(...members.reverse());
  }
  return nodes;
}

/** The first members of a list or map; `for in` so that a map of a million keys is not listed whole. */
function membersOf(value: Json, most: number): [PathStep, Json][] {
  if (Array.isArray(value)) {
    return value.slice(0, most).map((element, index) => [{ kind: "index", index }, element]);
  }
  if (!isJsonObject(value)) return [];
  const members: [PathStep, Json][] = [];
  for (const key in value) {
    if (members.length >= most) break;
    const member = value[key];
    if (member !== undefined && key.length <= longestPath) members.push([{ kind: "key", key }, member]);
  }
  return members;
}
