import type { MappableFact } from "../core/mapping.ts";
import type { PlaceType, ShapePlace } from "../core/shape.ts";

/** One place that bodies of a kind have had, with one type. */
export interface PlaceRecord extends ShapePlace {
  firstAt: number;
  lastAt: number;
  /** Bodies in which it was. */
  alerts: number;
  /** How many of the kind's requests came before the first that had it, or had it again after it was told as gone. */
  before: number;
  /** Requests without it between two that had it, counted since `before`. */
  missed: number;
  /** Requests without it since the last that had it. */
  run: number;
  /** How many of the kind's requests came before the first of that run. */
  from: number;
  /** How often it came back after it was told as gone. */
  returns: number;
  /** It is looked for no longer. */
  isOptional: boolean;
  /** It was told that it is gone. */
  isGone: boolean;
}

/** What has been seen of a kind of bodies. */
export interface Followed {
  /** Requests that brought bodies of it. */
  requests: number;
  /** Places that facts or routes read, without the optional ones. */
  read: PlaceRecord[];
}

/** A shape of such bodies. */
export interface FollowedShape {
  places: readonly PlaceRecord[];
  /** The places as a set, for asking. */
  has: ReadonlySet<PlaceRecord>;
}

/** A place that is gone, and what has come instead. */
export interface LostPlace {
  path: string;
  type: PlaceType;
  /** What was read from it. */
  facts: MappableFact[];
  /** The same path with another type, or a list or object whose first place this is. */
  retyped?: { as: PlaceType | "object"; path: string };
  /** A place that came when this one went, and may be its new name. */
  renamed?: string;
  /** Where the facts are read from now. */
  now: Partial<Record<MappableFact, string>>;
}

/** What is reported together. */
export interface Loss {
  lost: LostPlace[];
  /** Requests that had all of it, and requests without it since. */
  had: number;
  since: number;
}

/** A place that more of a kind's bodies are without is optional. */
const mostMissed = 0.002;
/** How likely it may be, over all the bodies of a kind, that a place is missed by chance alone and told as gone. */
const falseAlarm = 1e-4;
/** A place has to be in this number of requests before it can be missed; each return multiplies the number by itself. */
const leastSeen = 4;

/**
 * Counts what a body of a known shape is without.
 *
 *     there ──▶ missing again and again, and in no body between ──▶ gone, told once ──▶ there again: as if it were new,
 *       ▲          └─▶ there again: it is optional, and more so each time               but longer before it is reported again
 *       └──────────────┘
 *
 * @param counted what this request has counted already: it counts once, however many alike alerts it brings
 * @returns what is to be told now
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

/** A list that became too long to be one place is still there, and so is one that became short. */
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
  // What went with it is reported with it.
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
 * How many requests in a row without a place show that it is gone. It has been in all of n but m: by the rule of three
 * one in n / (m + 3) may lack it. That many in a row are no chance any more, however many were looked at: five
 * after 50, three after 1,000, two after 100,000. Infinite for what is optional.
 */
function runUntilTold(kind: Pick<Followed, "requests">, place: PlaceRecord): number {
  // The first of them had it by definition.
  const seen = (place.run === 0 ? kind.requests : place.from) - place.before - 1;
  if (seen < leastSeen ** (1 + place.returns) || place.missed > mostMissed * seen) return Number.POSITIVE_INFINITY;
  const rate = (place.missed + 3) / seen;
  if (rate >= 1) return Number.POSITIVE_INFINITY;
  return Math.max(2, Math.ceil(Math.log(falseAlarm / Math.max(10, seen)) / Math.log(rate)));
}

/** Whether people get a notice when it stays away. */
export function isMissed(kind: Pick<Followed, "requests">, place: PlaceRecord): boolean {
  return Number.isFinite(runUntilTold(kind, place));
}

/** Labels with made-up names are read, and would be looked for in every alert that follows. */
export function leaveOutOptional(kind: Followed): void {
  for (const place of kind.read) {
    if (place.isGone || place.run <= 50 || isMissed(kind, place)) continue;
    place.isOptional = true;
    place.missed += place.run;
    place.run = 0;
  }
}

/** @param taken new names that were given to another place already */
function describeLost(place: PlaceRecord, places: readonly PlaceRecord[], taken: Set<string>): LostPlace {
  const { path, type, facts } = place;
  const now: LostPlace["now"] = {};
  for (const fact of facts) {
    const source = places.find((other) => other.facts.includes(fact));
    if (source !== undefined) now[fact] = source.path;
  }
  const same = places.find((other) => other.path === path);
  if (same !== undefined) return { path, type, facts, retyped: { as: same.type, path }, now };
  const below = places.find((other) => other.path.startsWith(`${path}.`) || other.path.startsWith(`${path}[`));
  if (below !== undefined) {
    const as = below.path.startsWith(`${path}[0]`) ? "list" : "object";
    return { path, type, facts, retyped: { as, path: below.path }, now };
  }
  // It came when the other went, and not before.
  const fresh = places.filter((other) => other.before >= place.from && other.type === type && !taken.has(other.path));
  const likely =
    fresh.find((other) => nameOf(other.path) === nameOf(path)) ??
    fresh.find((other) => other.facts.some((fact) => facts.includes(fact))) ??
    fresh.find((other) => parentOf(other.path) === parentOf(path)) ??
    fresh[0];
  if (likely !== undefined) taken.add(likely.path);
  return { path, type, facts, renamed: likely?.path, now };
}

/** Where the last step of a path begins: at a point, or at a bracket. Absent: it has one step alone. */
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
