import type { MappableFact } from "../core/mapping.ts";
import type { BodyShape, PlaceType, SeenShape, ShapePlace } from "../core/shape.ts";
import { cut } from "../ground/text/graphemes.ts";

/** One place that bodies of a kind have had, with one type. */
export interface PlaceRecord extends ShapePlace {
  firstAt: number;
  lastAt: number;
  /** How many of the kind's bodies came before the first that had it. */
  before: number;
  /** Bodies in which it was, of shapes that are no longer kept one by one. */
  kept: number;
  /** Bodies without it between two that had it. */
  missed: number;
  /** Bodies without it since the last that had it. */
  run: number;
  /** How many of the kind's bodies came before the first of that run. */
  from: number;
  /** It is looked for no longer. */
  isOptional: boolean;
  /** It was told that it is gone. */
  isGone: boolean;
}

export interface ShapeRecord {
  id: string;
  count: number;
  firstAt: number;
  lastAt: number;
  places: PlaceRecord[];
  /** The same, for asking. */
  has: Set<PlaceRecord>;
  kind: Kind;
  /** Places that are read in other bodies of its kind and are not in these: as of the kind's `read`, kept with it. */
  lacks: { of: PlaceRecord[]; places: PlaceRecord[] };
}

/** Bodies that are made alike: a sender's alerts of one sort. */
interface Kind {
  /** Counted from 1, and never given again. */
  number: number;
  /** The title of its first body. */
  title: string;
  /** What that sender calls itself. */
  source?: string;
  /** The source whose hook its bodies come by. Absent: the account's. */
  hook?: string;
  count: number;
  firstAt: number;
  lastAt: number;
  places: Map<string, PlaceRecord>;
  shapes: Map<string, ShapeRecord>;
  /** Places that facts or routes read. Replaced as a whole. */
  read: PlaceRecord[];
  /** Of `read`, those that the last bodies were without. */
  suspects: Set<PlaceRecord>;
}

type KindLabel = Pick<Kind, "title" | "source" | "hook">;

/** A place that is gone, and what has come instead. */
export interface LostPlace {
  path: string;
  type: PlaceType;
  /** What was read from it. */
  facts: MappableFact[];
  /** The same path with another type, or a list or object of which this is the first place. */
  retyped?: { as: PlaceType | "object"; path: string };
  /** A place that came when this one went, and may be its new name. */
  renamed?: string;
  /** Where the facts are read from now. */
  now: Partial<Record<MappableFact, string>>;
}

/** A kind of body has changed where facts or routes read. */
export interface Drift {
  kind: Pick<Kind, "number" | "title" | "source">;
  lost: LostPlace[];
  /** Bodies that had all of it, and bodies without it since. */
  before: number;
  since: number;
}

/** What is kept of all kinds together; the least recently seen shapes go first. */
const maxPlacesOfShapes = 20_000;
const maxPlaces = 5_000;
const maxShapes = 1_000;
const maxKinds = 100;
const maxLabel = 120;
/** As much of two shapes has to be the same that they are of one kind. */
const leastLikeness = 0.5;
/** Of two shapes with so few places together one is enough: else a renamed one of two would be another kind. */
const mostOfSmall = 3;
/** A place that more of a kind's bodies are without is optional. */
const mostMissed = 0.002;
/** How likely it may be, over all the bodies of a kind, that a place is missed by chance alone and told as gone. */
const falseAlarm = 1e-4;

/** Counts of bodies that are not followed. */
export interface Unfollowed {
  /** Of a shape that is not known: too many others are. */
  unknown: number;
  /** Alerts that are no JSON and no form, or have more than 1,000 places. */
  without: number;
}

export interface ShapeCatalogueOptions {
  isReadByRoutes(path: string): boolean;
  /** Of a shape that came without its places, and of which nothing is known: it is to be described when it comes again. */
  askFor(id: string): void;
  saved?: SavedCatalogue;
}

/**
 * Which shapes have come, by kinds of bodies, and what has changed in one of them. In memory, bounded, without effects.
 *
 *     a shape that is known ──▶ counted
 *     a new one ──▶ the kind with the likest shape, or a new kind
 *                       └─ a read place is missing ──▶ again and again, and in no body between ──▶ gone, told once
 *                                                  └─▶ there again: it is optional, the more the oftener
 */
