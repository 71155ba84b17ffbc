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

interface ShapeRecord extends FollowedShape {
  id: string;
  kind: Kind;
  lastAt: number;
  names: ReadonlySet<string>;
}

/** Bodies of similar shapes: one sender's alerts of one sort. */
export interface Kind extends Followed {
  /** Counted from 1. A number is never used again. */
  number: number;
  title: string;
  source?: string;
  /** The source whose hook the bodies come by. Absent: the account's hook. */
  hook?: string;
  count: number;
  firstAt: number;
  lastAt: number;
  places: Map<string, PlaceRecord>;
  shapes: Map<string, ShapeRecord>;
  /** Unknown words in the place of a severity that were reported. */
  newWords: string[];
}

type KindLabel = Pick<Kind, "title" | "source" | "hook">;
type TellableKind = KindLabel & Pick<Kind, "number">;
export type Drift = Loss & { kind: TellableKind };

export interface NewWord extends SeverityWord {
  kind: TellableKind;
  /** No further word of this kind is reported. */
  isLast: boolean;
}

/** The limits of all kinds together. The shapes that were seen least recently are dropped first. */
const maxPlacesOfShapes = 20_000;
const maxPlaces = 5_000;
const maxShapes = 1_000;
const maxKinds = 100;
const maxLabel = 120;
/** The most new words of a kind: some senders write any text there. */
export const maxNewWords = 5;
/** The share of common names that makes two shapes one kind. The names may be anywhere in a body. */
const leastLikeness = 0.5;
/** Up to so few names in two shapes one common name is enough: a renamed one of two must not make another kind. */
const mostOfSmall = 3;

export interface Unfollowed {
  /** Bodies of an unknown shape, when too many others are known. */
  unknown: number;
  /** Alerts that are neither JSON nor a form, or have no places or more than 1,000. */
  without: number;
}

export interface ShapeCatalogueOptions {
  isReadByRoutes(path: string): boolean;
  /** Called for an unknown shape without places: the next body of it should be described. */
  askFor(id: string): void;
  saved?: SavedCatalogue;
  /** Facts may be read from other places than when it was saved. Default false. */
  isReadAnew?: boolean;
}

/**
 * The shapes that have come, by kinds of bodies, and the changes of each kind. In memory, bounded, without effects.
 *     a shape that is known ──▶ counted
 *     a new one ──▶ the kind with the likest shape, or a new kind
 *                       └─ a read place is missing: see `followPlaces`
 */
export class ShapeCatalogue {
  readonly unfollowed: Unfollowed = { unknown: 0, without: 0 };
  readonly #shapes = new Map<string, ShapeRecord>();
  #kinds: Kind[] = [];
  #nextNumber = 1;
  #placesOfShapes = 0;

  constructor(private readonly options: ShapeCatalogueOptions) {
    if (options.saved !== undefined) this.#restore(options.saved);
  }

  kinds(): readonly Kind[] {
    return this.#kinds;
  }

