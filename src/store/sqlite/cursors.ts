import type { ChangeCursor, Position } from "../../core/ports/alert-log.ts";

/** What the port's opaque texts are here: the row's `seq`, and the version that a change has given its alert. */

export const isPosition = (text: string): text is Position => /^[1-9]\d{0,14}$/.test(text);
export const toPosition = (...seqs: number[]) => seqs.join(".") as Position;
export const fromPosition = (position: Position): number[] => position.split(".").map(Number);

export const isChangeCursor = (text: string): text is ChangeCursor => /^\d{1,15}$/.test(text);
export const toChangeCursor = (version: number) => String(version) as ChangeCursor;
export const fromChangeCursor = (cursor: ChangeCursor): number => Number(cursor);