export function createShapeCatalogue({ isReadByRoutes, askFor, saved }: ShapeCatalogueOptions) {
  let kinds: Kind[] = [];
  let nextNumber = 1;
  const shapes = new Map<string, ShapeRecord>();
  const unfollowed: Unfollowed = { unknown: 0, without: 0 };
  let placesOfShapes = 0;
  if (saved !== undefined) restore(saved);

  /**
   * @param hook the source by whose hook they came: shapes of two hooks are two, however alike. Absent: the account's
   * @returns what is told now; a request counts once, however many alike alerts it holds
   */
  function note(seen: readonly SeenShape[], at: number, hook?: string): Drift[] {
    const drifts: Drift[] = [];
    const counted = new Set<PlaceRecord>();
    for (const { shape, facts } of seen) {
      const record = shape && (shapes.get(shape.id) ?? addShape(shape, { ...facts, hook }, at));
      if (record === undefined) {
        if (shape === undefined) unfollowed.without += 1;
        else unfollowed.unknown += 1;
        continue;
      }
      const { kind } = record;
      record.count += 1;
      record.lastAt = at;
      kind.count += 1;
      kind.lastAt = at;
      const drift = follow(record, counted);
      if (drift !== undefined) drifts.push(drift);
    }
    return drifts;
  }

  function addShape(shape: BodyShape, label: KindLabel, at: number): ShapeRecord | undefined {
    if (shape.places === undefined) {
      askFor(shape.id);
      return undefined;
    }
    const kind = likestKind(shape.places, label.hook) ?? addKind(label, at);
    const places = shape.places.map((place) => placeOf(kind, place, at));
    const record = recordOf(kind, places, { id: shape.id, count: 0, firstAt: at, lastAt: at });
    kind.shapes.set(shape.id, record);
    shapes.set(shape.id, record);
    placesOfShapes += places.length;
    for (const place of kind.suspects) if (isLongOptional(kind, place)) leaveOut(kind, place);
    kind.read = [...kind.places.values()].filter((place) => isRead(place) && !place.isOptional);
    for (let left = shapes.size; left > 0 && isTooMuch(); left -= 1) forgetShape();
    return shapes.has(shape.id) ? record : undefined;
  }

  function isTooMuch(): boolean {
    return shapes.size > maxShapes || placesOfShapes > maxPlacesOfShapes || countPlaces() > maxPlaces;
  }

  function countPlaces(): number {
    return kinds.reduce((sum, { places }) => sum + places.size, 0);
  }

  function isRead({ facts, path }: ShapePlace): boolean {
    return facts.length > 0 || isReadByRoutes(path);
  }

  function addKind({ title, source, hook }: KindLabel, at: number): Kind {
    const number = nextNumber;
    nextNumber += 1;
    const kind: Kind = {
      number,
      title: cut(title, maxLabel),
      source: source && cut(source, maxLabel),
      ...(hook !== undefined && { hook }),
      count: 0,
      firstAt: at,
      lastAt: at,
      places: new Map(),
      shapes: new Map(),
      read: [],
      suspects: new Set(),
    };
    kinds.push(kind);
    if (kinds.length > maxKinds) forgetKind(oldest(kinds));
    return kind;
  }

  /** That of the likest shape, as far as one is like enough; the more often seen of two. */
  function likestKind(places: readonly ShapePlace[], hook: string | undefined): Kind | undefined {
    const paths = new Set(places.map(({ path }) => path));
    let best: { kind: Kind; likeness: number } | undefined;
    for (const kind of kinds) {
      if (kind.hook !== hook) continue;
      // No shape of it has more of these paths than all of them together.
      let known = 0;
      for (const { path } of kind.places.values()) if (paths.has(path)) known += 1;
      if (known < leastLikeness * paths.size && paths.size > mostOfSmall) continue;
      for (const shape of kind.shapes.values()) {
        const same = shape.places.reduce((sum, { path }) => sum + (paths.has(path) ? 1 : 0), 0);
        const all = paths.size + shape.places.length - same;
        const likeness = same / all;
        const isBetter = best === undefined || likeness > best.likeness;
        const isAsGood = likeness === best?.likeness && kind.count > best.kind.count;
        const isAlike = likeness >= leastLikeness || (same > 0 && all <= mostOfSmall);
        if (isAlike && (isBetter || isAsGood)) best = { kind, likeness };
      }
    }
    return best?.kind;
  }

  function placeOf(kind: Kind, { path, type, example, facts }: ShapePlace, at: number): PlaceRecord {
    const key = `${type} ${path}`;
    const known = kind.places.get(key);
    if (known !== undefined) {
      for (const fact of facts) if (!known.facts.includes(fact)) known.facts.push(fact);
      return known;
    }
    const place = {
      path,
      type,
      example,
      facts: [...facts],
      firstAt: at,
      lastAt: at,
      before: kind.count,
      kept: 0,
      missed: 0,
      run: 0,
      from: 0,
      isOptional: false,
      isGone: false,
    };
    kind.places.set(key, place);
    return place;
  }

  /** Counts what read places a body is without. Ordinary bodies have them all and cost nothing. */
  function follow(record: ShapeRecord, counted: Set<PlaceRecord>): Drift | undefined {
    const { kind, has } = record;
    if (record.lacks.of !== kind.read)
      record.lacks = { of: kind.read, places: kind.read.filter((place) => !has.has(place)) };
    if (record.lacks.places.length === 0 && kind.suspects.size === 0) return undefined;
    for (const place of kind.suspects) {
      if (!has.has(place)) continue;
      place.missed += place.run;
      place.run = 0;
      place.isGone = false;
      kind.suspects.delete(place);
    }
    const lost: PlaceRecord[] = [];
    for (const place of record.lacks.places) {
      if (counted.has(place)) continue;
      counted.add(place);
      if (place.run === 0) place.from = kind.count - 1;
      place.run += 1;
      kind.suspects.add(place);
      if (!place.isGone && place.run >= runUntilTold(kind, place)) lost.push(place);
    }
    if (lost.length === 0) return undefined;
    return tell(record, lost);
  }

  function tell(record: ShapeRecord, due: PlaceRecord[]): Drift {
    const { kind } = record;
    const run = Math.max(...due.map((place) => place.run));
    // What went with it is told with it.
    const together = kind.read.filter(
      (place) => place.run === run && !place.isGone && Number.isFinite(runUntilTold(kind, place)),
    );
    const lost = [...new Set([...due, ...together])];
    for (const place of lost) place.isGone = true;
    const taken = new Set<string>();
    return {
      kind: { number: kind.number, title: kind.title, source: kind.source },
      lost: lost.map((place) => describeLost(place, record, taken)),
      before: kind.count - run,
      since: run,
    };
  }

  return {
    note,
    kinds: () => kinds,
    unfollowed,
    save: (): SavedCatalogue => saveCatalogue(kinds, nextNumber, unfollowed),
  };

  function forgetShape(): void {
    let last: { kind: Kind; shape: ShapeRecord } | undefined;
    for (const kind of kinds)
      for (const shape of kind.shapes.values())
        if (last === undefined || shape.lastAt < last.shape.lastAt) last = { kind, shape };
    if (last === undefined) return;
    const { kind, shape } = last;
    for (const place of shape.places) {
      place.kept += shape.count;
      place.lastAt = Math.max(place.lastAt, shape.lastAt);
    }
    dropShape(kind, shape);
    if (kind.shapes.size === 0) forgetKind(kind);
    else if (countPlaces() > maxPlaces) dropUnusedPlaces(kind);
  }

  function dropShape(kind: Kind, shape: ShapeRecord): void {
    kind.shapes.delete(shape.id);
    shapes.delete(shape.id);
    placesOfShapes -= shape.places.length;
  }

  /** Of a sender that makes up names no more places are kept than its last shapes have. */
  function dropUnusedPlaces(kind: Kind): void {
    const used = new Set([...kind.shapes.values()].flatMap(({ places }) => places));
    const isKept = (place: PlaceRecord) =>
      used.has(place) || (kind.suspects.has(place) && Number.isFinite(runUntilTold(kind, place)));
    for (const [key, place] of kind.places) {
      if (isKept(place)) continue;
      kind.places.delete(key);
      kind.suspects.delete(place);
    }
    kind.read = kind.read.filter(isKept);
  }

  function forgetKind(kind: Kind): void {
    for (const shape of kind.shapes.values()) dropShape(kind, shape);
    kinds = kinds.filter((other) => other !== kind);
  }

  function restore(from: SavedCatalogue): void {
    nextNumber = from.nextNumber;
    Object.assign(unfollowed, from.unfollowed);
    for (const { places, shapes: own, ...rest } of from.kinds) {
      const records = places.map((place) => ({ ...place }));
      const kind: Kind = {
        ...rest,
        places: new Map(records.map((place) => [`${place.type} ${place.path}`, place])),
        shapes: new Map(),
        read: records.filter((place) => isRead(place) && !place.isOptional),
        suspects: new Set(records.filter(({ run }) => run > 0)),
      };
      for (const { places: indexes, ...shape } of own) {
        const record = recordOf(
          kind,
          indexes.flatMap((index) => records[index] ?? []),
          shape,
        );
        kind.shapes.set(shape.id, record);
        shapes.set(shape.id, record);
        placesOfShapes += record.places.length;
      }
      kinds.push(kind);
    }
  }
}

