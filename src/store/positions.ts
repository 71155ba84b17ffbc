import type { Position } from "../core/ports/alert-log.ts";

/** The port's opaque text is the row's `seq`. */

export const isPosition = (text: string): text is Position => /^[1-9]\d{0,14}$/.test(text);
export const toPosition = (...seqs: number[]) => seqs.join(".") as Position;
export const fromPosition = (position: Position): number[] => position.split(".").map(Number);
