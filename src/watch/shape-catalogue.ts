import type { BodyShape, SeenShape, SeverityWord, ShapePlace } from "../core/shape.ts";
import { cut } from "../ground/text/graphemes.ts";
import {
  type Followed,
  type FollowedShape,
  followPlaces,
  isMissed,
  type Loss,
  leaveOutOptional,
  nameOf,
  type PlaceRecord,
} from "./missing-places.ts";

export interface ShapeRecord extends FollowedShape {
  id: string;
  count: number;
  firstAt: number;
  lastAt: number;
  kind: Kind;
}

/** Bodies that are made alike: a sender's alerts of one sort. */
interface Kind extends Followed {
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
  /** Words that stood for a severity, are none that is known, and were told. */
  newWords: string[];
}

type KindLabel = Pick<Kind, "title" | "source" | "hook">;

type TellableKind = Pick<Kind, "number" | "title" | "source" | "hook">;

/** A kind of body has changed where facts or routes read. */
export interface Drift extends Loss {
  kind: TellableKind;
}

/** A kind of body whose severity was read has a word for it that is not known. */
export interface NewWord extends SeverityWord {
  kind: TellableKind;
  /** No further word of this kind is told. */
  isLast: boolean;
}

/** What is kept of all kinds together; the least recently seen shapes go first. */
const maxPlacesOfShapes = 20_000;
const maxPlaces = 5_000;
const maxShapes = 1_000;
const maxKinds = 100;
const maxLabel = 120;
/** A sender that writes anything there is told of no further. */
export const maxNewWords = 5;
/** As much of two shapes has to be the same that they are of one kind. */
const leastLikeness = 0.5;
/** Of two shapes with so few places together one is enough: else a renamed one of two would be another kind. */
const mostOfSmall = 3;
/** The same for names without what stands round them, where a body has at least so many: a sender may wrap all it sends. */
const leastLikenessOfNames = 0.75;
const leastNames = 4;

/** Counts of bodies that are not followed. */
export interface Unfollowed {
  /** Of a shape that is not known: too many others are. */
  unknown: number;
  /** Alerts that are no JSON and no form, or have none or more than 1,000 places. */
  without: number;
}

export interface ShapeCatalogueOptions {
  isReadByRoutes(path: string): boolean;
  /** Of a shape that came without its places, and of which nothing is known: it is to be described when it comes again. */
  askFor(id: string): void;
  saved?: SavedCatalogue;
  /** Facts may be read from other places than when it was saved. Default false. */
  isReadAnew?: boolean;
}

/**
 * Which shapes have come, by kinds of bodies, and what has changed in one of them. In memory, bounded, without effects.
 *
 *     a shape that is known ──▶ counted
 *     a new one ──▶ the kind with the likest shape, or a new kind
 *                       └─ a read place is missing: see `followPlaces`
 */
