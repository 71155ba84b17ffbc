import type { Json } from "../core/json.ts";
import { suggest } from "../ground/text/suggest.ts";
import type { MatchInput } from "./judge.ts";
import { listPayloadNodes, type PathStep, type PayloadNode, parseFieldPath, writeFieldPath } from "./path.ts";

/** Finds the field that was probably meant for a missing one, in words that follow "is missing". */
export type AdviseOnMissing = (field: string, input: MatchInput) => string | undefined;

const mostNodes = 2_000;

/** Most missing paths lack a wrapper or have a typing error. This reads the payload, so the relay routes without it. */
export function createMissingAdvice(): AdviseOnMissing {
  let listed: { payload: Json; nodes: PayloadNode[] } | undefined;
  return (field, { payload }) => {
    const wanted = parseFieldPath(field);
    if (!wanted.ok || wanted.path.kind !== "payload") return undefined;
    if (payload === undefined) return "the body is no JSON and no form, so it has no payload";
    if (listed?.payload !== payload) {
      // The payload itself is no useful answer.
      listed = { payload, nodes: listPayloadNodes(payload, mostNodes).slice(1) };
    }
    const near = findNear(wanted.path.steps, listed.nodes);
    return near === undefined ? undefined : `there is ${near}`;
  };
}

function findNear(wanted: PathStep[], nodes: PayloadNode[]): string | undefined {
  const last = nameOf(wanted.at(-1));
  if (last === undefined) return undefined;
  const names = [...new Set(nodes.flatMap(({ steps }) => nameOf(steps.at(-1)) ?? []))];
  const name = names.includes(last) ? last : suggest(last, names, 2);
  if (name === undefined) return undefined;
  const candidates = nodes.filter(({ steps, value }) => value !== null && nameOf(steps.at(-1)) === name);
  // The path with the most equal steps at its end comes first, then the one whose length is nearest.
  const [best] = candidates
    .map(({ steps }) => ({ steps, same: countSame(wanted, steps), apart: Math.abs(wanted.length - steps.length) }))
    .sort((one, other) => other.same - one.same || one.apart - other.apart);
  if (best === undefined) return undefined;
  // Two short words are near by chance, unless they are in the same place.
  if (name !== last && best.same === 0 && name.length < 5) return undefined;
  const steps = best.steps.map((step): PathStep => (step.kind === "index" ? { kind: "each" } : step));
  return writeFieldPath({ kind: "payload", steps });
}

/** Counts equal steps before the last one, which is near already. */
function countSame(wanted: PathStep[], found: PathStep[]): number {
  let count = 0;
  while (count < wanted.length - 1 && count < found.length - 1) {
    const one = nameOf(wanted.at(-2 - count));
    const other = nameOf(found.at(-2 - count));
    if (one !== other) break;
    count += 1;
  }
  return count;
}

/** Compares letters only, since `poolTvl` may be written as `pool_tvl`. All places in a list are equal. */
function nameOf(step: PathStep | undefined): string | undefined {
  if (step === undefined) return undefined;
  return step.kind === "key" ? step.key.toLowerCase().replace(/[-_ ]/g, "") : "[]";
}
