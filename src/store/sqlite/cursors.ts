import type { ChangeCursor } from "../../core/ports/alert-log.ts";

/** The cursor over changes is the version that a change has given its alert. */

export const isChangeCursor = (text: string): text is ChangeCursor => /^\d{1,15}$/.test(text);
export const toChangeCursor = (version: number) => String(version) as ChangeCursor;
export const fromChangeCursor = (cursor: ChangeCursor): number => Number(cursor);