export function createShapeCatalogue({ isReadByRoutes, askFor, saved, isReadAnew = false }: ShapeCatalogueOptions) {
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
  function note(seen: readonly SeenShape[], at: number, hook?: string): (Drift | NewWord)[] {
    const news: (Drift | NewWord)[] = [];
    const counted = seen.length > 1 ? new Set<unknown>() : undefined;
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
      if (!counted?.has(kind)) kind.requests += 1;
      counted?.add(kind);
      const { number, title, source, hook: by } = kind;
      const about = { number, title, source, hook: by };
      const word = noteWord(record, shape?.newWord);
      if (word !== undefined) news.push({ kind: about, ...word });
      const loss = followPlaces(kind, record, counted);
      if (loss !== undefined) news.push({ kind: about, ...loss });
    }
    return news;
  }

  function noteWord({ kind, places }: ShapeRecord, found: SeverityWord | undefined): Omit<NewWord, "kind"> | undefined {
    if (found === undefined || kind.newWords.length >= maxNewWords || kind.newWords.includes(found.word)) return;
    // Of another type it is another place, whose change is told as that.
    if (!places.some(({ path, facts }) => path === found.path && facts.includes("severity"))) return;
    kind.newWords.push(found.word);
    return { ...found, isLast: kind.newWords.length === maxNewWords };
  }

  function addShape(shape: BodyShape, label: KindLabel, at: number): ShapeRecord | undefined {
    if (shape.places === undefined) {
      askFor(shape.id);
      return undefined;
    }
    const kind = likestKind(shape.places, label.hook) ?? addKind(label, at);
    const places = shape.places.map((place) => placeOf(kind, place, at));
    const former = kind.shapes.get(shape.id);
    if (former !== undefined) dropShape(former);
    const { count = 0, firstAt = at } = former ?? {};
    const record = recordOf(kind, places, { id: shape.id, count, firstAt, lastAt: at });
    kind.shapes.set(shape.id, record);
    shapes.set(shape.id, record);
    placesOfShapes += places.length;
    leaveOutOptional(kind);
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
      requests: 0,
      firstAt: at,
      lastAt: at,
      places: new Map(),
      shapes: new Map(),
      newWords: [],
      read: [],
      suspects: new Set(),
    };
    // Before it is one of them: after the clock was set back it would be the oldest.
    if (kinds.length === maxKinds) forgetKind(oldest(kinds));
    kinds.push(kind);
    return kind;
  }

  function likestKind(places: readonly ShapePlace[], hook: string | undefined): Kind | undefined {
    return (
      likest(places, hook, { labelOf: ({ path }) => path, least: leastLikeness, small: mostOfSmall }) ??
      (places.length < leastNames
        ? undefined
        : likest(places, hook, { labelOf: ({ path }) => nameOf(path), least: leastLikenessOfNames, small: 0 }))
    );
  }

  /** The kind of the likest shape, as far as one is like enough; the more often seen of two. */
  function likest(
    places: readonly ShapePlace[],
    hook: string | undefined,
    { labelOf, least, small }: { labelOf: (place: ShapePlace) => string; least: number; small: number },
  ): Kind | undefined {
    const labels = new Set(places.map(labelOf));
    let best: { kind: Kind; likeness: number } | undefined;
    for (const kind of kinds) {
      if (kind.hook !== hook) continue;
      // No shape of it has more of these than all of them together.
      let known = 0;
      for (const place of kind.places.values()) if (labels.has(labelOf(place))) known += 1;
      if (known < least * labels.size && labels.size > small) continue;
      for (const shape of kind.shapes.values()) {
        const others = new Set(shape.places.map(labelOf));
        let same = 0;
        for (const label of others) if (labels.has(label)) same += 1;
        const all = labels.size + others.size - same;
        const likeness = same / all;
        const isBetter = best === undefined || likeness > best.likeness;
        const isAsGood = likeness === best?.likeness && kind.count > best.kind.count;
        const isAlike = likeness >= least || (same > 0 && all <= small);
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
      kept: 0,
      before: kind.requests,
      missed: 0,
      run: 0,
      from: 0,
      returns: 0,
      isOptional: false,
      isGone: false,
    };
    kind.places.set(key, place);
    return place;
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
    dropShape(shape);
    if (kind.shapes.size === 0) forgetKind(kind);
    else if (countPlaces() > maxPlaces) dropUnusedPlaces(kind);
  }

  function dropShape(shape: ShapeRecord): void {
    shape.kind.shapes.delete(shape.id);
    shapes.delete(shape.id);
    placesOfShapes -= shape.places.length;
  }

  /** Of a sender that makes up names no more places are kept than its last shapes have. */
  function dropUnusedPlaces(kind: Kind): void {
    const used = new Set([...kind.shapes.values()].flatMap(({ places }) => places));
    const isKept = (place: PlaceRecord) => used.has(place) || (kind.suspects.has(place) && isMissed(kind, place));
    for (const [key, place] of kind.places) {
      if (isKept(place)) continue;
      kind.places.delete(key);
      kind.suspects.delete(place);
    }
    kind.read = kind.read.filter(isKept);
  }

  function forgetKind(kind: Kind): void {
    for (const shape of kind.shapes.values()) dropShape(shape);
    kinds = kinds.filter((other) => other !== kind);
  }

  /** What is read anew is known again when each shape has come and was described; until then it is missed by nobody. */
  function restore(from: SavedCatalogue): void {
    nextNumber = from.nextNumber;
    Object.assign(unfollowed, from.unfollowed);
    for (const { places, shapes: own, ...rest } of from.kinds) {
      if (!Number.isInteger(rest.requests)) throw new Error("the saved shapes are of another version");
      const records = places.map((place) => ({
        ...place,
        ...(isReadAnew && { facts: [], run: 0, isGone: false }),
      }));
      const read = records.filter((place) => isRead(place) && !place.isOptional);
      const kind: Kind = {
        ...rest,
        places: new Map(records.map((place) => [`${place.type} ${place.path}`, place])),
        shapes: new Map(),
        newWords: rest.newWords ?? [],
        read,
        suspects: new Set(read.filter(({ run }) => run > 0)),
      };
      for (const { places: indexes, ...shape } of own) {
        const record = recordOf(
          kind,
          indexes.flatMap((index) => records[index] ?? []),
          shape,
        );
        kind.shapes.set(shape.id, record);
        if (!isReadAnew) shapes.set(shape.id, record);
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

/** The catalogue as JSON. Shapes name their places by their position. */
export interface SavedCatalogue {
  nextNumber: number;
  unfollowed: Unfollowed;
  kinds: (Omit<Kind, "places" | "shapes" | "newWords" | "read" | "suspects"> & {
    /** Absent of an earlier version. */
    newWords?: string[];
    places: PlaceRecord[];
    shapes: (Pick<ShapeRecord, "id" | "count" | "firstAt" | "lastAt"> & { places: number[] })[];
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
        newWords: [...rest.newWords],
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