  /**
   * @param hook the source by whose hook they came. Two hooks never share a shape. Absent: the account's hook
   * @returns the news to report now. A request counts once, however many similar alerts it has
   */
  note(seen: readonly SeenShape[], at: number, hook?: string): (Drift | NewWord)[] {
    const news: (Drift | NewWord)[] = [];
    const counted = seen.length > 1 ? new Set<unknown>() : undefined;
    for (const { shape, facts } of seen) {
      const record = shape && (this.#shapes.get(shape.id) ?? this.#addShape(shape, { ...facts, hook }, at));
      if (record === undefined) {
        this.unfollowed[shape === undefined ? "without" : "unknown"] += 1;
        continue;
      }
      const { kind } = record;
      record.lastAt = kind.lastAt = at;
      kind.count += 1;
      for (const place of record.places) {
        place.alerts += 1;
        place.lastAt = at;
      }
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

  #addShape({ id, places: described }: BodyShape, label: KindLabel, at: number): ShapeRecord | undefined {
    if (described === undefined) {
      this.options.askFor(id);
      return undefined;
    }
    const names = new Set(described.map(({ path }) => nameOf(path)));
    const kind = this.#likest(names, label.hook) ?? this.#addKind(label, at);
    const former = kind.shapes.get(id);
    if (former !== undefined) this.#dropShape(former);
    const places = described.map((place) => placeOf(kind, place, at));
    this.#shapes.set(id, this.#keepShape(kind, places, { id, lastAt: at }));
    leaveOutOptional(kind);
    kind.read = [...kind.places.values()].filter((place) => this.#isRead(place) && !place.isOptional);
    for (let left = this.#shapes.size; left > 0 && this.#isTooMuch(); left -= 1) this.#forgetShape();
    return this.#shapes.get(id);
  }

  #keepShape(kind: Kind, places: PlaceRecord[], { id, lastAt }: Pick<ShapeRecord, "id" | "lastAt">): ShapeRecord {
    const names = new Set(places.map(({ path }) => nameOf(path)));
    const record = { id, lastAt, kind, places, has: new Set(places), names };
    kind.shapes.set(id, record);
    this.#placesOfShapes += places.length;
    return record;
  }

  #isTooMuch(): boolean {
    const isFull = this.#shapes.size > maxShapes || this.#placesOfShapes > maxPlacesOfShapes;
    return isFull || this.#countPlaces() > maxPlaces;
  }

  #countPlaces(): number {
    return this.#kinds.reduce((sum, { places }) => sum + places.size, 0);
  }

  #isRead({ facts, path }: ShapePlace): boolean {
    return facts.length > 0 || this.options.isReadByRoutes(path);
  }

  #addKind({ title, source, hook }: KindLabel, at: number): Kind {
    const kind: Kind = {
      number: this.#nextNumber,
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
    };
    this.#nextNumber += 1;
    // Comes before the kind is added: after the clock was set back it would be the oldest one.
    if (this.#kinds.length === maxKinds) this.#forgetKind(oldest(this.#kinds));
    this.#kinds.push(kind);
    return kind;
  }

  /** The kind with the most similar shape, if that is similar enough. The more frequent one of two equals. */
  #likest(names: ReadonlySet<string>, hook: string | undefined): Kind | undefined {
    let best: { kind: Kind; likeness: number } | undefined;
    for (const kind of this.#kinds) {
      if (kind.hook !== hook) continue;
      for (const shape of kind.shapes.values()) {
        let same = 0;
        for (const name of shape.names) if (names.has(name)) same += 1;
        const all = names.size + shape.names.size - same;
        const likeness = same / all;
        const isAlike = likeness >= leastLikeness || (same > 0 && all <= mostOfSmall);
        const isBetter = best === undefined || likeness > best.likeness;
        const isAsGood = likeness === best?.likeness && kind.count > best.kind.count;
        if (isAlike && (isBetter || isAsGood)) best = { kind, likeness };
      }
    }
    return best?.kind;
  }

  #forgetShape(): void {
    const shape = oldest(this.#kinds.flatMap(({ shapes }) => [...shapes.values()]));
    const { kind } = shape;
    this.#dropShape(shape);
    if (kind.shapes.size === 0) this.#forgetKind(kind);
    else if (this.#countPlaces() > maxPlaces) dropUnusedPlaces(kind);
  }

  #dropShape(shape: ShapeRecord): void {
    shape.kind.shapes.delete(shape.id);
    this.#shapes.delete(shape.id);
    this.#placesOfShapes -= shape.places.length;
  }

  #forgetKind(kind: Kind): void {
    for (const shape of kind.shapes.values()) this.#dropShape(shape);
    this.#kinds = this.#kinds.filter((other) => other !== kind);
  }

  /** After a change of what is read, no place counts as missing until each shape has come and was described. */
  #restore({ nextNumber, unfollowed, kinds }: SavedCatalogue): void {
    const { isReadAnew = false } = this.options;
    this.#nextNumber = nextNumber;
    Object.assign(this.unfollowed, unfollowed);
    for (const { places: saved, shapes, newWords = [], ...rest } of kinds) {
      if (!Number.isInteger(rest.requests)) throw new Error("the saved shapes are of another version");
      const places = saved.map((place, index) => ({
        ...(place.alerts === undefined ? ofFormer(place, index, shapes) : (place as PlaceRecord)),
        ...(isReadAnew && { facts: [], run: 0, isGone: false }),
      }));
      const kind: Kind = {
        ...rest,
        newWords,
        places: new Map(places.map((place) => [`${place.type} ${place.path}`, place])),
        shapes: new Map(),
        read: places.filter((place) => this.#isRead(place) && !place.isOptional),
      };
      for (const { places: indexes, ...shape } of shapes) {
        const own = indexes.flatMap((index) => places[index] ?? []);
        const record = this.#keepShape(kind, own, shape);
        if (!isReadAnew) this.#shapes.set(shape.id, record);
      }
      this.#kinds.push(kind);
    }
  }

  save(): SavedCatalogue {
    const kinds = this.#kinds.map(({ places, shapes, read: _read, ...rest }) => {
      const list = [...places.values()];
      const indexOf = new Map(list.map((place, index) => [place, index]));
      const indexes = (own: readonly PlaceRecord[]) => own.flatMap((place) => indexOf.get(place) ?? []);
      const kept = [...shapes.values()].map(({ id, lastAt, places: own }) => ({ id, lastAt, places: indexes(own) }));
      return structuredClone({ ...rest, places: list, shapes: kept });
    });
    return { nextNumber: this.#nextNumber, unfollowed: { ...this.unfollowed }, kinds };
  }
}

