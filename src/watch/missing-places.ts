import type { MappableFact } from "../core/mapping.ts";
import type { PlaceType, ShapePlace } from "../core/shape.ts";

export interface PlaceRecord extends ShapePlace {
  firstAt: number;
  lastAt: number;
  alerts: number;
  /** The kind's requests before the first one that had it. Counted anew when a place that was gone returns. */
  before: number;
  /** Requests without it between two that had it, counted since `before`. */
  missed: number;
  /** Requests without it since the last that had it. */
  run: number;
  /** The number of the kind's requests before the first of `run`. */
  from: number;
  /** How often it came back after it was reported as gone. */
  returns: number;
  isOptional: boolean;
  isGone: boolean;
}

export interface Followed {
  /** The requests that brought bodies of the kind. */
  requests: number;
  /** Places that facts or routes read, without the optional ones. */
  read: PlaceRecord[];
}

export interface FollowedShape {
  places: readonly PlaceRecord[];
  has: ReadonlySet<PlaceRecord>;
}

export interface LostPlace {
  path: string;
  type: PlaceType;
  facts: MappableFact[];
  /** The same path with another type, or the list or object whose first place this is. */
  retyped?: { as: PlaceType | "object"; path: string };
  /** A place that came when this one went, and may be its new name. */
  renamed?: string;
  now: Partial<Record<MappableFact, string>>;
}

export interface Loss {
  lost: LostPlace[];
  /** `had`: requests with all of the places. `since`: requests without them after that. */
  had: number;
  since: number;
}

/** A place is optional when a greater share of a kind's requests lacks it. */
const mostMissed = 0.002;
/** The greatest chance, over all bodies of a kind, that a place is reported as gone by chance alone. */
const falseAlarm = 1e-4;
/** A place can be missed after this many requests with it. Each return multiplies the number by itself. */
const leastSeen = 4;

/**
 * Counts the places that a body of a known shape lacks.
 *     there ──▶ missing again and again, and in no body between ──▶ gone, told once ──▶ there again: as if it were new,
 *       ▲          └─▶ there again: it is optional, and more so each time               but longer before it is reported again
 *       └──────────────┘
 * @param counted places that this request has counted already: it counts once, however many similar alerts it has
 * @returns the losses to report now
 */
export function followPlaces(
  kind: Followed,
  shape: FollowedShape,
  counted: Set<unknown> | undefined,
): Loss | undefined {
  const due: PlaceRecord[] = [];
  for (const place of kind.read) {
    if (isIn(shape, place)) {
      if (place.run > 0) comeBack(kind, place);
      continue;
    }
    if (counted?.has(place)) continue;
    counted?.add(place);
    if (place.run === 0) place.from = kind.requests - 1;
    place.run += 1;
    if (!place.isGone && place.run >= runUntilTold(kind, place)) due.push(place);
  }
  return due.length === 0 ? undefined : lose(kind, shape, due);
}

/** A list too long to be one place becomes several places, and the other way round. Both forms count as present. */
function isIn({ places, has }: FollowedShape, place: PlaceRecord): boolean {
  if (has.has(place)) return true;
  if (place.type === "list") return places.some(({ path, type }) => type !== "list" && path === `${place.path}[0]`);
  return places.some(({ path, type }) => type === "list" && place.path === `${path}[0]`);
}

function comeBack(kind: Followed, place: PlaceRecord): void {
  if (place.isGone) {
    place.isGone = false;
    place.returns += 1;
    place.before = kind.requests - 1;
    place.missed = 0;
  } else place.missed += place.run;
  place.run = 0;
}

function lose(kind: Followed, shape: FollowedShape, due: PlaceRecord[]): Loss {
  const run = Math.max(...due.map((place) => place.run));
  // Places that went at the same request are reported with it.
  const together = kind.read.filter((place) => place.run === run && !place.isGone && isMissed(kind, place));
  const lost = [...new Set([...due, ...together])];
  for (const place of lost) place.isGone = true;
  const taken = new Set<string>();
  return {
    lost: lost.map((place) => describeLost(place, shape.places, taken)),
    had: Math.min(...lost.map((place) => place.from - place.before - place.missed)),
    since: run,
  };
}

/**
 * After this many requests in a row without it, a place is gone. All but m of n requests had it: by the rule of three,
 * one in n / (m + 3) may lack it. A longer run is no chance: five after 50, three after 1,000, two after 100,000.
 * Infinite for an optional place.
 */
function runUntilTold(kind: Pick<Followed, "requests">, place: PlaceRecord): number {
  // The first request had it by definition.
  const seen = (place.run === 0 ? kind.requests : place.from) - place.before - 1;
  if (seen < leastSeen ** (1 + place.returns) || place.missed > mostMissed * seen) return Number.POSITIVE_INFINITY;
  const rate = (place.missed + 3) / seen;
  if (rate >= 1) return Number.POSITIVE_INFINITY;
  return Math.max(2, Math.ceil(Math.log(falseAlarm / Math.max(10, seen)) / Math.log(rate)));
}

export function isMissed(kind: Pick<Followed, "requests">, place: PlaceRecord): boolean {
  return Number.isFinite(runUntilTold(kind, place));
}

/** Some labels have a made-up name in each alert. Such a place would be missing in every later alert. */
export function leaveOutOptional(kind: Followed): void {
  for (const place of kind.read) {
    if (place.isGone || place.run <= 50 || isMissed(kind, place)) continue;
    place.isOptional = true;
    place.missed += place.run;
    place.run = 0;
  }
}

/** @param taken new names that were already given to other places */
function describeLost(place: PlaceRecord, places: readonly PlaceRecord[], taken: Set<string>): LostPlace {
  const { path, type, facts } = place;
  const sourceOf = (fact: MappableFact) => places.find((other) => other.facts.includes(fact))?.path;
  const now: LostPlace["now"] = Object.fromEntries(facts.map((fact) => [fact, sourceOf(fact)]));
  const same = places.find((other) => other.path === path);
  if (same !== undefined) return { path, type, facts, retyped: { as: same.type, path }, now };
  const below = places.find((other) => other.path.startsWith(`${path}.`) || other.path.startsWith(`${path}[`));
  if (below !== undefined) {
    const as = below.path.startsWith(`${path}[0]`) ? "list" : "object";
    return { path, type, facts, retyped: { as, path: below.path }, now };
  }
  // Only places that came when the lost one went.
  const fresh = places.filter((other) => other.before >= place.from && other.type === type && !taken.has(other.path));
  const likely =
    fresh.find((other) => nameOf(other.path) === nameOf(path)) ??
    fresh.find((other) => other.facts.some((fact) => facts.includes(fact))) ??
    fresh.find((other) => parentOf(other.path) === parentOf(path)) ??
    fresh[0];
  if (likely !== undefined) taken.add(likely.path);
  return { path, type, facts, renamed: likely?.path, now };
}

/** Where the last step of a path begins: at a point or a bracket. Undefined: the path has one step. */
function lastStepAt(path: string): number | undefined {
  if (path.endsWith("]")) {
    const at = path.indexOf("[", path.lastIndexOf("]", path.length - 2) + 1);
    return at < 0 ? undefined : at;
  }
  const at = path.lastIndexOf(".");
  const isName = at >= 0 && at < path.length - 1 && Math.max(path.lastIndexOf("["), path.lastIndexOf("]")) < at;
  return isName ? at : undefined;
}

function parentOf(path: string): string {
  return path.slice(0, lastStepAt(path));
}

/** The last step of a path: `.name`. */
export function nameOf(path: string): string {
  return path.slice(lastStepAt(path) ?? 0);
}
