import type { AlertFacts } from "./alert.ts";
import type { MappableFact } from "./mapping.ts";

export const placeTypes = ["text", "number", "boolean", "list"] as const;
/** `list`: a short list of texts, numbers and booleans. The contents of other lists and objects have places of their own. */
export type PlaceType = (typeof placeTypes)[number];

/** One place of a payload that holds a value. */
export interface ShapePlace {
  /** The path for a matcher: `payload.rule.name`. At most 300 characters. */
  path: string;
  type: PlaceType;
  /** The value in one body: on one line, at most 60 characters, and "(not shown)" where it may be a credential. */
  example: string;
  /** The facts that are read from this place. */
  facts: MappableFact[];
}

/**
 * The structure of a payload: its paths and their types, without the values. In a list of objects only the first element counts.
 * Contents under a name that is an id (`0x…`, a UUID, a number) do not count.
 */
export interface BodyShape {
  /** Equal for equal paths, types and facts read from them, in every process. At most 11 letters and digits. */
  id: string;
  /** Set when the reader sees the shape for the first time, and once more after `ShapeReader.forget`. */
  places?: ShapePlace[];
  /** An unknown word in a severity's place in this body. Absent: there is none. */
  newWord?: SeverityWord;
}

export interface SeverityWord {
  path: string;
  /** On one line, at most 60 characters. */
  word: string;
}

/** One alert of a request, with its name for people. `shape`: see `Translation`. */
export interface SeenShape {
  shape?: BodyShape;
  facts: Pick<AlertFacts, "title" | "source">;
}
