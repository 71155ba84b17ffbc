import type { AlertFacts } from "./alert.ts";
import type { MappableFact } from "./mapping.ts";

export const placeTypes = ["text", "number", "boolean", "list"] as const;
/** `list`: a short one of texts, numbers and booleans; what other lists and objects hold has places of its own. */
export type PlaceType = (typeof placeTypes)[number];

/** One place of a payload that holds a value. */
export interface ShapePlace {
  /** As a matcher names it: `payload.rule.name`. At most 300 characters. */
  path: string;
  type: PlaceType;
  /** From one body: on one line, at most 60 characters, and "(not shown)" where it may be a credential. */
  example: string;
  /** What is read from here. */
  facts: MappableFact[];
}

/**
 * What a payload is made of: its paths and their types, whatever the values. The first element of a list of objects counts; what
 * is under a name that is an id (`0x…`, a UUID, a number) does not.
 */
export interface BodyShape {
  /** Equal for equal paths, types and facts read from them, in every process. At most 11 letters and digits. */
  id: string;
  /** Given the first time that the reader sees the shape, and once more after `ShapeReader.forget`. */
  places?: ShapePlace[];
  /** A word in this body in a severity's place that is no word for one. Absent: there is none. */
  newWord?: SeverityWord;
}

export interface SeverityWord {
  path: string;
  /** On one line, at most 60 characters. */
  word: string;
}

/** One alert of a request, with what names it for people. `shape`: see `Translation`. */
export interface SeenShape {
  shape?: BodyShape;
  facts: Pick<AlertFacts, "title" | "source">;
}
