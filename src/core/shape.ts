import type { AlertFacts } from "./alert.ts";
import type { MappableFact } from "./mapping.ts";

export const placeTypes = ["text", "number", "boolean", "list"] as const;
/** `list`: a short list of texts, numbers and booleans. Other lists and objects have places inside. */
export type PlaceType = (typeof placeTypes)[number];

export interface ShapePlace {
  /** As matchers write it: `payload.rule.name`. At most 300 characters. */
  path: string;
  type: PlaceType;
  /** On one line, at most 60 characters. "(not shown)" where the value may be a credential. */
  example: string;
  /** Facts that are read from here. */
  facts: MappableFact[];
}

/** Paths and types of a payload. A list counts by its first object. Nothing below a name that is an id (`0x…`) counts. */
export interface BodyShape {
  /** Depends only on paths, types, and the facts read from them. At most 11 letters and digits. */
  id: string;
  /** Present when the reader sees the shape for the first time, and again after `ShapeReader.forget`. */
  places?: ShapePlace[];
  /** An unknown word where this body has its severity. Absent: none. */
  newWord?: SeverityWord;
}

export interface SeverityWord {
  path: string;
  /** On one line, at most 60 characters. */
  word: string;
}

/** An alert of a request, with its name for people. */
export interface SeenShape {
  shape?: BodyShape;
  facts: Pick<AlertFacts, "title" | "source">;
}