export type ShapeCatalogue = ReturnType<typeof createShapeCatalogue>;

const nothing: PlaceRecord[] = [];

function recordOf(
  kind: Kind,
  places: PlaceRecord[],
  shape: Pick<ShapeRecord, "id" | "count" | "firstAt" | "lastAt">,
): ShapeRecord {
  const { id, count, firstAt, lastAt } = shape;
  return { id, count, firstAt, lastAt, places, has: new Set(places), kind, lacks: { of: nothing, places: nothing } };
}

function oldest(kinds: Kind[]): Kind {
  return kinds.reduce((old, kind) => (kind.lastAt < old.lastAt ? kind : old));
}

/**
 * After so many bodies without it in a row a place is gone. It has been in all of n bodies but m: by the rule of three
 * one body in n / (m + 3) may lack it. So many in a row are no chance any more, however many bodies were looked at: five
 * after 50, three after 1,000, two after 100,000. Infinite for what is optional.
 */
function runUntilTold(kind: Pick<Kind, "count">, place: Pick<PlaceRecord, "before" | "missed" | "run">): number {
  // The first of them had it by definition.
  const bodies = kind.count - place.before - place.run - 1;
  if (bodies < 4 || place.missed > mostMissed * bodies) return Number.POSITIVE_INFINITY;
  const rate = (place.missed + 3) / bodies;
  if (rate >= 1) return Number.POSITIVE_INFINITY;
  return Math.max(2, Math.ceil(Math.log(falseAlarm / Math.max(10, bodies)) / Math.log(rate)));
}