function noteWord({ kind, places }: ShapeRecord, found: SeverityWord | undefined): Omit<NewWord, "kind"> | undefined {
  if (found === undefined || kind.newWords.length >= maxNewWords || kind.newWords.includes(found.word)) return;
  // With another type it is another place, and the change of the place is reported.
  if (!places.some(({ path, facts }) => path === found.path && facts.includes("severity"))) return;
  kind.newWords.push(found.word);
  return { ...found, isLast: kind.newWords.length === maxNewWords };
}

function placeOf(kind: Kind, { path, type, example, facts }: ShapePlace, at: number): PlaceRecord {
  const key = `${type} ${path}`;
  const known = kind.places.get(key);
  if (known !== undefined) {
    for (const fact of facts) if (!known.facts.includes(fact)) known.facts.push(fact);
    return known;
  }
  const counts = { alerts: 0, before: kind.requests, missed: 0, run: 0, from: 0, returns: 0 };
  const seen = { firstAt: at, lastAt: at, isOptional: false, isGone: false };
  const place = { path, type, example, facts: [...facts], ...seen, ...counts };
  kind.places.set(key, place);
  return place;
}

/** A sender that makes up names keeps only the places of its last shapes. */
function dropUnusedPlaces(kind: Kind): void {
  const used = new Set([...kind.shapes.values()].flatMap(({ places }) => places));
  const isKept = (place: PlaceRecord) => used.has(place) || (place.run > 0 && isMissed(kind, place));
  for (const [key, place] of kind.places) if (!isKept(place)) kind.places.delete(key);
  kind.read = kind.read.filter(isKept);
}

function oldest<Seen extends { lastAt: number }>(all: Seen[]): Seen {
  return all.reduce((old, one) => (one.lastAt < old.lastAt ? one : old));
}

interface SavedShape extends Pick<ShapeRecord, "id" | "lastAt"> {
  places: number[];
  /** Saved by version 0.1, which counted bodies by shape, and the bodies of forgotten shapes by place: `kept`. */
  count?: number;
}
type SavedPlace = Omit<PlaceRecord, "alerts"> & { alerts?: number; kept?: number };

function ofFormer({ kept = 0, ...place }: SavedPlace, index: number, shapes: SavedShape[]): PlaceRecord {
  const own = shapes.filter(({ places }) => places.includes(index));
  const alerts = own.reduce((sum, { count = 0 }) => sum + count, kept);
  return { ...place, alerts, lastAt: Math.max(place.lastAt, ...own.map(({ lastAt }) => lastAt)) };
}

export interface SavedCatalogue {
  nextNumber: number;
  unfollowed: Unfollowed;
  kinds: (Omit<Kind, "places" | "shapes" | "newWords" | "read"> & {
    /** An earlier version did not save it. */
    newWords?: string[];
    places: SavedPlace[];
    shapes: SavedShape[];
  })[];
}