/** Labels with made-up names are read, and would be looked for in every alert that follows. */
function isLongOptional(kind: Kind, place: PlaceRecord): boolean {
  return !place.isGone && place.run > 50 && !Number.isFinite(runUntilTold(kind, place));
}

function leaveOut(kind: Kind, place: PlaceRecord): void {
  place.isOptional = true;
  place.missed += place.run;
  place.run = 0;
  kind.suspects.delete(place);
}

/** @param taken new names that were given to another place already */
function describeLost(place: PlaceRecord, record: ShapeRecord, taken: Set<string>): LostPlace {
  const { path, type, facts } = place;
  const now: LostPlace["now"] = {};
  for (const fact of facts) {
    const source = record.places.find((other) => other.facts.includes(fact));
    if (source !== undefined) now[fact] = source.path;
  }
  const same = record.places.find((other) => other.path === path);
  if (same !== undefined) return { path, type, facts, retyped: { as: same.type, path }, now };
  const below = record.places.find((other) => other.path.startsWith(`${path}.`) || other.path.startsWith(`${path}[`));
  if (below !== undefined) {
    const as = below.path.startsWith(`${path}[0]`) ? "list" : "object";
    return { path, type, facts, retyped: { as, path: below.path }, now };
  }
  // It came when the other went, and not before.
  const fresh = record.places.filter((other) => other.before >= place.from && !taken.has(other.path));
  const likely =
    fresh.find((other) => other.type === type && other.facts.some((fact) => facts.includes(fact))) ??
    fresh.find((other) => other.type === type && parentOf(other.path) === parentOf(path)) ??
    fresh.find((other) => other.type === type);
  if (likely !== undefined) taken.add(likely.path);
  return { path, type, facts, renamed: likely?.path, now };
}

function parentOf(path: string): string {
  return path.replace(/(?:\.[^.[\]]+|\[[^\]]*\])$/, "");
}

/** The catalogue as JSON. Shapes name their places by their position. */
export interface SavedCatalogue {
  nextNumber: number;
  unfollowed: Unfollowed;
  kinds: (Pick<Kind, "number" | "title" | "source" | "hook" | "count" | "firstAt" | "lastAt"> & {
    places: PlaceRecord[];
    shapes: (Omit<ShapeRecord, "places" | "has" | "kind" | "lacks"> & { places: number[] })[];
  })[];
}

function saveCatalogue(kinds: Kind[], nextNumber: number, unfollowed: Unfollowed): SavedCatalogue {
  return {
    nextNumber,
    unfollowed: { ...unfollowed },
    kinds: kinds.map(({ places, shapes, read: _read, suspects: _suspects, ...rest }) => {
      const list = [...places.values()];
      const indexOf = new Map(list.map((place, index) => [place, index]));
      return {
        ...rest,
        places: list.map((place) => ({ ...place, facts: [...place.facts] })),
        shapes: [...shapes.values()].map(({ id, count, firstAt, lastAt, places }) => ({
          id,
          count,
          firstAt,
          lastAt,
          places: places.flatMap((place) => indexOf.get(place) ?? []),
        })),
      };
    }),
  };
}
